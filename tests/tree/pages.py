"""Trees and episodes for the explorer's tests: a large one, and one whose every text attacks the page."""

from __future__ import annotations

import random

from tests.tree.trees import with_fields
from xskill.records import Corpus, Slot, Step, Trajectory
from xskill.tree.replay import encode, tiler
from xskill.tree.xtree import XTree

HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=2>\u2028<!--\u202e@SCRIPT@@DATA@"


TYPES = ["cool", "heat", "clean", "find"]


def large(n_nodes: int = 2000, n_episodes: int = 500) -> tuple[XTree, list[Trajectory]]:
    """A tree of random merges up to length 8, and episodes of its routines with long observations."""
    rng = random.Random(0)
    tokens = [f"verb{i}<role {i % 7}>" for i in range(40)]
    merges = []
    symbols = dict.fromkeys(tokens, 1)
    seen: set[tuple[str, str]] = set()
    while len(merges) < n_nodes:
        left, right = rng.choices(list(symbols), k=2)
        if (left, right) in seen or symbols[left] + symbols[right] > 8:
            continue
        seen.add((left, right))
        name, n = f"S{len(merges)}", rng.randrange(5, 400)
        k = rng.randrange(n + 1)
        low, high = max(0.0, k / n - 0.1), min(1.0, k / n + 0.1)
        fields = {
            "id": name, "count": n, "frequency": n, "success": k / n, "episodes": n, "episodes_known": n,
            "episodes_success": k, "success_low": low, "success_high": high, "lift": k / n / 0.5, "tiles": n,
            "q_value": rng.random(), "task_types": rng.sample(TYPES, rng.randrange(1, 4)), "tiles_success": k,
            "slots": [Slot(step=0, index=0, variable="a", values=[("apple 1", 5), ("egg 2", 3)])],
        }  # fmt: skip
        merges.append((fields, left, right))
        symbols[name] = symbols[left] + symbols[right]
    tree = with_fields(
        merges,
        environment="large",
        corpus=Corpus(n_trajectories=n_episodes),
        stats={"base_rate": 0.5, "steps": 15_000, "symbols": 6_000, "steps_success": 9_000},
    )
    episodes = []
    for i in range(n_episodes):
        actions: list[str] = []
        while len(actions) < 30:
            actions += rng.choice(tree.nodes).expansion
        steps = [
            Step(
                action=f"{token} thing {rng.randrange(1000)}",
                observation=f"You see {rng.random()} " * rng.randrange(30),
            )
            for token in actions
        ]
        episodes.append(
            Trajectory(
                id=f"e{i}",
                task=f"task number {i}",
                task_type=rng.choice(["cool", "heat"]),
                success=rng.random() < 0.5,
                actions=actions,
                steps=steps,
            )
        )
    return tree, episodes


def hostile() -> tuple[XTree, list[Trajectory]]:
    """Every text of the tree and of its two episodes is :data:`HOSTILE`."""
    slots = [Slot(step=0, index=0, variable=HOSTILE, values=[(HOSTILE, 2)])]
    fields = {
        "id": HOSTILE, "episodes": 2, "episodes_known": 2, "episodes_success": 1, "frequency": 2, "tiles": 2,
        "tiles_success": 1, "task_types": [HOSTILE], "slots": slots, "example": [HOSTILE, HOSTILE],
    }  # fmt: skip
    tree = with_fields(
        [(fields, HOSTILE + "a", HOSTILE + "b")],
        environment=HOSTILE,
        corpus=Corpus(name=HOSTILE),
        stats={"base_rate": 0.5},
    )
    steps = [Step(action=HOSTILE, observation=HOSTILE)] * 3
    episodes = [
        Trajectory(
            id=HOSTILE + str(success),
            task=HOSTILE,
            task_type=HOSTILE,
            success=success,
            actions=[HOSTILE + "a", HOSTILE + "b", HOSTILE + "c"],
            steps=steps,
        )
        for success in (True, False)
    ]
    return tree, episodes


def tilings(tree: XTree, episodes: list[Trajectory]) -> list[int]:
    """Number of tiles after each number of merges, by encoding with the first k nodes (the page expands instead)."""
    return [
        sum(len(encode(tiler(XTree(tree.header, tree.nodes[:k])), episode.actions)) for episode in episodes)
        for k in range(len(tree.nodes) + 1)
    ]
