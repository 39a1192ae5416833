"""``xskill canon`` as a command: pipes, workers, memory, output."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.canon.logs import canon, log, write_lines
from tests.command import ENVIRONMENT, pipeline, run_with, within, xskill

STEP = {"action": "go to fridge 1", "observation": "You arrive at fridge 1. The fridge 1 is closed."}


def _large(path: Path, megabytes: int, **fields: Any) -> Path:
    """Step lists of some 2 kB each, no two the same."""
    with path.open("w") as out:
        for number in range(megabytes * 520):
            steps = [{**STEP, "action": f"go to fridge {number % 17 + n}"} for n in range(20)]
            out.write(json.dumps({"id": f"ep-{number}", "env": "alfworld", **fields, "steps": steps}) + "\n")
    return path


def test_head_ends_at_once(tmp_path: Path) -> None:
    path = _large(tmp_path / "large.jsonl", 40)
    started = time.monotonic()
    first = pipeline(f"xskill canon {path} 2>{tmp_path / 'err'} | head -1").stdout
    took = time.monotonic() - started
    assert json.loads(first)["id"] == "ep-0"
    assert "Traceback" not in (tmp_path / "err").read_text()
    whole = time.monotonic()
    xskill("canon", path, "-o", tmp_path / "o")
    assert took < (time.monotonic() - whole) / 2 + 1


def test_memory_does_not_grow_with_the_input(tmp_path: Path) -> None:
    code = (
        "import sys; from xskill.cli import main\n"
        "try: main()\n"
        "finally: print(*(s.split()[1] for s in open('/proc/self/status') if 'VmHWM' in s), file=sys.stderr)"
    )
    peaks = []  # not ru_maxrss: that counts the memory of the test runner, which a child shares until it execs
    for size in (5, 40):
        path = _large(tmp_path / "large.jsonl", size)
        done = subprocess.run(
            [sys.executable, "-c", code, "canon", "-q", path, "-o", "/dev/null"],
            env=ENVIRONMENT, capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        peaks.append(int(done.stderr.split()[-1]) >> 10)
    assert peaks[1] < 150
    assert peaks[1] - peaks[0] < 10


def test_any_number_of_workers_gives_the_same_bytes(tmp_path: Path) -> None:
    """Also when an environment first comes up, and a line is bad, in a later batch than the first."""
    late = _large(tmp_path / "late.jsonl", 3)
    with late.open("a") as out:
        out.write('{"env": "webshop", "steps": [{"action": "click[buy now]"}]}\n{"steps": 7}\n{"steps": []}\n{broken\n')
    paths = [
        log("traces/openai_finetune_chat.jsonl"),
        late,
        log("e_tau/taubench_gpt-4o-airline_first8.json"),
        log("b_scienceworld_webshop/lats_webshop_example.log"),
        log("f_cli_sessions/agentsessions_claude/subagent"),
        late,
    ]
    made = []
    for jobs in ("1", "2", "3"):
        rejects, unmatched = tmp_path / f"rejects{jobs}", tmp_path / f"unmatched{jobs}"
        done = run_with(jobs)("canon", *paths, "-j", jobs, "--rejects", rejects, "--unmatched", unmatched, check=None)
        told = re.sub(r"\d+\.\d\d s\n", "", done.stderr.decode().replace(rejects.name, "rejects"))
        made.append((done.stdout, told, rejects.read_bytes(), unmatched.read_bytes(), done.returncode))
    assert made[0] == made[1] == made[2]
    assert b"click<buy>" in made[0][0]
    assert len(made[0][2].splitlines()) == 4


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_missing_file_in_the_middle(tmp_path: Path, jobs: str) -> None:
    path = write_lines(tmp_path / "x.jsonl", {"steps": [STEP]})
    done = run_with(jobs)("canon", path, tmp_path / "none", path, "-j", jobs, check=66)
    assert len(done.stdout.splitlines()) == 1
    assert "none: no such file" in done.stderr.decode()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_bad_record_stops_without_rejects(tmp_path: Path, jobs: str) -> None:
    path = write_lines(tmp_path / "x.jsonl", {"steps": [STEP]}, {"steps": [{"action": 3}]}, {"steps": [STEP]})
    done = run_with(jobs)("canon", path, "-j", jobs, check=65)
    assert len(done.stdout.splitlines()) == 1
    assert f"{path}:2: steps[0].action: expected a string" in done.stderr.decode()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_cannot_be_read_is_rejected_among_others(tmp_path: Path, jobs: str) -> None:
    path = write_lines(tmp_path / "x.jsonl", {"steps": [STEP]})
    (tmp_path / "folder").mkdir()
    names = (path, tmp_path / "folder", tmp_path / "none", path)
    done = run_with(jobs)("canon", *names, "-j", jobs, "--rejects", tmp_path / "r")
    assert len(done.stdout.splitlines()) == 2
    rows = [json.loads(line) for line in (tmp_path / "r").read_text().splitlines()]
    assert [row["file"] for row in rows] == [str(tmp_path / "folder"), str(tmp_path / "none")]
    assert [row["reason"].split(";")[0] for row in rows] == ["is a directory that no format claims", "no such file"]
    # nothing else was asked for
    run_with(jobs)("canon", tmp_path / "none", "-j", jobs, "--rejects", tmp_path / "r", check=66)


@pytest.mark.parametrize("empty", ["", "[]", "[\n]", '{"simulations":[]}', '{\n"runs": []\n}'])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_log_without_a_record(empty: str, jobs: str) -> None:
    assert "no record in the input" in run_with(jobs)("canon", "-j", jobs, stdin=empty, check=66).stderr.decode()


def test_a_rejected_record_of_a_document_is_kept(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([{"steps": [STEP]}, {"steps": [{"action": 3}]}]))
    within("canon", tmp_path / "x.json", "--rejects", tmp_path / "r")
    row = json.loads((tmp_path / "r").read_text())
    assert json.loads(row["raw"]) == {"steps": [{"action": 3}]}
    assert row["reason"].startswith("[1].steps[0].action: ")


def test_canonical_actions_without_a_schema(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", {"id": "a", "actions": ["open<door>", "go<room>"]})
    made = json.loads(within("canon", path).stdout)
    assert made == {"schema": "xskill.trajectory/1", "id": "a", "actions": ["open<door>", "go<room>"]}
    raw = write_lines(tmp_path / "raw.jsonl", {"id": "a", "actions": ["open the door"]})
    assert "--map" in within("canon", raw, check=65).stderr.decode()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_options_that_met_nothing_are_told(tmp_path: Path, jobs: str) -> None:
    path = write_lines(tmp_path / "x.jsonl", *({"id": f"e{n}", "reward": 0.7, "steps": [STEP]} for n in range(3)))
    write_lines(tmp_path / "other", {"id": "f1", "success": True})
    write_lines(tmp_path / "right", {"id": "e1", "success": True})
    options = ("--success-if", "reward > 1 or scroe > 2", "--task-type", "domain")
    told = run_with(jobs)("canon", path, "-j", jobs, "--outcomes", tmp_path / "other", *options).stderr.decode()
    assert "--success-if: no trajectory has a field 'scroe'" in told
    assert "--task-type: no trajectory has a field 'domain'" in told
    assert "--outcomes: none of its 1 rows has the key of a trajectory (column id)" in told
    assert "'reward'" not in told
    assert "--" not in run_with(jobs)("canon", path, "-j", jobs, "--outcomes", tmp_path / "right").stderr.decode()


def test_a_map_with_workers(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "x.jsonl",
        *({"turns": [{"did": f"open the {n}th door, " + "and the next one" * 3}]} for n in range(20_000)),
    )
    assert path.stat().st_size > 1 << 20
    one, two = (
        run_with(jobs)("canon", path, "--map", "action=turns[].did", "-j", jobs, "--profile", "generic").stdout
        for jobs in ("1", "2")
    )
    assert one == two
    assert one.count(b"\n") == 20_000


def test_a_table_out_is_the_same_as_lines(tmp_path: Path) -> None:
    source = log("traces/openai_finetune_chat.jsonl")
    within("canon", source, "-o", tmp_path / "x.parquet")
    lines = within("canon", source).stdout
    again = within("canon", tmp_path / "x.parquet").stdout
    assert again == lines


def test_reading_our_own_output_changes_nothing(tmp_path: Path) -> None:
    lines = within("canon", log("e_tau/taubench_gpt-4o-airline_first8.json")).stdout
    assert within("canon", stdin=lines).stdout == lines


def test_what_is_dropped_is_told(tmp_path: Path) -> None:
    done = within("canon", log("f_cli_sessions/agentsessions_claude/subagent"), "--drop", "subagents, headless")
    kept = canon(log("f_cli_sessions/agentsessions_claude/subagent"))
    marks: list[str] = [mark for record in kept for mark in record.get("extra", {}).get("marks", ())]
    assert "subagent" in marks
    assert re.search(rf"dropped: {marks.count('subagent')} subagent", done.stderr.decode())
    assert b'"marks"' not in done.stdout


def test_what_is_redacted_is_told(tmp_path: Path) -> None:
    secret = "ghp_" + "".join("aK7mQz2Xw9Rt4Ls1Vb6N"[n * 7 % 20] for n in range(36))
    path = write_lines(tmp_path / "x.jsonl", {"steps": [{"action": "look", "observation": f"the key is {secret}"}]})
    done = within("canon", path)
    assert secret.encode() not in done.stdout
    assert "redacted: 1 " in done.stderr.decode()
    assert secret.encode() in within("canon", path, "--redact", "none").stdout


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--from", "nothing"), "--from nothing: no such format"),
        (("--from", "steps", "--map", "action=a[].b"), "exclude one another"),
        (("--as", "yaml"), "expected trajectory or atif"),
        (("--profile", "none-such"), "none-such"),
        (("--success-if", "import os"), "--success-if"),
        (("--redact", "all"), "--redact"),
        (("--drop", "headless,subagnts"), "--drop subagnts: the marks are subagent, headless, demo"),
        (("--map", "observation=a[].b"), "--map"),
    ],
)
def test_options_that_make_no_sense(args: tuple[str, ...], told: str) -> None:
    done = within("canon", *args, stdin='{"steps":[{"action":"a"}]}', check=None)
    assert done.returncode in (2, 66)
    assert told in done.stderr.decode()
    assert done.stdout == b""


def test_the_example_of_the_help_runs(tmp_path: Path, sample_data: Path) -> None:
    text = within("canon", "--help").stdout.decode()
    assert "xskill canon logs/*.jsonl | xskill mine | xskill tree show" in text
    (tmp_path / "logs").mkdir()
    for name in ("alfworld", "scienceworld"):
        records = canon(sample_data / f"{name}.jsonl.gz")
        write_lines(tmp_path / "logs" / f"{name}.jsonl", *records)
    done = pipeline("xskill canon logs/*.jsonl | xskill mine | xskill tree show", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout
