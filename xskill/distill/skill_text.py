"""A routine → a skill that a person can read and a program can check."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from xskill.array_types import Ints32
from xskill.distill.experience import Experience
from xskill.distill.plain_words import listed, percent, phrase, share, title
from xskill.distill.routines import ScopedRoutine
from xskill.distill.significance import short, status
from xskill.distill.step_text import seen_values, step_texts
from xskill.records import Skill, Tier
from xskill.text.quoted import named, quote

FEWEST = 5
"""Episodes that a counter-indication needs."""
NOTABLE = 0.02
"""A smaller difference between two rates is not worth a sentence."""
SHOWN_EPISODES = 20


def skill_id(tier: Tier, task_type: str | None, *content: str) -> str:
    """``task-1f0c9a2b``: the same skill has the same id in every run."""
    text = "\0".join([tier, task_type or "", *content])
    return f"{tier}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def routine_skill(routine: ScopedRoutine, experience: Experience) -> Skill:
    """A general or task skill from a routine that goes with success."""
    node = routine.node
    tier: Tier = "general" if routine.task_type is None else "task"
    usual = "is usual for such tasks" if routine.task_type is None else "of all episodes of this type"
    principle = (
        f"{share(routine.positives, routine.known)} episodes that did this succeeded; "
        f"{percent(routine.expected)} {usual}.{_flow(routine)}"
    )
    return Skill(
        id=skill_id(tier, routine.task_type, *node.expansion),
        tier=tier,
        task_type=routine.task_type,
        title=title(node.expansion),
        principle=principle,
        when_to_apply=_when(routine, experience),
        when_not=_when_not(routine, experience),
        steps=step_texts(node, routine.starts, experience),
        evidence=evidence(routine, experience, outcome=1),
        status=status(routine.q_value, routine.p_adjusted),
        extra={
            "tokens": list(node.expansion),
            **({"pattern": node.pattern} if node.pattern else {}),
            **({"values": values} if (values := seen_values(node, routine.starts, experience)) else {}),
        },
    )


def evidence(routine: ScopedRoutine, experience: Experience, *, outcome: int) -> dict[str, Any]:
    """The numbers behind a routine and where they come from; all can be counted again from the input.

    ``episodes`` are the holders with an outcome, ``base_rate`` is the success rate that is usual for their task types,
    ``sources`` the questions of all holders, ``episode_ids`` the first 20 holders. ``p_value`` compares within
    questions where they have several episodes, else within task types; ``q_value`` is Benjamini and Hochberg's over
    all that the run tested; ``p_adjusted`` is the tree's.
    """
    success_rate = routine.expected if outcome == 1 else 1 - routine.expected
    successes = routine.positives if outcome == 1 else routine.known - routine.positives
    return {
        "nodes": [routine.node.id],
        "episodes": routine.known,
        "successes": successes,
        "base_rate": round(success_rate, 12),
        "coverage": round(routine.coverage, 12),
        "low": round(routine.low, 12),
        "p_value": short(routine.p_value),
        "q_value": short(routine.q_value),
        **({"p_adjusted": routine.p_adjusted} if routine.p_adjusted is not None else {}),
        "occurrences": len(routine.starts),
        "task_types": list(routine.types),
        **origin(routine.holders, experience),
    }


def origin(episodes: Ints32, experience: Experience) -> dict[str, Any]:
    """Which questions and episodes something was learned from."""
    ids = [experience.corpus.ids[index].split("\0")[0] for index in episodes[:SHOWN_EPISODES].tolist()]
    return {
        "sources": sorted({experience.questions[index] for index in episodes.tolist()}),
        "episode_ids": ids,
        "split": list(experience.splits),
    }


def _flow(routine: ScopedRoutine) -> str:
    """Which thing goes through several steps."""
    steps: dict[str, list[int]] = {}
    for slot in routine.node.slots or []:
        if slot.variable is not None and slot.step not in steps.setdefault(slot.variable, []):
            steps[slot.variable].append(slot.step)
    shared = max(steps.values(), key=lambda at: (len(at), -at[0]), default=[])
    if len(shared) < 2:
        return ""
    numbers = [str(step + 1) for step in shared]
    return f" Steps {', '.join(numbers[:-1])} and {numbers[-1]} handle one and the same thing."


def _when(routine: ScopedRoutine, experience: Experience) -> str:
    if routine.task_type is not None:
        parts = [f"Tasks of the type {named(routine.task_type)}"]
        example = next((t for i in routine.holders.tolist() if (t := experience.tasks[i])), None)
        if example:
            parts[0] += f", such as {quote(example)}"
    elif routine.types:
        parts = [
            f"Used in {len(routine.types)} of {len(experience.corpus.task_type.names)} task types: "
            f"{listed(routine.types)}"
        ]
    else:
        parts = ["Any task"]
    parts.append(_position(routine, experience))
    return "; ".join(part for part in parts if part) + "."


def _position(routine: ScopedRoutine, experience: Experience) -> str:
    """Where in an episode the routine stands: at its start, at its end, or after what."""
    starts, corpus, tokens = routine.starts, experience.corpus, experience.corpus.tokens
    episode = experience.episode_of[starts]
    offset = starts - corpus.starts[episode]
    if np.mean(offset == 0) >= 0.5:
        return "at the start"
    codes, counts = np.unique(experience.tokens[starts[offset > 0] - 1], return_counts=True)
    n, token = min(zip((-counts).tolist(), (tokens[code] for code in codes), strict=True))
    if -n >= 0.5 * len(starts):
        return f"mostly right after: {phrase(token)}"
    if np.mean(offset + routine.node.length == corpus.lengths[episode]) >= 0.5:
        return "as the last steps"
    return f"typically from step {int(np.median(offset)) + 1} on"


def _when_not(routine: ScopedRoutine, experience: Experience) -> str:
    """Contexts in which the same routine did not help: task types, and doing it again in the same episode."""
    corpus = experience.corpus
    parts = []
    has_outcome = corpus.outcome >= 0
    held = routine.holders[has_outcome[routine.holders]]
    if routine.task_type is None:
        worse = []
        for code, name in enumerate(corpus.task_type.names):
            mine = held[corpus.task_type.codes[held] == code]
            of_type = has_outcome & (corpus.task_type.codes == code)
            if len(mine) >= FEWEST:
                rate, base = corpus.outcome[mine].mean(), corpus.outcome[of_type].mean()
                if rate < base - NOTABLE:
                    worse.append((rate - base, f"{named(name)} ({percent(rate)} against {percent(base)})"))
        if worse:
            parts.append("It did not help in " + ", ".join(text for _, text in sorted(worse)[:3]))
    times = np.bincount(experience.episode_of[routine.starts], minlength=corpus.n_episodes)
    once, again = held[times[held] == 1], held[times[held] > 1]
    if len(once) >= FEWEST and len(again) >= FEWEST:
        first, second = corpus.outcome[once].mean(), corpus.outcome[again].mean()
        if second < first - NOTABLE:
            parts.append(f"Not again and again: done once {percent(first)} succeed, done repeatedly {percent(second)}")
    if routine.task_type is not None and not parts:
        parts.append(f"Nothing is known about it outside {listed(routine.types)}")
    return ". ".join(parts) + "." if parts else "No context is known in which it did harm."
