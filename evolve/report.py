"""What came of the loop: success of every bank on every split with its interval, size of the banks, decisions.

Example: python report.py --rounds 3 build/evolve/alfworld
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from math import sqrt
from pathlib import Path
from typing import Any

from xskill.bank.prompt import render_prompt
from xskill.bank.skillbank import read_bank
from xskill.text.quoted import estimate_tokens

SPLITS = ("train", "evolve", "validation", "test")


def interval(hits: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """95% Wilson interval of a share."""
    if n == 0:
        return 0.0, 1.0
    middle, half = hits + z * z / 2, z * sqrt(hits * (n - hits) / n + z * z / 4)
    return max(0.0, (middle - half) / (n + z * z)), min(1.0, (middle + half) / (n + z * z))


def rows(path: Path) -> list[dict[str, Any]]:
    """The records of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rate(results: list[dict[str, Any]]) -> str:
    """``12/24 50% [31,69]``, and the mean score in percent where it is more than success: ``12/24 50% [31,69] 63``."""
    hits, n = sum(result["metrics"]["success"] for result in results), len(results)
    low, high = interval(hits, n)
    share = f"{hits}/{n} {hits / n if n else 0:.0%} [{100 * low:.0f},{100 * high:.0f}]"
    score = mean(results, "score")
    return share if n == 0 or abs(score - hits / n) < 1e-9 else f"{share} {100 * score:.0f}"


def mean(results: list[dict[str, Any]], name: str) -> float:
    """Mean of a metric."""
    return sum(result["metrics"][name] for result in results) / len(results) if results else 0.0


def decision(folder: Path) -> str:
    """What the gate said, and why."""
    verdict = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    return f"{verdict['decision']}: {'; '.join(verdict['reasons'])}"


def table(out: Path, rounds: int) -> list[str]:
    """One line a bank."""
    lines = [f"{'bank':<6}{'skills':>7}{'tokens':>8}" + "".join(f"  {split:<24}" for split in SPLITS)]
    for number in range(rounds + 1):
        skills = read_bank(str(out / f"bank-{number}.jsonl")).skills
        size = f"{number:<6}{len(skills):>7}{estimate_tokens(render_prompt(skills)):>8}"
        rates = [rate(rows(out / "scores" / f"{split}-{number}.jsonl")) for split in SPLITS]
        lines.append(size + "".join(f"  {text:<24}" for text in rates))
    return [line.rstrip() for line in lines]


def by_type(out: Path, rounds: int) -> list[str]:
    """Test tasks by type, the first bank against the last."""
    kinds = {row["id"]: row["task_type"] for row in rows(out / "test.jsonl")}
    found: dict[str, tuple[list[bool], list[bool]]] = defaultdict(lambda: ([], []))
    for place, number in enumerate((0, rounds)):
        for result in rows(out / "scores" / f"test-{number}.jsonl"):
            found[kinds[result["task_id"]]][place].append(result["metrics"]["success"])
    return [f"  {name:<32}{sum(a)}/{len(a)} → {sum(b)}/{len(b)}" for name, (a, b) in sorted(found.items())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", help="one file of results instead of the loop")
    parser.add_argument("out", nargs="?", help="folder of the loop")
    options = parser.parse_args()
    if options.results:
        results = rows(Path(options.results))
        score, turns = 100 * mean(results, "score"), mean(results, "turns")
        print(f"{rate(results)}, score {score:.1f}, {turns:.1f} turns an episode")
        return
    out = Path(options.out)
    print("Success of the follower: tasks solved, rate, 95% interval; mean score in percent where it differs\n")
    print("\n".join(table(out, options.rounds)))
    print("\nDecisions")
    for number in range(1, options.rounds + 1):
        print(f"  round {number}: {decision(out / f'round-{number}')}")
    print(f"  sabotage: {decision(out / 'sabotage')}")
    print("\nTest tasks by type, the empty bank and the last one")
    print("\n".join(by_type(out, options.rounds)))
    first, last = (rows(out / "scores" / f"test-{number}.jsonl") for number in (0, options.rounds))
    print(f"\nTurns of a test episode: {mean(first, 'turns'):.1f} → {mean(last, 'turns'):.1f}")


if __name__ == "__main__":
    main()
