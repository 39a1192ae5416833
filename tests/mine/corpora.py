"""Random corpora with ties, runs, empty and one-step episodes, branches, unknown outcomes."""

from __future__ import annotations

import random

from xskill.mine.rules import MineRules
from xskill.records import Episode, Parent


def random_episodes(rng: random.Random, *, max_episodes: int = 60) -> list[Episode]:
    """A corpus in which routines recur, so that merges nest."""
    tokens = [f"v{number}<r{number % 3}>" for number in range(rng.choice([1, 2, 3, 5, 12]))]
    routines = [[rng.choice(tokens) for _ in range(rng.randint(2, 5))] for _ in range(rng.randint(1, 4))]
    known = rng.choice([0.0, 0.7, 1.0, 1.0])
    easy = rng.choice([0.3, 0.6, 0.9, 1.0])
    episodes = []
    for number in range(rng.randint(1, max_episodes)):
        actions: list[str] = []
        for _ in range(rng.randint(0, 9)):
            actions += rng.choice(routines) if rng.random() < 0.6 else [rng.choice(tokens)] * rng.randint(1, 4)
        branch = rng.random() < 0.2
        fork = rng.randint(0, len(actions))
        episodes.append(
            Episode(
                id=f"e{number}",
                question_id=rng.choice([None, "q0", "q1", f"q{number}"]),
                task_type=rng.choice([None, "t0", "t1", "t2"]),
                success=rng.random() < easy if rng.random() < known else None,
                actions=actions,
                args=[[rng.choice("xyz") for _ in range(rng.randint(0, 2))] for _ in actions],
                parent=Parent(id="e0", turn=fork, step=rng.choice([None, fork])) if branch else None,
            )
        )
    return episodes


def random_rules(rng: random.Random) -> MineRules:
    """Every choice varied."""
    outcome = rng.choice(["success", "success", "failure"])
    return MineRules(
        p_length=rng.choice([0.0, 0.5, 1.0, 1.0, 1.7]),
        p_success=rng.choice([0.0, 1.0, 1.0, 1.5]),
        epsilon=rng.choice([0.0, 0.0, 0.1]),
        eta=rng.choice([0.0, 0.0, 0.3, 0.5, 1.0]),
        min_frequency=rng.choice([1, 2, 3, 5]),
        max_length=rng.choice([3, 8, 12, 1000]),
        max_skills=rng.choice([0, 20, 256, 256]),
        min_success_rate=rng.choice([0.0, 0.0, 0.3, 0.7]),
        min_families=rng.choice([1, 1, 2]),
        self_pairs=rng.choice(["overlapping", "disjoint"]),
        successes_only=outcome == "success" and rng.random() < 0.3,
        outcome=outcome,
    )
