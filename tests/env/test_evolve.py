"""The whole loop as a Makefile: it learns, it keeps harm out, and killed anywhere it ends where it would have ended."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

HARM = {
    "schema": "xskill.edit/1",
    "op": "append",
    "skill": {
        "schema": "xskill.skill/1",
        "id": "general-harm",
        "tier": "general",
        "title": "Cool everything",
        "principle": "Into the fridge with it.",
        "steps": ["Go to the fridge: `go to {fridge}`", "Put something in the fridge: `put {object} in/on {fridge}`"],
    },
}


def command(out: Path, **variables: object) -> list[str]:
    """``make evolve`` with this very interpreter."""
    own = {"OUT": out, "PY": sys.executable, "XSKILL": f"{sys.executable} -m xskill"}
    return ["make", "-f", "evolve/Makefile", *(f"{name}={value}" for name, value in (own | variables).items())]


def evolve(words: list[str], *, timeout: float = 3000) -> None:
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def kill_at(words: list[str], out: Path, files: int, wait: float) -> bool:
    """Start it and kill it, make and all commands at once, ``wait`` seconds after there are so many files.

    Returns:
        Whether it was still at work.
    """
    running = subprocess.Popen(
        words, cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while running.poll() is None and len(finished(out)) < files:
        time.sleep(0.01)
    time.sleep(wait)
    if running.poll() is not None:
        return False
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    return True


def kill_ten_times(words: list[str], out: Path, whole: int, seed: int) -> None:
    """Ten kills on the way to all the files (``whole``) of an undisturbed run, then a run to the end."""
    rng = random.Random(seed)
    points = sorted(rng.sample(range(whole * 9 // 10), 10))
    assert [kill_at(words, out, point, rng.uniform(0, 0.2)) for point in points] == [True] * 10
    evolve(words)


def finished(out: Path) -> list[Path]:
    """Files that are no evaluator's, and not half written by somebody who was killed."""
    return [
        path
        for path in sorted(out.rglob("*"))
        if path.is_file() and "calls" not in path.relative_to(out).parts and path.suffix not in (".tmp", ".part")
    ]


def products(out: Path) -> dict[str, bytes]:
    """Everything but the evaluator's own folder."""
    return {str(path.relative_to(out)): path.read_bytes() for path in finished(out)}


def rates(out: Path, split: str) -> list[float]:
    """Success of bank 0, 1, …"""
    found = []
    for number in range(len(list(out.glob("bank-*.jsonl")))):
        rows = [json.loads(line) for line in (out / "scores" / f"{split}-{number}.jsonl").read_text().splitlines()]
        found.append(sum(row["metrics"]["success"] for row in rows) / len(rows))
    return found


def verdict(out: Path, folder: str) -> str:
    return str(json.loads((out / folder / "verdict.json").read_text())["decision"])


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@needs_make
def test_the_loop_on_a_toy_household(tmp_path: Path) -> None:
    harm = tmp_path / "harm.jsonl"
    harm.write_text(json.dumps(HARM) + "\n")
    toy = {
        "WORKER": f"{sys.executable} -m tests.env.house",
        "SABOTAGE": harm,
        "PER_TYPE": 12,
        "ROUNDS": 2,
        "TURNS": 25,
    }
    evolve(command(tmp_path / "whole", **toy))
    whole = products(tmp_path / "whole")
    assert rates(tmp_path / "whole", "test")[-1] > rates(tmp_path / "whole", "test")[0]
    assert rates(tmp_path / "whole", "validation") == sorted(rates(tmp_path / "whole", "validation"))
    assert verdict(tmp_path / "whole", "sabotage") == "reject"
    used = {  # what the last bank was made from
        question
        for line in whole["bank-2.jsonl"].splitlines()
        for question in json.loads(line).get("evidence", {}).get("sources", [])
    }
    seen = {split: {json.loads(line)["id"] for line in whole[f"{split}.jsonl"].splitlines()} for split in
            ("train", "evolve", "validation", "test")}  # fmt: skip
    assert used
    assert used <= seen["train"] | seen["evolve"]
    assert not any(a & b for n, a in enumerate(seen.values()) for b in list(seen.values())[n + 1 :])

    history = [json.loads(line) for line in whole["history.jsonl"].splitlines()]
    assert [line["decision"] for line in history] == [verdict(tmp_path / "whole", f"round-{n}") for n in (1, 2)] + [
        "reject"
    ]
    assert history[-1]["current_bank"] == json.loads(whole["bank-2.jsonl"].splitlines()[0])["version"]

    kill_ten_times(command(tmp_path / "killed", **toy), tmp_path / "killed", len(whole), seed=1)
    assert products(tmp_path / "killed") == whole


@pytest.mark.env
@pytest.mark.timeout(3600)
@needs_make
def test_the_loop_on_alfworld(alfworld_games: Path, tmp_path: Path) -> None:
    small = {
        "GAMES": alfworld_games,
        "TYPES": "pick_clean_then_place_in_recep,look_at_obj_in_light",
        "PER_TYPE": 10,
        "TEST_PER_TYPE": 3,
        "ROUNDS": 2,
        "TURNS": 40,
    }
    evolve(command(tmp_path / "whole", **small))
    assert rates(tmp_path / "whole", "test")[0] == 0
    assert rates(tmp_path / "whole", "test")[-1] > 0.5
    assert verdict(tmp_path / "whole", "sabotage") == "reject"

    whole = products(tmp_path / "whole")
    kill_ten_times(command(tmp_path / "killed", **small), tmp_path / "killed", len(whole), seed=2)
    assert products(tmp_path / "killed") == whole


@pytest.mark.env
@pytest.mark.timeout(3600)
@needs_make
def test_the_loop_on_scienceworld(scienceworld: None, tmp_path: Path) -> None:
    evolve(command(tmp_path, ENV="scienceworld", PER_TYPE=6, TEST_PER_TYPE=2, ROUNDS=1, TURNS=40))
    assert rates(tmp_path, "test")[0] == 0
    assert "Test tasks by type" in (tmp_path / "report.txt").read_text()


def test_it_says_what_it_needs() -> None:
    done = subprocess.run(["make", "-f", "evolve/Makefile"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "GAMES=DIR" in done.stderr
