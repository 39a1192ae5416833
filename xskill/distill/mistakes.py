"""What failures have in common: routines that go with failing, loops, turns that change nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from xskill.distill.experience import Experience, Ints
from xskill.distill.loops import Standstill, loops, unanswered
from xskill.distill.replay import Positions
from xskill.distill.routines import Routine, assess, choose
from xskill.distill.skills import SIGNIFICANT, evidence, origin, skill_id
from xskill.distill.steps import step_texts
from xskill.distill.wording import listed, named, percent, phrase, quote, sentence, share, title
from xskill.mine.association import Tables, fisher, wilson
from xskill.records import Skill
from xskill.tree.model import XTree

LESSONS = {
    "loop": ("Going round in circles", "Do not go through the same actions again: what they had to show is known."),
    "no-op": ("Repeating a turn that changes nothing", "When an action gets the answer it got before, do another one."),
}


def failure_routines(
    tree: XTree,
    found: Mapping[str, Positions],
    experience: Experience,
    *,
    most: int,
    min_families: int | None = None,
    min_support: int = 5,
    only: Sequence[str] | None = None,
) -> list[Skill]:
    """Routines of a failure tree whose failure rate lies above the usual one by its Wilson 95% lower bound."""
    routines = assess(tree, found, experience, outcome=0, min_families=min_families, min_support=min_support, only=only)
    enriched = [routine for routine in routines if routine.low > routine.expected]
    return [_routine_mistake(routine, experience) for routine in choose(enriched, tree, found, most)]


def standstills(experience: Experience, *, min_support: int = 5, only: Sequence[str] | None = None) -> list[Skill]:
    """Loops and no-op turns where they go with failure: over all episodes, else in single task types.

    The test is that of the routines: Wilson lower bound of the failure rate of the episodes that hold one, above the
    rate that is usual for their task types.
    """
    return [
        skill
        for found in (loops(experience), unanswered(experience))
        for skill in _standstill_mistakes(found, experience, min_support, only)
    ]


def _routine_mistake(routine: Routine, experience: Experience) -> Skill:
    node = routine.node
    where = f"in tasks of the type {named(routine.task_type)}" if routine.task_type else "in any task"
    usual = where if routine.task_type else "for such tasks"
    failed = f"{share(routine.positives, routine.known)} episodes that did this failed"
    principle = f"{failed}; {percent(routine.expected)} is usual {usual}."
    better = _better_turn(routine, experience)
    return Skill(
        id=skill_id("mistake", routine.task_type, *node.expansion),
        tier="mistake",
        task_type=routine.task_type,
        title=f"Leads nowhere: {title(node.expansion)}",
        principle=f"{principle} {better}" if better else principle,
        when_to_apply=f"When you are about to do this {where}"
        + (f" (seen in {listed(routine.types)})." if routine.task_type is None and routine.types else "."),
        steps=step_texts(node, routine.starts, experience),
        evidence=evidence(routine, experience, outcome=0),
        status="supported" if routine.q_value <= SIGNIFICANT else "unproven",
        extra={"kind": "routine", "tokens": list(node.expansion)},
    )


def _better_turn(routine: Routine, experience: Experience) -> str:
    """What successful episodes did instead of the last step, where they came to the same point."""
    corpus, tokens = experience.corpus, routine.node.expansion
    last = len(tokens) - 1
    code = {token: number for number, token in enumerate(corpus.tokens)}
    line = experience.tokens
    at = np.arange(max(0, len(line) - last))
    for offset, token in enumerate(tokens[:-1]):
        at = at[line[at + offset] == code.get(token, -1)]
    episode = experience.episode_of
    at = at[episode[at] == episode[at + last]]
    if routine.task_type is not None:
        at = at[corpus.task_type.codes[episode[at]] == corpus.task_type.names.index(routine.task_type)]
    best: tuple[float, str] | None = None
    for number in np.unique(line[at + last]).tolist():
        token = corpus.tokens[number]
        holders = np.unique(episode[at[line[at + last] == number]])
        outcome = corpus.outcome[holders][corpus.outcome[holders] >= 0]
        if token == tokens[-1] or len(outcome) < 5:
            continue
        rate, low = float(outcome.mean()), float(wilson(np.array([outcome.sum()]), np.array([len(outcome)]))[0][0])
        if rate > 1 - routine.expected and (best is None or (low, token) > (best[0], "")):
            best = (
                low,
                f"Instead of the last step: {phrase(token)} ({share(int(outcome.sum()), len(outcome))} succeeded).",
            )
    return best[1] if best else ""


def _standstill_mistakes(
    found: Standstill, experience: Experience, min_support: int, only: Sequence[str] | None
) -> list[Skill]:
    corpus = experience.corpus
    holders = np.unique(experience.episode_of[found.starts]).astype(np.int32)
    if only is None:
        overall = _standstill(found, holders, experience, None, min_support)
        if overall is not None:
            return [overall]
    skills = []
    for code, name in enumerate(corpus.task_type.names):
        if only is None or name in only:
            skill = _standstill(found, holders[corpus.task_type.codes[holders] == code], experience, name, min_support)
            skills += [skill] if skill is not None else []
    return skills


def _standstill(
    found: Standstill, holders: Ints, experience: Experience, task_type: str | None, min_support: int
) -> Skill | None:
    corpus = experience.corpus
    stratum = np.where(corpus.task_type.codes >= 0, corpus.task_type.codes, len(corpus.task_type.names))
    n_strata = len(corpus.task_type.names) + 1
    known = corpus.outcome >= 0
    held = holders[known[holders]]
    if len(held) < min_support:
        return None
    failed = int((corpus.outcome[held] == 0).sum())
    tables = Tables(
        np.bincount(stratum[held[corpus.outcome[held] == 0]], minlength=n_strata)[None],
        np.bincount(stratum[held], minlength=n_strata)[None],
        np.bincount(stratum[corpus.outcome == 0], minlength=n_strata),
        np.bincount(stratum[known], minlength=n_strata),
    )
    rate = tables.positives / np.maximum(tables.totals, 1)
    expected = float((tables.holders[0] * rate).sum() / len(held))
    low = float(wilson(np.array([failed]), np.array([len(held)]))[0][0])
    if low <= expected:
        return None
    p_value = float(fisher(tables)[0])
    inside = np.isin(experience.episode_of[found.starts], holders)
    texts = _common(found, inside, experience)
    usual = f"{percent(expected)} is usual for such tasks"
    numbers = f"{share(failed, len(held))} episodes that did so failed; {usual}."
    if found.kind == "loop":
        name, lesson = (
            "Going round in circles",
            "Do not go through the same actions again: what they had to show is known.",
        )
    else:
        name, lesson = (
            "Repeating a turn that changes nothing",
            "When an action gets the answer it got before, do another.",
        )
    where = f" in {named(task_type)}" if task_type is not None else ""
    return Skill(
        id=skill_id("mistake", task_type, found.kind),
        tier="mistake",
        task_type=task_type,
        title=name + where,
        principle=f"{lesson} {numbers}",
        when_to_apply="Seen with: " + "; ".join(texts) + ".",
        evidence={
            "episodes": len(held),
            "successes": len(held) - failed,
            "base_rate": round(1 - expected, 12),
            "low": round(low, 12),
            "p_value": float(f"{p_value:.12g}"),
            "occurrences": int(inside.sum()),
            **origin(holders, experience),
        },
        status="supported" if p_value <= SIGNIFICANT else "unproven",
        extra={"kind": found.kind},
    )


def _common(found: Standstill, inside: np.ndarray[tuple[int], np.dtype[np.bool_]], experience: Experience) -> list[str]:
    """The rounds that come most often, as quoted commands."""
    rounds: Counter[str] = Counter()
    told = inside & (experience.raw[found.starts] >= 0)
    shown = told if told.any() else inside
    for start, period in zip(found.starts[shown].tolist(), found.periods[shown].tolist(), strict=True):
        codes = experience.raw[start : start + period].tolist()
        words = [
            experience.raw_actions[code] if code >= 0 else experience.corpus.actions[experience.corpus.steps[step]][0]
            for step, code in enumerate(codes, start)
        ]
        rounds[", ".join(quote(word) for word in words)] += 1
    ranked = sorted(rounds.items(), key=lambda item: (-item[1], item[0]))[:3]
    return [sentence(f"{text} ({'once' if n == 1 else f'{n} times'})") for text, n in ranked]
