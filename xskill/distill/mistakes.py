"""What failures have in common: routines that go with failing, loops, turns that change nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xskill.array_types import Ints32
from xskill.distill.experience import Experience
from xskill.distill.loops import Standstill, loops, unanswered
from xskill.distill.plain_words import listed, percent, phrase, sentence, share, title
from xskill.distill.routines import ScopedRoutine
from xskill.distill.significance import Blocks, p_value, short, status
from xskill.distill.skill_text import evidence, origin, skill_id
from xskill.distill.step_text import step_texts
from xskill.mine.association import wilson
from xskill.records import Skill
from xskill.text.quoted import named, quote

LESSONS = {
    "loop": ("Going round in circles", "Do not go through the same actions again: what they had to show is known."),
    "no-op": ("Repeating a turn that changes nothing", "When an action gets the answer it got before, do another."),
}


@dataclass(frozen=True, slots=True)
class Stuck:
    """One way to stand still with its numbers in one scope: all task types (``task_type`` None) or one."""

    standstill: Standstill
    holders: Ints32
    """Episodes in the scope that hold it."""
    task_type: str | None
    known: int
    failed: int
    expected: float
    """Failure rate that is usual for the holders' task types."""
    low: float
    """Wilson 95% lower bound of ``failed / known``."""
    p_value: float


def assess_standstills(
    experience: Experience, within: Blocks, *, min_support: int = 5, only: Sequence[str] | None = None
) -> list[Stuck]:
    """Loops and no-op turns over all episodes (unless ``only``) and in single task types, where enough hold one."""
    corpus = experience.corpus
    codes, names = corpus.task_type.codes, corpus.task_type.names
    has_outcome = corpus.outcome >= 0
    stratum = np.where(codes >= 0, codes, len(names))
    totals = np.bincount(stratum[has_outcome], minlength=len(names) + 1)
    rates = np.bincount(stratum[corpus.outcome == 0], minlength=len(names) + 1) / np.maximum(totals, 1)
    stuck = []
    for kind in (loops(experience), unanswered(experience)):
        everywhere = np.unique(experience.episode_of[kind.starts]).astype(np.int32)
        scopes: list[tuple[str | None, Ints32]] = [(None, everywhere)] if only is None else []
        scopes += [(n, everywhere[codes[everywhere] == c]) for c, n in enumerate(names) if only is None or n in only]
        for task_type, holders in scopes:
            held = holders[has_outcome[holders]]
            if len(held) >= min_support:
                failed = int((corpus.outcome[held] == 0).sum())
                stuck.append(
                    Stuck(
                        standstill=kind,
                        holders=holders,
                        task_type=task_type,
                        known=len(held),
                        failed=failed,
                        expected=float(rates[stratum[held]].mean()),
                        low=float(wilson(np.array([failed]), np.array([len(held)]))[0][0]),
                        p_value=p_value(within, held, 0),
                    )
                )
    return stuck


def standstills(stuck: Sequence[Stuck], q: Sequence[float], experience: Experience) -> list[Skill]:
    """Those that go with failure, the Wilson lower bound above the usual rate: over all episodes, else by task type."""
    skills: list[Skill] = []
    for kind in LESSONS:
        harmful = [
            (one, value)
            for one, value in zip(stuck, q, strict=True)
            if one.standstill.kind == kind and one.low > one.expected
        ]
        overall = [(one, value) for one, value in harmful if one.task_type is None]
        skills += [_standstill(one, value, experience) for one, value in overall or harmful]
    return skills


def routine_mistake(routine: ScopedRoutine, experience: Experience) -> Skill:
    """What goes with failing: a routine that was assessed for it."""
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
        status=status(routine.q_value, routine.p_adjusted),
        extra={"kind": "routine", "tokens": list(node.expansion)},
    )


def _better_turn(routine: ScopedRoutine, experience: Experience) -> str:
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


def _standstill(stuck: Stuck, q_value: float, experience: Experience) -> Skill:
    name, lesson = LESSONS[stuck.standstill.kind]
    inside = np.isin(experience.episode_of[stuck.standstill.starts], stuck.holders)
    usual = f"{percent(stuck.expected)} is usual for such tasks"
    where = f" in {named(stuck.task_type)}" if stuck.task_type is not None else ""
    return Skill(
        id=skill_id("mistake", stuck.task_type, stuck.standstill.kind),
        tier="mistake",
        task_type=stuck.task_type,
        title=name + where,
        principle=f"{lesson} {share(stuck.failed, stuck.known)} episodes that did so failed; {usual}.",
        when_to_apply="Seen with: " + "; ".join(_common(stuck.standstill, inside, experience)) + ".",
        evidence={
            "episodes": stuck.known,
            "successes": stuck.known - stuck.failed,
            "base_rate": round(1 - stuck.expected, 12),
            "low": round(stuck.low, 12),
            "p_value": short(stuck.p_value),
            "q_value": short(q_value),
            "occurrences": int(inside.sum()),
            **origin(stuck.holders, experience),
        },
        status=status(q_value),
        extra={"kind": stuck.standstill.kind},
    )


def _common(
    standstill: Standstill, inside: np.ndarray[tuple[int], np.dtype[np.bool_]], experience: Experience
) -> list[str]:
    """The rounds that come most often, as quoted commands."""
    rounds: Counter[str] = Counter()
    readable = inside & (experience.raw[standstill.starts] >= 0)
    shown = readable if readable.any() else inside
    for start, period in zip(standstill.starts[shown].tolist(), standstill.periods[shown].tolist(), strict=True):
        codes = experience.raw[start : start + period].tolist()
        words = [
            experience.raw_actions[code] if code >= 0 else experience.corpus.actions[experience.corpus.steps[step]][0]
            for step, code in enumerate(codes, start)
        ]
        rounds[", ".join(quote(word) for word in words)] += 1
    ranked = sorted(rounds.items(), key=lambda item: (-item[1], item[0]))[:3]
    return [sentence(f"{text} ({'once' if n == 1 else f'{n} times'})") for text, n in ranked]
