"""The real command: the decisions of docs/methods/gate.md, exits, refusals, what it leaves on disk."""

from __future__ import annotations

import json

import polars as pl
import pytest

from tests.bank.commands import within
from xskill.bank.skillbank import make_bank, read_bank, write_bank
from xskill.records import Skill, Verdict, decode


def gate(*arguments, stdin=None):
    return within("gate", *arguments, stdin=stdin)


def write(path, rows):
    """rows: (task, metrics) or (task, metrics, repeat)."""
    lines = []
    for task, metrics, *repeat in rows:
        record = {"schema": "xskill.result/1", "task_id": task, "metrics": metrics}
        lines.append(json.dumps(record | ({"repeat": repeat[0]} if repeat else {})))
    path.write_text("\n".join(lines) + "\n")
    return path


def pair(folder, current, candidate):
    """Two metrics a, b with these means over 100 tasks each, in hundredths."""
    files = []
    for name, means in (("current", current), ("candidate", candidate)):
        rows = [(f"t{i:03}", {key: i < count for key, count in means.items()}) for i in range(100)]
        files.append(write(folder / f"{name}.jsonl", rows))
    return files


TWO = ("--metric", "a:max", "--metric", "b:max")


@pytest.mark.parametrize(
    ("candidate", "policy", "code"),
    [
        ((60, 70), "nonworse", 0),
        ((65, 70), "nonworse", 0),
        ((65, 69), "nonworse", 3),
        ((65, 69), "pareto", 0),
        ((60, 70), "pareto", 0),
        ((60, 69), "pareto", 3),
        ((60, 70), "strict", 3),
        ((65, 70), "strict", 0),
    ],
)
def test_the_worked_cases(tmp_path, candidate, policy, code):
    files = pair(tmp_path, {"a": 60, "b": 70}, {"a": candidate[0], "b": candidate[1]})
    done = gate(*files, *TWO, "--policy", policy, "--json")
    assert done.returncode == code
    assert json.loads(done.stdout)["decision"] == ("accept" if code == 0 else "reject")


def test_strict_needs_its_guards_not_worse(tmp_path):
    files = pair(tmp_path, {"a": 60, "b": 70}, {"a": 65, "b": 69})
    assert gate(*files, "--policy", "strict", "--metric", "a", "--guard", "b:max").returncode == 3
    assert gate(*files, "--policy", "strict", "--metric", "a", "--guard", "b:min").returncode == 0


def test_a_metric_to_be_minimised(tmp_path):
    old = write(tmp_path / "a.jsonl", [("t1", {"steps": 9.0}), ("t2", {"steps": 5.0})])
    new = write(tmp_path / "b.jsonl", [("t1", {"steps": 7.0}), ("t2", {"steps": 6.0})])
    assert gate(old, new, "--metric", "steps:min").returncode == 0
    assert gate(old, new, "--metric", "steps:max").returncode == 3
    refused = gate(old, new, "--metric", "steps:min", "--max-regressions", "0", "--json")
    assert refused.returncode == 3
    assert json.loads(refused.stdout)["regressions"] == [
        {"task_id": "t2", "metric": "steps", "current": 5.0, "candidate": 6.0}
    ]
    options = ("--metric", "steps:min", "--max-regressions", "0", "--regression-tolerance", "1")
    assert gate(old, new, *options).returncode == 0


def test_the_mean_only_trap_is_refused(tmp_path):
    # the average rises from .682 to .852 while one task falls from .91 to .82
    old = write(tmp_path / "a.jsonl", zip("abcd", [{"s": v} for v in (0.91, 0.6, 0.6, 0.618)], strict=True))
    new = write(tmp_path / "b.jsonl", zip("abcd", [{"s": v} for v in (0.82, 0.9, 0.9, 0.788)], strict=True))
    assert gate(old, new).returncode == 0
    refused = gate(old, new, "--max-regressions", "0")
    assert refused.returncode == 3
    assert "1 tasks got worse, 0 allowed: a" in refused.stdout


def test_repeats_are_averaged_before_comparing(tmp_path):
    # task a: 3 repeats of which 1 succeeds = 1/3 against 1/2; task b: equal. Pooled rows would say 4/6 against 2/4.
    old = write(
        tmp_path / "a.jsonl", [("a", {"s": i == 0}, i) for i in range(2)] + [("b", {"s": 1}, i) for i in range(2)]
    )
    new = write(
        tmp_path / "b.jsonl", [("a", {"s": i == 0}, i) for i in range(3)] + [("b", {"s": 1}, i) for i in range(9)]
    )
    done = gate(old, new, "--json")
    row = json.loads(done.stdout)["metrics"][0]
    assert (row["current"], row["candidate"]) == pytest.approx((0.75, 2 / 3))
    assert row["binary"] is False
    assert done.returncode == 3


def test_noise_of_a_repeated_task_is_told(tmp_path):
    # each of 4 tasks: repeats 1,0 on both sides; of the 6 splits 1 is worse (0,0 against 1,1)
    rows = [(f"t{t}", {"s": r}, r) for t in range(4) for r in (0, 1)]
    old, new = write(tmp_path / "a.jsonl", rows), write(tmp_path / "b.jsonl", rows)
    row = json.loads(gate(old, new, "--json").stdout)["metrics"][0]
    assert row["expected_regressions"] == pytest.approx(4 / 6)
    assert row["regressed"] == 0


def test_noise_of_a_single_run_is_not_guessed(tmp_path):
    """A true loss would look like noise, and a true gain like more of it."""
    old = write(tmp_path / "a.jsonl", [(f"t{t}", {"s": 0}) for t in range(10)])
    new = write(tmp_path / "b.jsonl", [(f"t{t}", {"s": 1}) for t in range(10)])
    assert json.loads(gate(old, new, "--json").stdout)["metrics"][0]["expected_regressions"] is None
    twice = [(f"t{t}", {"s": 0}, repeat) for t in range(10) for repeat in (0, 1)]
    twice = write(tmp_path / "c.jsonl", twice)
    assert "in s: 0; two runs of one and the same bank would show 0.0." in gate(twice, twice).stdout


@pytest.mark.parametrize(
    ("losses", "n", "margin", "code"), [(0, 3, 0.05, 4), (0, 200, 0.05, 0), (60, 200, 0.05, 3), (4, 200, 0.02, 4)]
)
def test_margin_is_three_way(tmp_path, losses, n, margin, code):
    old = write(tmp_path / "a.jsonl", [(f"t{i}", {"s": 1}) for i in range(n)])
    new = write(tmp_path / "b.jsonl", [(f"t{i}", {"s": int(i >= losses)}) for i in range(n)])
    assert gate(old, new, "--policy", "margin", "--margin", margin).returncode == code


def test_margin_of_each_metric_on_its_scale(tmp_path):
    rows = [(f"t{i}", {"s": 1, "steps": 10 + i % 3}) for i in range(300)]
    old, new = write(tmp_path / "a.jsonl", rows), write(tmp_path / "b.jsonl", rows)
    both = ("--policy", "margin", "--metric", "s", "--guard", "steps:min", "--margin", "0.05")
    assert gate(old, new, *both, "--margin", "steps=1").returncode == 0
    assert gate(old, new, *both, "--margin", "steps=0.001").returncode == 4
    assert gate(old, new, *both, "--margin", "step=1").returncode == 2
    assert gate(old, new, "--policy", "margin", "--metric", "s").returncode == 2


def test_different_tasks_are_an_error_that_lists_them(tmp_path):
    old = write(tmp_path / "a.jsonl", [("t1", {"s": 1}), ("t2", {"s": 1})])
    new = write(tmp_path / "b.jsonl", [("t1", {"s": 1}), ("t3", {"s": 1})])
    done = gate(old, new)
    assert done.returncode == 65
    assert "1 only in the current results: t2; 1 only in the candidate results: t3" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("rows", "options", "code", "message"),
    [
        (
            [("t1", {"other": 1})],
            ("--metric", "s"),
            65,
            "candidate results: task 't1' has no metric 's' (it has: other)",
        ),
        ([("t1", {"s": 1}), ("t1", {"s": 0})], (), 65, "task 't1' without a repeat number is there twice"),
        ([("t1", {"s": 1}, 0), ("t1", {"s": 0}, 0)], (), 65, "task 't1' repeat 0 is there twice"),
        ([("t1", {"s": 1})], ("--metric", "s:up"), 2, "expected NAME:max or NAME:min"),
        ([("t1", {"s": 1})], ("--policy", "best"), 2, "expected one of nonworse"),
        ([("t1", {"s": 1})], ("--alpha", "2"), 2, "--alpha"),
        ([("t1", {"s": 1})], ("--alpha", "nan"), 2, "--alpha"),
        ([("t1", {"s": 0})], ("--max-regressions", "0", "--regression-tolerance", "nan"), 2, "--regression-tolerance"),
        ([("t1", {"s": 0})], ("--max-regressions", "0", "--regression-tolerance", "inf"), 2, "--regression-tolerance"),
        ([("t1", {"s": 0})], ("--policy", "margin", "--margin", "inf"), 2, "--margin inf"),
        ([("t1", {"s": 0})], ("--policy", "margin", "--margin", "s=nan"), 2, "--margin s=nan"),
        ([("t1", {"s": 1})], ("--promote", "x"), 2, "--candidate-bank"),
        ([("t1", {"s": 1, "b": 2})], (), 2, "hold 2 metrics (b, s)"),
    ],
)
def test_refusals(tmp_path, rows, options, code, message):
    good = write(tmp_path / "a.jsonl", [("t1", {"s": 1, "b": 2} if rows[0][1].get("b") else {"s": 1})])
    done = gate(good, write(tmp_path / "b.jsonl", rows), *options)
    assert done.returncode == code
    assert message in done.stderr


def test_nan_is_an_error(tmp_path):
    good = write(tmp_path / "a.jsonl", [("t1", {"s": 1})])
    bad = tmp_path / "b.jsonl"
    bad.write_text('{"schema":"xskill.result/1","task_id":"t1","metrics":{"s":NaN}}\n')
    assert gate(good, bad).returncode == 65
    bad.write_text('{"schema":"xskill.result/1","task_id":"t1","metrics":{"s":null}}\n')
    done = gate(good, bad)
    assert done.returncode == 65
    assert "b.jsonl: candidate results: task 't1' has no metric 's'" in done.stderr
    assert "--missing drop" in done.stderr
    for text in ('{"s":NaN}', '{"s":Infinity}', '{"s":1e999}', '{"s":1,"other":NaN}'):
        row = {"schema": ["xskill.result/1"], "task_id": ["t1"], "metrics": [text]}
        pl.DataFrame(row).write_parquet(tmp_path / "c.parquet")
        done = gate(good, tmp_path / "c.parquet", "--metric", "s")
        assert (done.returncode, done.stderr.startswith(f"xskill: {tmp_path}/c.parquet:1: ")) == (65, True), done.stderr


def test_stdin_and_order_of_rows_do_not_matter(tmp_path):
    rows = [(f"t{i}", {"s": i / 7}) for i in range(9)]
    old, new = (
        write(tmp_path / "a.jsonl", rows),
        write(tmp_path / "b.jsonl", [(t, {"s": m["s"] ** 2}) for t, m in rows]),
    )
    straight = gate(old, new, "--json")
    shuffled = "\n".join(sorted(new.read_text().splitlines(), reverse=True)) + "\n"
    assert gate(old, "-", "--json", stdin=shuffled).stdout == straight.stdout
    assert gate("-", "-").returncode == 2


def skill(name, *sources):
    return Skill(id=name, tier="general", title=name, principle="p", evidence={"sources": list(sources)})


@pytest.fixture
def loop(tmp_path):
    """Banks and results of a loop: the candidate solves one task more."""
    write_bank(str(tmp_path / "now.bank"), make_bank([skill("a", "train-1")]))
    candidate = make_bank(
        [skill("a", "train-1"), skill("b", "train-2")], parent=make_bank([skill("a", "train-1")]).version
    )
    write_bank(str(tmp_path / "next.bank"), candidate)
    write(tmp_path / "now.jsonl", [("v1", {"s": 0}), ("v2", {"s": 1})])
    write(tmp_path / "next.jsonl", [("v1", {"s": 1}), ("v2", {"s": 1})])
    return tmp_path


def test_promotion_writes_the_winner_with_its_decision(loop):
    banks = ("--current-bank", loop / "now.bank", "--candidate-bank", loop / "next.bank")
    out = loop / "live.bank"
    done = gate(loop / "now.jsonl", loop / "next.jsonl", *banks, "--promote", out, "--history", loop / "h.jsonl")
    assert done.returncode == 0
    promoted, candidate = read_bank(str(out)), read_bank(str(loop / "next.bank"))
    assert promoted.skills == candidate.skills
    assert promoted.version == candidate.version
    assert promoted.header.parent == read_bank(str(loop / "now.bank")).version
    assert promoted.header.decision == {
        "decision": "accept",
        "policy": "nonworse",
        "against": promoted.header.parent,
        "metrics": {"s": [0.5, 1.0]},
        "tasks": 2,
    }


def test_a_rejected_candidate_changes_nothing_but_the_history(loop):
    banks = ("--current-bank", loop / "next.bank", "--candidate-bank", loop / "now.bank")
    before = {path.name: path.read_bytes() for path in loop.iterdir()}
    results = (loop / "next.jsonl", loop / "now.jsonl")
    assert gate(*results, *banks, "--promote", loop / "now.bank").returncode == 3
    assert gate(*results, *banks, "--promote", loop / "fresh.bank").returncode == 3
    assert {path.name: path.read_bytes() for path in loop.iterdir()} == before
    assert gate(*results, *banks, "--history", loop / "h.jsonl").returncode == 3
    assert gate(*results[::-1], "--history", loop / "h.jsonl").returncode == 0
    verdicts = [decode(line, Verdict) for line in (loop / "h.jsonl").read_bytes().splitlines()]
    assert [v.decision for v in verdicts] == ["reject", "accept"]
    assert verdicts[0].candidate_bank == read_bank(str(loop / "now.bank")).version


def test_a_torn_line_of_the_history_stays_alone(tmp_path):
    files = pair(tmp_path, {"a": 1}, {"a": 1})
    history = tmp_path / "h.jsonl"
    history.write_text('{"schema":"xskill.ver')
    for _ in range(2):
        assert gate(*files, "--history", history).returncode == 0
    torn, *verdicts = history.read_text().splitlines()
    assert torn == '{"schema":"xskill.ver'
    assert [json.loads(line)["decision"] for line in verdicts] == ["accept", "accept"]


def test_a_bank_made_from_its_own_tasks_is_refused(loop):
    write_bank(str(loop / "leaky.bank"), make_bank([skill("a", "train-1"), skill("b", "train-2", "v1")]))
    out = loop / "live.bank"
    results = (loop / "now.jsonl", loop / "next.jsonl")
    done = gate(*results, "--candidate-bank", loop / "leaky.bank", "--promote", out)
    assert done.returncode == 65
    assert "task 'v1' made b" in done.stderr
    assert not out.exists()


def test_skills_without_sources_are_told(loop):
    write_bank(str(loop / "imported.bank"), make_bank([Skill(id="a", tier="general", title="t", principle="p")]))
    done = gate(loop / "now.jsonl", loop / "next.jsonl", "--candidate-bank", loop / "imported.bank")
    assert done.returncode == 0
    assert "1 skills name no source questions: no leak check for them" in done.stderr


def test_the_table_for_people(tmp_path):
    old = write(tmp_path / "a.jsonl", [(f"t{i:02}", {"s": int(i < 30)}) for i in range(60)])
    new = write(tmp_path / "b.jsonl", [(f"t{i:02}", {"s": int(5 <= i < 40)}) for i in range(60)])
    done = gate(old, new)
    assert done.stdout.splitlines()[0] == "ACCEPT policy nonworse"
    # discordant 15 of 60, change 5/60: sd = sqrt((15/60 - (5/60)^2) 60/59) = .49717; 2.80159 sd / sqrt(60) = .1798
    assert "With 60 tasks this gate can see a drop of 18 points in s (power 0.8)." in done.stdout
    unknown = "how many would by chance cannot be told from one run of a task (repeat the runs)"
    assert f"Tasks that got worse in s: 5; {unknown}." in done.stdout
    assert "statistically tied" in done.stdout
    assert "10/45/5" in done.stdout


def test_hostile_task_names_reach_no_terminal(tmp_path):
    old = write(tmp_path / "a.jsonl", [("\x1b[2Jt", {"s": 1})])
    new = write(tmp_path / "b.jsonl", [("\x1b[2Jt", {"s": 0})])
    done = gate(old, new)
    assert done.returncode == 3
    assert "\x1b" not in done.stdout + done.stderr
