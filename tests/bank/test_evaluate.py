"""The user's evaluator: called right, called again when it fails, never twice for what is done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.bank.commands import within
from xskill.bank.ablate import kept_skills, suspicion
from xskill.bank.skillbank import make_bank, read_bank, write_bank
from xskill.records import Edit, Result, Skill, decode, encode

SCORE = """
import json, pathlib, random, sys, time
bank, tasks, out, seed, log = sys.argv[1:6]
with open(log, "a") as f: f.write("call\\n")
skills = [row["id"] for row in map(json.loads, open(bank)) if row["schema"] == "xskill.skill/1"]
mode = pathlib.Path(log + ".mode")
if mode.exists():
    kind = mode.read_text()
    if kind == "once": mode.unlink()
    if kind in ("once", "always"): sys.exit(7)
    if kind == "hang": time.sleep(60)
    if kind == "slow": time.sleep(0.3)
with open(out, "w") as f:
    for row in map(json.loads, open(tasks)):
        number = int(row["task_id"][1:])
        solved = number < 4 + 2 * ("good" in skills) - 3 * ("bad" in skills)
        if mode.exists() and kind == "short" and number == 3: continue
        noise = random.Random(f"{seed}{number}").random()
        f.write(json.dumps({"task_id": row["task_id"], "metrics": {"success": solved, "noise": noise}}) + "\\n")
"""


def skill(name, **more):
    return Skill(id=name, tier="general", title=f"Title {name}", principle=f"all about {name}", **more)


@pytest.fixture
def bench(tmp_path):
    """A folder with an evaluator, 8 tasks and a bank; ``good`` solves 2 tasks more, ``bad`` 3 fewer, ``idle`` none."""
    (tmp_path / "score.py").write_text(SCORE)
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps({"task_id": f"t{n}"}) + "\n" for n in range(8)))
    write_bank(str(tmp_path / "bank.jsonl"), make_bank([skill("good"), skill("idle"), skill("bad")]))
    return tmp_path


def command(bench):
    return f"'{sys.executable}' {bench}/score.py {{bank}} {{tasks}} {{out}} {{seed}} {bench}/log"


def evaluate(bench, *options, bank="bank.jsonl"):
    base = ("--bank", bench / bank, "--tasks", bench / "tasks.jsonl", "--run", command(bench))
    return within("bank", "evaluate", *base, *options)


def calls(bench):
    return (bench / "log").read_text().count("call") if (bench / "log").exists() else 0


def test_results_in_task_order_whatever_the_chunks(bench):
    whole = evaluate(bench, "--repeats", 2, "-q")
    rows = [decode(line.encode(), Result) for line in whole.stdout.splitlines()]
    assert [(row.repeat, row.task_id) for row in rows] == [(r, f"t{n}") for r in (0, 1) for n in range(8)]
    assert [row.metrics["success"] for row in rows[:8]] == [n < 3 for n in range(8)]
    assert calls(bench) == 2
    assert evaluate(bench, "--repeats", 2, "-q", "-j", 3).stdout == whole.stdout
    assert calls(bench) == 2 + 6
    assert evaluate(bench, "--repeats", 2, "-q", "-j", 2, "--chunk", 1).stdout == whole.stdout


def test_every_bank_gets_the_same_seeds(bench):
    write_bank(str(bench / "other.jsonl"), make_bank([skill("good")]))
    first, second = ([json.loads(line)["metrics"] for line in evaluate(bench, bank=name).stdout.splitlines()]
                     for name in ("bank.jsonl", "other.jsonl"))  # fmt: skip
    assert [m["noise"] for m in first] == [m["noise"] for m in second]
    assert [m["success"] for m in first] != [m["success"] for m in second]


def test_a_call_that_fails_once_is_tried_again(bench):
    (bench / "log.mode").write_text("once")
    assert evaluate(bench).returncode == 0
    assert calls(bench) == 2


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("always", "the evaluator ended with exit code 7"),
        ("hang", "the evaluator timed out"),
        ("short", "the evaluator gave no result for t3"),
    ],
)
def test_a_call_that_keeps_failing_is_told(bench, mode, message):
    (bench / "log.mode").write_text(mode)
    done = evaluate(bench, "--timeout", 0.5, "-o", bench / "r.jsonl")
    assert done.returncode == 1
    assert message in done.stderr
    assert "1 of 1 evaluator calls failed" in done.stderr
    assert not (bench / "r.jsonl").exists()


def test_finished_calls_are_not_run_again(bench):
    (bench / "log.mode").write_text("short")  # the chunk with t3 fails, the others finish
    out = bench / "r.jsonl"
    assert evaluate(bench, "--chunk", 2, "-o", out).returncode == 1
    assert calls(bench) == 3 + 2
    (bench / "log.mode").unlink()
    assert evaluate(bench, "--chunk", 2, "-o", out).returncode == 0
    assert calls(bench) == 5 + 1
    assert not (bench / "r.jsonl.work").exists()
    assert out.read_text() == evaluate(bench, "-q").stdout


def test_killed_runs_go_on_to_the_same_results(bench):
    (bench / "log.mode").write_text("slow")
    out = bench / "r.jsonl"
    base = ("--bank", bench / "bank.jsonl", "--tasks", bench / "tasks.jsonl", "--run", command(bench), "-o", out)
    words = [sys.executable, "-m", "xskill.cli", "bank", "evaluate", *map(str, base), "--chunk", "1"]
    for how in (signal.SIGKILL, signal.SIGINT):
        before = calls(bench)
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        while calls(bench) < before + 2:
            time.sleep(0.05)
        os.kill(process.pid, how)
        assert process.wait() in (-9, 130)
        assert not out.exists()
    (bench / "log.mode").unlink()
    assert evaluate(bench, "--chunk", 1, "-o", out).returncode == 0
    assert out.read_text() == evaluate(bench, "-q").stdout


def test_baseline_reports_the_noise(bench):
    done = evaluate(bench, "--baseline")
    assert len(done.stdout.splitlines()) == 16
    assert "the same bank twice" in done.stderr
    assert "0/8/0" in done.stderr  # success is deterministic here, noise is not
    assert "Tasks that got worse in noise:" in done.stderr


@pytest.mark.parametrize(
    ("tasks", "code", "message"),
    [
        ('{"task_id":"t1"}\n{"task_id":"t1"}\n', 65, "the task 't1' is there twice"),
        ('{"x":1}\n', 65, "no task_id"),
        ("", 66, ""),
    ],
)
def test_bad_tasks(bench, tasks, code, message):
    (bench / "tasks.jsonl").write_text(tasks)
    done = evaluate(bench)
    assert done.returncode == code
    assert message in done.stderr


def test_bad_commands(bench):
    base = ("bank", "evaluate", "--bank", bench / "bank.jsonl", "--tasks", bench / "tasks.jsonl", "--run")
    assert within(*base, "true {bank} {tasks}").returncode == 2
    gone = within(*base, "/no/such/program {bank} {tasks} {out}")
    assert gone.returncode == 1
    assert "cannot start" in gone.stderr


def ablate(bench, *options):
    base = ("--bank", bench / "bank.jsonl", "--tasks", bench / "tasks.jsonl", "--run", command(bench))
    return within("bank", "ablate", *base, "--metric", "success:max", *options)


def test_ablation_tells_good_from_bad(bench):
    report = json.loads(ablate(bench, "--json").stdout)
    verdicts = {row["id"]: row["verdict"] for row in report["skills"]}
    assert verdicts == {"good": "helps", "idle": "nothing", "bad": "hurts"}
    effects = {row["id"]: row["effect"] for row in report["skills"]}
    assert effects == pytest.approx({"good": 2 / 8, "idle": 0.0, "bad": -3 / 8})
    assert report["with_all"] == pytest.approx(3 / 8)
    assert "hurts" in ablate(bench).stdout


def tried(bench, *options):
    return [row["id"] for row in json.loads(ablate(bench, "--json", *options).stdout)["skills"]]


def test_biggest_suspects_first_within_the_budget(bench):
    doubtful = skill("idle", status="unproven")
    skills = [skill("good"), doubtful, skill("bad", evidence={"q_value": 0.01})]
    write_bank(str(bench / "bank.jsonl"), make_bank(skills))
    assert tried(bench, "--budget", 2) == ["idle", "good"]
    assert suspicion(doubtful) < suspicion(skill("good"))
    write_bank(str(bench / "old.jsonl"), make_bank([skill("good"), doubtful]))
    assert tried(bench, "--against", bench / "old.jsonl") == ["bad"]


def test_apply_only_builds_the_bank_without_the_harmful_edits(bench):
    write_bank(str(bench / "bank.jsonl"), make_bank([skill("idle")]))
    edits = bench / "edits.jsonl"
    edits.write_bytes(b"".join(encode(Edit(op="append", skill=skill(n))) + b"\n" for n in ("good", "bad")))
    assert ablate(bench, "--edits", edits, "--json", "-o", bench / "report.json").returncode == 0
    only = ("--only", bench / "report.json", "-o", bench / "n.jsonl")
    done = within("bank", "apply", edits, "--bank", bench / "bank.jsonl", *only)
    assert done.returncode == 0
    assert [s.id for s in read_bank(str(bench / "n.jsonl")).skills] == ["idle", "good"]
    assert kept_skills("a, b") == {"a", "b"}


@pytest.mark.parametrize("seconds", ["nan", "inf", "0", "-1"])
@pytest.mark.parametrize("name", ["evaluate", "ablate"])
def test_a_timeout_is_a_time(bench, name, seconds):
    files = ("--bank", bench / "bank.jsonl", "--tasks", bench / "tasks.jsonl", "--run", command(bench))
    done = within("bank", name, *files, "--timeout", seconds)
    assert done.returncode == 2
    assert "--timeout" in done.stderr
