"""The main job end to end, from the shipped logs to a tree, by the real command."""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path

import pytest
import zstandard

from tests.command import pipeline, run_with, within

LOGS = ("alfworld.jsonl.gz", "rollouts.jsonl.gz", "scienceworld.jsonl.gz")


@pytest.fixture(scope="module")
def trajectories(sample_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All shipped environment episodes, canonicalized."""
    path = tmp_path_factory.mktemp("pipeline") / "trajectories.jsonl"
    within("canon", *(sample_data / name for name in LOGS), "-o", path)
    return path


def test_the_pipeline_of_the_readme(sample_data: Path) -> None:
    done = pipeline(f"xskill canon {sample_data}/*.jsonl.gz | xskill mine | xskill tree show --top 12")
    assert done.returncode == 0, done.stderr
    assert "connect<device> ×6" in done.stdout.decode()
    said = done.stderr.decode()
    assert "1,820 trajectories, 28,124 steps from 3 files" in said
    assert "2 environments in one stream (alfworld, scienceworld)" in said


def test_stats_agree_with_the_provenance_table(trajectories: Path) -> None:
    """Counts as sample_data/README.md and its sources give them; the 336 branches are 42 questions x 8."""
    report = json.loads(within("stats", "--json", trajectories).stdout)
    assert report["episodes"] == 676 + 640 + 504
    assert report["steps"] == 11_394 + 11_423 + 5_307
    assert report["outcomes"] == {"successes": 379 + 551 + 264, "failures": 297 + 89 + 240, "unknown": 0}
    assert report["branches"] == 336
    assert report["environments"] == {"scienceworld": 676 + 360, "alfworld": 640 + 144}
    assert report["task_types"]["boil"]["episodes"] == 20
    within("check", trajectories)


def test_canon_of_ones_own_output_changes_nothing(trajectories: Path) -> None:
    assert within("canon", trajectories).stdout == trajectories.read_bytes()


def test_mine_gives_the_same_bytes_however_its_input_comes(trajectories: Path, tmp_path: Path) -> None:
    expected = within("mine", trajectories).stdout
    lines = trajectories.read_bytes().splitlines(keepends=True)
    random.Random(7).shuffle(lines)
    shuffled = b"".join(lines)
    forms = {
        "shuffled.jsonl": shuffled,
        "shuffled.jsonl.gz": gzip.compress(shuffled),
        "shuffled.jsonl.zst": zstandard.compress(shuffled),
    }
    for name, data in forms.items():
        (tmp_path / name).write_bytes(data)
        assert within("mine", tmp_path / name).stdout == expected, name
    within("filter", "true", "-o", tmp_path / "x.parquet", stdin=shuffled)
    assert within("mine", tmp_path / "x.parquet").stdout == expected
    for workers in ("1", "2", "3"):
        assert run_with(workers)("mine", "-j", workers, stdin=shuffled).stdout == expected


def test_canon_ends_with_its_reader(sample_data: Path) -> None:
    """The input has no end, so that only a command that stops with its reader ends at all."""
    done = pipeline(
        f"(while zcat {sample_data}/scienceworld.jsonl.gz 2>/dev/null; do :; done) | xskill canon | head -n 1"
    )
    assert done.returncode == 141
    assert done.stderr == b""
    assert len(done.stdout.splitlines()) == 1


def test_stratified_lift_leaves_the_easier_environment_out_of_it(trajectories: Path) -> None:
    """Why mine stratifies by env: a routine of ALFWorld alone is compared with ALFWorld's own success rate.

    ALFWorld succeeds in (551 + 77) / 784 episodes and the whole stream in 1,194 / 1,820: unstratified lifts
    are larger by just the quotient of the two.
    """
    alfworld = set(json.loads(within("stats", "--json", _only(trajectories, "alfworld")).stdout)["task_types"])

    def lifts(*options: str) -> dict[str, float]:
        nodes = [json.loads(line) for line in within("mine", *options, trajectories).stdout.splitlines()[1:]]
        return {node["id"]: node["lift"] for node in nodes if set(node["task_types"]) <= alfworld}

    plain, stratified = lifts("--stratify", "none"), lifts()
    assert len(plain) > 100
    assert sum(lift > 1 for lift in plain.values()) / len(plain) > 0.9
    for node, lift in plain.items():
        assert lift / stratified[node] == pytest.approx((628 / 784) / (1194 / 1820), rel=1e-6)


def _only(trajectories: Path, env: str) -> Path:
    path = trajectories.with_name(f"{env}.jsonl")
    within("filter", f"env = '{env}'", trajectories, "-o", path)
    return path


def test_other_shipped_logs(sample_data: Path) -> None:
    """Values read off the files: tasks 4-7 with rewards 0, 0, 1, 0; the SWE-agent run has 11 steps and no outcome."""
    tau = [json.loads(line) for line in within("canon", sample_data / "taubench_airline.json").stdout.splitlines()]
    assert [(t["question_id"], t["success"], t["reward"]) for t in tau] == [
        ("4", False, 0.0),
        ("5", False, 0.0),
        ("6", True, 1.0),
        ("7", False, 0.0),
    ]
    (swe,) = map(json.loads, within("canon", sample_data / "sweagent_marshmallow-1867.traj").stdout.splitlines())
    assert len(swe["actions"]) == 11
    assert "success" not in swe
    assert swe["actions"][-1] == "submit"


def test_sample_data_is_small_and_accounted_for(sample_data: Path) -> None:
    files = {path.name: path.stat().st_size for path in sample_data.iterdir()}
    assert sum(files.values()) <= 2_000_000
    readme = (sample_data / "README.md").read_text()
    assert set(re.findall(r"^\| `([^`]+)`", readme, re.M)) == set(files) - {"README.md"}
