"""Rollouts for tests: from dicts into flat arrays, and random ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from xskill.records import convert
from xskill.rollouts.arrays import Rollouts
from xskill.rollouts.gather import Gather, TokenRollout, sum_tokens
from xskill.rollouts.prefix_tree import Trie, build


def gather(records: list[dict[str, Any]]) -> tuple[Rollouts, Trie]:
    """The arrays and the tries of records given as dicts."""
    collected = Gather()
    for line, record in enumerate(records, 1):
        collected.add(sum_tokens(convert(record, TokenRollout)), ("test.jsonl", line))
    rollouts = collected.finish()
    return rollouts, build(rollouts)


@st.composite
def questions(draw: Callable[[Any], Any], *, logprobs: bool = True, max_rollouts: int = 7) -> list[dict[str, Any]]:
    """The rollouts of one question: small alphabets so that prefixes meet, branches, unfinished ones, duplicates."""
    made: list[dict[str, Any]] = []
    for i in range(draw(st.integers(1, max_rollouts))):
        parent = None
        steps: list[dict[str, Any]] = []
        if made and draw(st.booleans()):
            above = draw(st.sampled_from(made))
            turn = draw(st.integers(0, len(above["steps"])))
            parent = {"id": above["id"], "turn": turn}
            steps = list(above["steps"][:turn])
        for _ in range(draw(st.integers(0, 4))):
            steps.append(
                {
                    "action": draw(st.sampled_from("ab")),
                    "observation": draw(st.sampled_from(["x", "y", None])),
                    "logprob": -draw(st.integers(1, 40)) / 8 if logprobs else None,
                    "n_tokens": draw(st.integers(1, 3)),
                }
            )
        reward = draw(st.sampled_from([0.0, 1.0, 0.25, None]))
        made.append({"id": f"r{i}", "question_id": "q", "parent": parent, "reward": reward, "steps": steps})
    return made
