"""Initialize-then-expand (TreeOPSD, arXiv 2610.23181; docs/methods/tree-opsd.md).

N complete episodes of a question, then from each of them B continuations, each from a turn drawn uniformly from
those that were visited. N(1 + B) leaves. For episodes of T turns the expected cost is N + N*B*(1 + 1/T)/2 full
rollouts.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from xskill.errors import BadRecord
from xskill.records import Parent, Trajectory
from xskill.sampling.growing_episode import Prefix, Question, Sampler, complete, completion_seed, sealed, to_trajectory
from xskill.sampling.protocol import Answer, Request
from xskill.sampling.seeds import generator

Base = tuple[Trajectory, Prefix]
"""An episode to branch from, as record and as turns."""


def expand(question: Question, initial: int, branches: int) -> Sampler:
    """Sample ``initial`` episodes and then ``branches`` continuations of each, in this order."""
    bases: list[Base] = []
    for number in range(initial):
        prefix = yield from complete(question, question.start(), completion_seed(question, number))
        bases.append((to_trajectory(question, f"{question.id}/{number}", prefix), prefix))
    grown = yield from _branch(question, bases, branches)
    return sealed([trajectory for trajectory, _ in bases] + grown)


def expand_given(question: Question, given: Sequence[Trajectory], branches: int) -> Sampler:
    """Pass the ``given`` episodes of the question on, and sample ``branches`` continuations of each.

    Raises:
        BadRecord: a given episode without its steps.
    """
    grown = yield from _branch(question, [(trajectory, _as_prefix(trajectory)) for trajectory in given], branches)
    return [*given, *sealed(grown, beside=len(given))]


def _branch(question: Question, bases: Sequence[Base], branches: int) -> Generator[Request, Answer, list[Trajectory]]:
    """Continuations of each base. An episode without a turn has none."""
    taken = {trajectory.id for trajectory, _ in bases}
    grown: list[Trajectory] = []
    for base, prefix in bases:
        if prefix.n_turns == 0:
            continue
        forks = generator(question.seed, question.id, "fork", base.id).integers(prefix.n_turns, size=branches)
        number = 0
        for turn in forks.tolist():
            while f"{base.id}.{number}" in taken:  # given episodes may be an earlier run's, branches and all
                number += 1
            name = f"{base.id}.{number}"
            taken.add(name)
            branch = yield from complete(question, prefix.first(turn), completion_seed(question, name))
            start = prefix.starts[turn]
            parent = Parent(id=base.id, turn=turn, step=start if start != turn else None)
            grown.append(to_trajectory(question, name, branch, parent=parent))
    return grown


def _as_prefix(trajectory: Trajectory) -> Prefix:
    if trajectory.steps is None:
        raise BadRecord("only an episode with its steps can be branched from", path="steps")
    return Prefix(steps=(), starts=()).then(trajectory.steps, done=True)
