"""``xskill.mine`` in Python: trajectories → X-Tree, with the options of ``xskill mine``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Unpack

from xskill.bounds import bounded, spelled_out
from xskill.mine.mining import mine as mine_stream
from xskill.mine.rules import RuleOptions
from xskill.records import Trajectory
from xskill.streams.run import PythonRun
from xskill.streams.streams_face import counted
from xskill.tree.xtree import XTree


@spelled_out(RuleOptions)
@bounded(permutations=(0, None), bootstrap=(0, None), seed=(0, None), jobs=(1, None))
def mine(
    trajectories: Iterable[Trajectory],
    *,
    preset: str | None = None,
    stratify: str | None = None,
    permutations: int = 0,
    bootstrap: int = 0,
    auto: bool = False,
    resumable: bool = False,
    resume: XTree | None = None,
    seed: int = 0,
    jobs: int | None = None,
    engine: Literal["local", "ray"] = "local",
    name: str | None = None,
    **rules: Unpack[RuleOptions],
) -> XTree:
    """Mine the X-Tree of routines that trajectories share (arXiv 2609.32993).

    The tree depends on the set of trajectories alone, never on their order. A branch counts the steps that it
    generated itself; without its parent among the trajectories it counts whole. Association with success is
    descriptive unless ``permutations``.

    Example::

        routines = mine.mine(canon.read("logs/run.jsonl"), min_frequency=3)
        tree.save(routines, "tree.jsonl")

    Args:
        trajectories: of any outcome.
        preset: released settings to begin with: webarena, scienceworld, webshop or miniwob.
        outcome: success, or failure: mine lessons.
        p_length: exponent of a routine's length in the score (1).
        p_success: exponent of its success share in the score (1).
        epsilon: added to the success share before the power (0).
        eta: a merge must save more than so many steps an action that it holds (0.5).
        min_frequency: least occurrences of a pair that merges (5).
        max_length: longest routine, in actions (8).
        max_skills: most nodes of the tree (256).
        min_success_rate: least success share of a pair that merges (0).
        min_families: least distinct task types that hold the pair (1).
        self_pairs: whether ``a a a`` holds (a, a) twice (overlapping) or once (disjoint).
        successes_only: count and merge by successes alone.
        stratify: test association within env, task_type, question_id or length, or none; None is env when there are
            several.
        permutations: mine so many times on shuffled outcomes too, for an honest ``p_adjusted``.
        bootstrap: mine so many resamples of the episodes too, for the ``stability`` of each node.
        auto: choose ``eta``, ``min_frequency`` and ``p_success`` (those not given) on held-out tasks.
        resumable: keep in the header what a later ``resume`` needs.
        resume: a tree of earlier trajectories, to go on with; ``trajectories`` are then the new ones alone.
        seed: of everything random.
        jobs: processes for the repeated runs; None is one, on a Ray cluster all.
        engine: where these run; the tree is the same.
        name: of the corpus, for the header.

    Raises:
        NoSuccess: no episode has the outcome that is mined.
        NoRecord: there is no trajectory.
        UsageError: a value out of range, or an option that ``resume`` cannot follow.
    """
    run = PythonRun("mine")
    return mine_stream(
        counted(trajectories, run),
        preset=preset,
        stratify=stratify,
        permutations=permutations,
        bootstrap=bootstrap,
        auto=auto,
        resumable=resumable,
        resume=resume,
        seed=seed,
        jobs=jobs,
        engine=engine,
        name=name,
        run=run,
        **rules,
    )
