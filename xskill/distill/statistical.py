"""The statistical teacher: episodes and their X-Tree → skills and mistakes. Deterministic, no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from xskill.array_types import Ints64
from xskill.bank.prompt import render_prompt
from xskill.bank.similarity import near_duplicate
from xskill.distill.experience import Experience
from xskill.distill.lessons import Lesson
from xskill.distill.mistakes import assess_standstills, routine_mistake, standstills
from xskill.distill.node_places import places_in
from xskill.distill.plain_words import telling
from xskill.distill.routines import ScopedRoutine, assess, choose, enough_types, judged
from xskill.distill.significance import SIGNIFICANT, blocks, q_values
from xskill.distill.skill_text import routine_skill
from xskill.mine.from_corpus import mine_corpus
from xskill.mine.rules import MineRules
from xskill.records import Skill, TreeHeader
from xskill.text.quoted import estimate_tokens
from xskill.tree.xtree import XTree

FAILURE_NODES = 64
"""Nodes of the failure tree: lessons come from the strongest few."""
FAILURE_EPISODES = 10_000
"""The failure tree is mined from at most so many episodes, evenly over all ids; its nodes are assessed on all."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many skills, and what each needs. A small bank is used more precisely than a large one."""

    general: int = 8
    per_type: int = 3
    mistakes: int = 10
    total: int = 60
    min_support: int = 5
    """Episodes with an outcome that must hold a routine."""
    min_families: int | None = None
    """Task types that must use a general routine; None: half of them, and two."""


@dataclass(frozen=True, slots=True)
class Distilled:
    """Skills in the order of presentation, and what they cover."""

    skills: tuple[Skill, ...]
    coverage: float | None
    """Share of the successful episodes that hold the routine of a skill; None without successes."""
    raw_tokens: int
    skill_tokens: int


def distill_experience(
    experience: Experience,
    tree: XTree | None,
    limits: Limits = Limits(),
    *,
    only: Sequence[str] | None = None,
    lessons: Sequence[Lesson] = (),
) -> Distilled:
    """Skills from what went well, mistakes from what did not (SkillRL's three tiers).

    Everything that is tested (routines for success and for failure in each of their scopes, standstills, ``lessons``)
    is one family: its q-values are Benjamini and Hochberg's over all of it, whatever then becomes a skill. A routine
    of moving and looking alone is a skill only when its association with success is significant.

    Args:
        tree: mined from these episodes or others; None: it is mined here with the default settings.
        only: task types to look at, each for itself; nothing is general then.
        lessons: what sibling branches teach; each that has a p-value gets its q-value.

    Raises:
        NoSuccess: every episode with an outcome failed, and there is no tree.
    """
    tree = tree if tree is not None else mine_corpus(experience.corpus, MineRules())
    failure_tree = _failure_tree(experience)
    places, failing = places_in([tree, failure_tree], experience.corpus)
    within = blocks(experience.corpus)

    def assessed(tree: XTree, places_of: Mapping[str, Ints64], outcome: int) -> list[ScopedRoutine]:
        return assess(
            tree,
            places_of,
            experience,
            within,
            outcome=outcome,
            min_families=limits.min_families,
            min_support=limits.min_support,
            only=only,
        )

    routines = assessed(tree, places, 1)
    stuck = assess_standstills(experience, within, min_support=limits.min_support, only=only)
    failures = assessed(failure_tree, failing, 0)
    tested = [lesson for lesson in lessons if lesson.p_value is not None]
    q_routines, q_failures, q_stuck, q_lessons = q_values(
        [routine.p_value for routine in routines],
        [routine.p_value for routine in failures],
        [one.p_value for one in stuck],
        [lesson.p_value for lesson in tested if lesson.p_value is not None],
    )
    for lesson, q_value in zip(tested, q_lessons, strict=True):
        lesson.q_value = q_value
    routines = [
        routine
        for routine in judged(routines, q_routines)
        if routine.better and (routine.q_value <= SIGNIFICANT or any(map(telling, routine.node.expansion)))
    ]
    families = enough_types(len(experience.corpus.task_type.names), limits.min_families)
    general = choose([r for r in routines if r.task_type is None], tree, places, limits.general)
    task: list[ScopedRoutine] = []
    for name in experience.corpus.task_type.names:
        own = [r for r in routines if r.task_type == name]
        own.sort(key=lambda r: len(r.types) >= families)  # what many types share comes after what this one has
        task += choose(own, tree, places, limits.per_type)
    mistakes = standstills(stuck, q_stuck, experience)
    harmful = [r for r in judged(failures, q_failures) if r.better and r.low > r.expected]
    worst = choose(harmful, failure_tree, failing, max(0, limits.mistakes - len(mistakes)))
    mistakes = [*mistakes, *(routine_mistake(routine, experience) for routine in worst)][: limits.mistakes]
    room = max(0, limits.total - len(general) - len(mistakes))
    best = {id(r) for r in sorted(task, key=lambda r: -r.rank)[:room]}
    chosen = [*general, *(r for r in task if id(r) in best)]
    skills = merged([*(routine_skill(routine, experience) for routine in chosen), *mistakes])[: limits.total]
    return Distilled(
        skills=tuple(skills),
        coverage=_coverage(chosen, experience),
        raw_tokens=-(-experience.characters // 4),
        skill_tokens=estimate_tokens(render_prompt(skills)),
    )


def merged(skills: Sequence[Skill]) -> list[Skill]:
    """Near-duplicates (same tier and type; same title, or token Jaccard >= 0.8) become one: the first, with all nodes
    and sources."""
    kept: list[Skill] = []
    for skill in skills:
        same = near_duplicate(skill, kept)
        if same is None:
            kept.append(skill)
            continue
        evidence = dict(same.evidence)
        for name in ("nodes", "sources"):
            both = dict.fromkeys([*same.evidence.get(name, []), *skill.evidence.get(name, [])])
            evidence |= {name: sorted(both) if name == "sources" else list(both)} if both else {}
        kept[kept.index(same)] = msgspec.structs.replace(same, evidence=evidence)
    return kept


def _failure_tree(experience: Experience) -> XTree:
    """Routines of failures; none where nothing failed."""
    corpus = experience.corpus
    if corpus.n_episodes > FAILURE_EPISODES:
        corpus = corpus.select(np.linspace(0, corpus.n_episodes - 1, FAILURE_EPISODES).astype(np.intp))
    if not (corpus.outcome == 0).any():
        return XTree(TreeHeader(n_nodes=0), ())
    return mine_corpus(corpus, MineRules(outcome="failure", max_skills=FAILURE_NODES))


def _coverage(chosen: Sequence[ScopedRoutine], experience: Experience) -> float | None:
    won = experience.corpus.outcome == 1
    if not won.any():
        return None
    holds = np.zeros(experience.n_episodes, bool)
    for routine in chosen:
        holds[routine.holders] = True
    return float((holds & won).sum() / won.sum())
