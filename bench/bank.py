"""bank retrieve over 10,000 skills: queries a second."""

from __future__ import annotations

import random
import time

from bench.measure import machine
from xskill.bank.retrieval import build_index, retrieve
from xskill.bank.skillbank import make_bank
from xskill.records import Skill

SKILLS, QUERIES = 10_000, 3_000
VOCABULARY = [f"word{rank}" for rank in range(1, 5001)]
WEIGHTS = [1 / rank for rank in range(1, 5001)]


def words(rng: random.Random, n: int) -> str:
    """Words with the frequencies of language: rank r with weight 1/r."""
    return " ".join(rng.choices(VOCABULARY, WEIGHTS, k=n))


def main() -> None:
    """Print the rates."""
    print(f"machine: {machine()}")
    rng = random.Random(0)
    skills = [
        Skill(
            id=f"s{n}",
            tier="task",
            task_type=f"type{n % 100}",
            title=words(rng, 5),
            principle=words(rng, 20),
            when_to_apply=words(rng, 10),
            steps=[words(rng, 6) for _ in range(4)],
        )
        for n in range(SKILLS)
    ]
    start = time.perf_counter()
    index = build_index(make_bank(skills))
    built = time.perf_counter() - start
    queries = [words(rng, 12) for _ in range(QUERIES)]
    for name, task_type in (("no type", None), ("with type", "type7")):
        start = time.perf_counter()
        for query in queries:
            retrieve(index, query, task_type)
        rate = QUERIES / (time.perf_counter() - start)
        print(f"{SKILLS:,} skills, {name}: {rate:,.0f} queries/s (index built in {built:.2f} s)")
