"""xskill credit on a million turns, against a plain orjson parse of the same file and against polars on Parquet.

    python -m bench credit

Rollouts as initialize-then-expand makes them: 4 chains and 8 branches a question, about 12 turns each, 290 bytes of
JSON a turn, every observation a text of its own (the hardest case for finding shared prefixes). Whole processes are
measured, start-up and writing included. CPU time counts all processes; wall time needs an idle machine.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
from pathlib import Path

import orjson

from bench.measure import XSKILL, machine, run

TURNS = 1_000_000
REPEATS = 3
USED = ["id", "question_id", "reward", "success", "initial_observation", "parent", "steps"]


def make_rollouts(path: Path, turns: int, seed: int = 0) -> None:
    """Write about ``turns`` turns."""
    rng = random.Random(seed)
    words = "the door to kitchen is open you see a metal pot cupboard with water on table".split()
    sentences = [" ".join(rng.choices(words, k=28)) for _ in range(2000)]

    def step() -> dict[str, object]:
        return {
            "action": f"go to place {rng.randrange(40)}",
            "observation": f"{rng.choice(sentences)} #{rng.randrange(10**9)}",
            "logprob": round(-5 * rng.random(), 4),
            "logprob_new": round(-5 * rng.random(), 4),
            "n_tokens": rng.randrange(1, 9),
        }

    written, question = 0, 0
    with open(path, "wb") as file:
        while written < turns:
            chains = [[step() for _ in range(rng.randrange(5, 20))] for _ in range(4)]
            made = [(f"q{question}-{i}", None, steps) for i, steps in enumerate(chains)]
            for i, steps in enumerate(chains):
                for b in range(2):
                    turn = rng.randrange(len(steps))
                    rest = [step() for _ in range(rng.randrange(1, max(2, 20 - turn)))]
                    parent = {"id": f"q{question}-{i}", "turn": turn}
                    made.append((f"q{question}-{i}.{b}", parent, steps[:turn] + rest))  # type: ignore[arg-type]
            for name, link, steps in made:
                record = {
                    "schema": "xskill.trajectory/1",
                    "id": name,
                    "question_id": f"q{question}",
                    "task": "Your task is to boil water. " * 3,
                    "task_type": "boil",
                    "env": "synthetic",
                    "reward": float(rng.random() < 0.4),
                    "actions": ["navigate<place>"] * len(steps),
                    "args": [[str(one["action"]).split()[-1]] for one in steps],
                    "steps": steps,
                    **({"parent": link} if link else {}),
                }
                file.write(orjson.dumps(record) + b"\n")
                written += len(steps)
            question += 1


def compare(title: str, plain: list[str], limit: float, commands: dict[str, list[str]]) -> None:
    """Run the plain command and ours in turns, and print the medians as multiples."""
    names = {"plain": plain, **commands}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    peak: dict[str, float] = {}
    for _ in range(REPEATS):
        for name, command in names.items():
            usage = run(command)
            taken[name].append((usage.seconds, usage.cpu))
            peak[name] = usage.peak_mb
    wall, cpu = (statistics.median(pair[i] for pair in taken["plain"]) for i in (0, 1))
    print(f"\n{title}: {wall:.2f} s wall, {cpu:.2f} s CPU (target {limit:g}x)")
    for name in commands:
        ours = [statistics.median(pair[i] for pair in taken[name]) for i in (0, 1)]
        print(
            f"  {name:34s} {ours[0]:6.2f} s wall {ours[0] / wall:5.2f}x   {ours[1]:6.2f} s CPU {ours[1] / cpu:5.2f}x"
            f"   {peak[name]:6.0f} MB"
        )


def main() -> None:
    """Make the data, measure, print."""
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        lines, parquet, out = (Path(folder) / name for name in ("r.jsonl", "r.parquet", "out.parquet"))
        make_rollouts(lines, TURNS)
        run([*XSKILL, "filter", "true", str(lines), "-o", str(parquet)])
        print(f"{TURNS:,} turns: {lines.stat().st_size >> 20} MB of JSON, {parquet.stat().st_size >> 20} MB of Parquet")
        credit = [*XSKILL, "credit", "-q"]
        parse = f"import orjson\nfor line in open({str(lines)!r}, 'rb'): orjson.loads(line)"
        compare(
            "plain orjson parse",
            [sys.executable, "-c", parse],
            2.5,
            {
                "credit": [*credit, str(lines)],
                "credit -j1": [*credit, "-j1", str(lines)],
                "credit --per-turn": [*credit, "--per-turn", str(lines)],
                "credit --method gigpo": [*credit, "--method", "gigpo", str(lines)],
                "rollout check": [*XSKILL, "rollout", "check", "-q", str(lines)],
            },
        )
        read = f"import polars as pl; pl.read_parquet({str(parquet)!r}, columns={USED})"
        compare(
            "polars.read_parquet of the used columns",
            [sys.executable, "-c", read],
            3,
            {
                "credit --per-turn -o .parquet": [*credit, "--per-turn", str(parquet), "-o", str(out)],
                "credit -o .parquet": [*credit, str(parquet), "-o", str(out)],
                "rollout check": [*XSKILL, "rollout", "check", "-q", str(parquet)],
            },
        )


if __name__ == "__main__":
    main()
