"""What can be named as an input, options that name fields, and the counts for machines."""

from __future__ import annotations

import bz2
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.canon.logs import write_lines
from tests.command import run_with, within

STEP = {"action": "look", "observation": "dark"}
GOOD = {"steps": [STEP], "extra": {"problem": 7, "world": "cave"}}


def rows(output: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize("pack", [lzma.compress, bz2.compress])
@pytest.mark.parametrize("ending", ["xz", "bz2"])
def test_xz_and_bzip2(tmp_path: Path, pack: Callable[[bytes], bytes], ending: str) -> None:
    lines = b"".join(json.dumps({"steps": [STEP], "n": n}).encode() + b"\n" for n in range(5_000))
    packed = pack(lines[:100_000]) + pack(lines[100_000:])
    path = tmp_path / f"log.jsonl.{ending}"
    path.write_bytes(packed)
    done = rows(within("canon", path).stdout)
    assert len(done) == 5_000
    assert done[0]["id"] == "log-1"
    path.write_bytes(pack(lines)[:-20])
    assert b"data is truncated" in within("canon", path, check=65).stderr
    damaged = bytearray(pack(lines))
    damaged[len(damaged) // 2] ^= 255
    path.write_bytes(damaged)
    assert b"data is damaged" in within("canon", path, check=65).stderr


@pytest.mark.parametrize("pack", [lzma.compress, bz2.compress])
def test_a_bomb_comes_out_whole(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "x").write_bytes(pack(json.dumps({"steps": [{**STEP, "observation": "a" * 20_000_000}]}).encode()))
    assert len(within("canon", tmp_path / "x").stdout) > 20_000_000


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_folder_is_walked(tmp_path: Path, jobs: str) -> None:
    (tmp_path / "logs" / "deep").mkdir(parents=True)
    write_lines(tmp_path / "logs" / "b.jsonl", {"steps": [STEP]})
    write_lines(tmp_path / "logs" / "deep" / "a.jsonl", {"steps": [STEP]}, {"steps": [STEP]})
    (tmp_path / "logs" / "README.md").write_text("# Logs\n\nSome prose.\n")
    (tmp_path / "logs" / "plot.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (tmp_path / "logs" / ".hidden").write_text("x")
    done = run_with(jobs)("canon", tmp_path / "logs", "-j", jobs)
    assert [row["id"] for row in rows(done.stdout)] == ["b-1", "a-1", "a-2"]
    assert "3 steps from 2 files; 2 files that no format claims; " in done.stderr.decode()
    (tmp_path / "logs" / "b.jsonl").unlink()
    (tmp_path / "logs" / "deep" / "a.jsonl").unlink()
    none = run_with(jobs)("canon", tmp_path / "logs", "-j", jobs, check=66)
    assert "no format claims any of the 2 files in it" in none.stderr.decode()


def test_patterns_and_lists_of_names(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_lines(tmp_path / f"{name}.jsonl", {"steps": [STEP]})
    assert [row["id"] for row in rows(within("canon", tmp_path / "*.jsonl").stdout)] == ["a-1", "b-1"]
    nothing = within("canon", tmp_path / "*.json", check=66)
    assert nothing.stderr.decode() == f"xskill: {tmp_path}/*.json: no file matches this pattern\n"
    (tmp_path / "names").write_text(f"{tmp_path}/b.jsonl\n\n{tmp_path}/a.jsonl\n")
    done = within("canon", "--files-from", tmp_path / "names")
    assert [row["id"] for row in rows(done.stdout)] == ["b-1", "a-1"]
    (tmp_path / "names").write_text("\n")
    assert b"names no file" in within("canon", "--files-from", tmp_path / "names", check=66).stderr


def test_standard_input_is_called_so(tmp_path: Path) -> None:
    assert within("canon", stdin='{"steps": [{"action": 3}]}', check=65).stderr.startswith(b"xskill: stdin:1: ")
    assert within("canon", "-", stdin="what", check=65).stderr.startswith(b"xskill: stdin: no format that xskill")
    assert within("canon", stdin="", check=66).stderr == b"xskill: stdin: no record in the input\n"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_own_fields_by_name(tmp_path: Path, jobs: str) -> None:
    path = write_lines(tmp_path / "x.jsonl", GOOD, {"steps": [STEP], "env": "house"})
    first, second = rows(
        run_with(jobs)("canon", path, "-j", jobs, "--question-id", "extra.problem", "--env", "world").stdout
    )
    assert (first["question_id"], first["env"]) == ("7", "cave")
    assert (second.get("question_id"), second["env"]) == (None, "house")
    again = rows(within("canon", "--question-id", "extra.world", stdin=json.dumps(first)).stdout)
    assert again[0]["question_id"] == "cave"
    told = within("canon", path, "--env", "nothing").stderr.decode()
    assert "--env: no trajectory has a field 'nothing'" in told


def test_at_most_so_many_rejects(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", *[{"steps": [STEP]}] * 8, *[{"steps": [{"action": 3}]}] * 2)
    rejects = ("--rejects", tmp_path / "r")
    within("canon", path, *rejects, "--max-rejects", "2")
    within("canon", path, *rejects, "--max-rejects", "20%")
    done = within("canon", path, *rejects, "--max-rejects", "1", check=65)
    assert "more bad records than --max-rejects 1: 2 of 10; last: " in done.stderr.decode()
    assert "19.5%: 2 of 10" in within("canon", path, *rejects, "--max-rejects", "19.5%", check=65).stderr.decode()
    assert len((tmp_path / "r").read_text().splitlines()) == 2
    within("canon", path, *rejects, "--max-rejects", "many", check=2)
    assert b"--max-rejects belongs to --rejects" in within("canon", path, "--max-rejects", "1", check=2).stderr


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_all_counts_for_machines(tmp_path: Path, jobs: str) -> None:
    orphan = {"messages": [{"role": "user", "content": "?"}, {"role": "tool", "content": "40 g"}]}
    answer = {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "40 g"}]}
    path = write_lines(tmp_path / "x.jsonl", orphan, answer, {"messages": [3]})
    counts = tmp_path / "counts.json"
    run_with(jobs)("canon", path, "-j", jobs, "--rejects", tmp_path / "r", "--json-summary", counts)
    data = json.loads(counts.read_text())
    assert {key: data[key] for key in ("read", "kept", "rejected", "trajectories", "steps", "inputs", "lost")} == {
        "read": 3,
        "kept": 2,
        "rejected": 1,
        "trajectories": 2,
        "steps": 1,
        "inputs": 1,
        "lost": {"result without a call": 1},
    }
    within("canon", write_lines(path, orphan), "--json-summary", counts, check=65)
    assert json.loads(counts.read_text())["lost"] == {"result without a call": 1}


JUNK = "=== not a record, but a line of another program ===\n"


@pytest.mark.parametrize("junk", [JUNK, '{"half": \n', "[1, 2\n"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_junk_before_a_log_costs_itself_alone(tmp_path: Path, jobs: str, junk: str) -> None:
    path = write_lines(tmp_path / "x.jsonl", *[{"steps": [STEP]}] * 40)
    path.write_text(junk * 700 + path.read_text())
    done = run_with(jobs)("canon", path, "-j", jobs, "--rejects", tmp_path / "r")
    assert len(rows(done.stdout)) == 40
    assert len((tmp_path / "r").read_text().splitlines()) == 700


def test_an_unknown_log_names_what_is_near() -> None:
    told = within("canon", stdin='{"trajectory": [1], "goal": 2}', check=65).stderr.decode()
    assert "Nearest: swe-agent (has 'trajectory', misses " in told
    assert told.count("misses") == 3
    assert "openai-chat (expects other values in 'messages')" in (
        within("canon", stdin='{"messages": 3}', check=65).stderr.decode()
    )
