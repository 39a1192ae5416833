"""An episode while it grows: its prefix, its straight completion, and the record in the end.

A sampler is a generator: it yields requests, is sent their answers, and returns trajectories. It never
touches a process or a clock, so what it does depends on the answers and the seed alone.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from xskill.records import Parent, Step, Trajectory, turns
from xskill.sampling.protocol import Answer, Begun, Finish, Finished, Request, Task
from xskill.sampling.seeds import seed_for

Sampler = Generator[Request, Answer, list[Trajectory]]

RECORD = "rollout"
"""Key in a trajectory's ``extra`` of how it was sampled."""


@dataclass(frozen=True, slots=True)
class Question:
    """A task whose environment was reset."""

    task: Task
    begun: Begun
    seed: int
    max_turns: int
    """Longest episode."""
    skills: list[dict[str, Any]]
    """Retrieved skills, as records; the policy keeps them in its prompt."""
    config: dict[str, Any]
    """Every choice of the sampler, for the record."""

    @property
    def id(self) -> str:
        return self.task.id

    def start(self) -> Prefix:
        """The episode before its first turn."""
        return Prefix(steps=(), starts=(), done=self.begun.done, reset_reward=self.begun.reward)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first turns of an episode, or all of them."""

    steps: tuple[Step, ...]
    starts: tuple[int, ...]
    """Index of each turn's first step."""
    done: bool = False
    success: bool | None = None
    outcome: float | None = None
    """Told by the worker as a whole; null = the sum of the rewards."""
    reset_reward: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    """What finish answers held beside the contract; goes to the trajectory's ``extra``."""

    @property
    def n_turns(self) -> int:
        return len(self.starts)

    @property
    def actions(self) -> list[str]:
        return [step.action for step in self.steps]

    @property
    def reward(self) -> float | None:
        """Outcome so far, to 12 decimals, so that what was given in parts and taken back is 0; null when untold."""
        if self.outcome is not None:
            return self.outcome
        rewards = [step.reward for step in self.steps if step.reward is not None]
        if self.reset_reward is not None:
            rewards.insert(0, self.reset_reward)
        return round(math.fsum(rewards), 12) + 0.0 if rewards else None

    def then(
        self,
        steps: Sequence[Step],
        *,
        done: bool,
        success: bool | None = None,
        outcome: float | None = None,
        extra: dict[str, Any] | None = None,
    ) -> Prefix:
        """This prefix with further turns; a new call begins a new turn."""
        first = len(self.steps)
        starts, last = list(self.starts), -1
        for position, turn in enumerate(turns(list(steps))):
            if turn != last:
                starts.append(first + position)
            last = turn
        return replace(
            self,
            steps=(*self.steps, *steps),
            starts=tuple(starts),
            done=done,
            success=success,
            outcome=outcome,
            extra=self.extra | (extra or {}),
        )

    def first(self, n_turns: int) -> Prefix:
        """The first ``n_turns`` turns, fewer than there are."""
        return Prefix(self.steps[: self.starts[n_turns]], self.starts[:n_turns], reset_reward=self.reset_reward)


def complete(question: Question, prefix: Prefix, seed: int) -> Generator[Request, Answer, Prefix]:
    """One straight completion by the policy, up to the end or the longest episode."""
    while not prefix.done and prefix.n_turns < question.max_turns:
        answer = yield Finish(
            id=question.id,
            prefix=prefix.actions,
            max_turns=question.max_turns - prefix.n_turns,
            skills=question.skills,
            seed=seed,
        )
        assert isinstance(answer, Finished)
        prefix = prefix.then(
            answer.steps, done=answer.done, success=answer.success, outcome=answer.reward, extra=answer.extra
        )
    return prefix


def completion_seed(question: Question, *what: str | int) -> int:
    """Seed of the completion that ``what`` names."""
    return seed_for(question.seed, question.id, "finish", *what)


def to_trajectory(
    question: Question, name: str, prefix: Prefix, *, parent: Parent | None = None, **sampled: Any
) -> Trajectory:
    """The record of a whole episode. Its ``actions`` are still the raw texts (:mod:`xskill.sampling.canonical_names`).

    Args:
        name: its id.
        prefix: all its turns.
        parent: the episode that it branched from.
        sampled: what is to be known of this episode beside the sampler's choices.
    """
    task, begun, reward = question.task, question.begun, prefix.reward
    success = prefix.success
    if success is None and reward in (0.0, 1.0):
        success = reward == 1.0
    how = question.config | sampled
    if not prefix.done:
        how["truncated"] = True
    return Trajectory(
        id=name,
        question_id=question.id,
        task=begun.task if begun.task is not None else task.task,
        task_type=begun.task_type if begun.task_type is not None else task.task_type,
        env=begun.env if begun.env is not None else task.env,
        split=task.split,
        initial_observation=begun.observation,
        success=success,
        reward=reward,
        actions=prefix.actions,
        steps=_numbered(prefix),
        parent=parent,
        extra={**task.extra, **begun.extra, **prefix.extra, RECORD: how},
    )


def sealed(trajectories: list[Trajectory], *, beside: int = 0) -> list[Trajectory]:
    """The same with the number of the question's episodes (``beside`` others included), so that a cut file shows."""
    leaves = len(trajectories) + beside
    return [
        msgspec.structs.replace(
            trajectory, extra={**trajectory.extra, RECORD: {**trajectory.extra[RECORD], "leaves": leaves}}
        )
        for trajectory in trajectories
    ]


def _numbered(prefix: Prefix) -> list[Step]:
    """Its steps with their turn; a turn of one step each is the default and needs no number."""
    if len(prefix.starts) == len(prefix.steps):
        return [step if step.turn is None else msgspec.structs.replace(step, turn=None) for step in prefix.steps]
    numbers: list[int] = []
    for turn, start in enumerate(prefix.starts):
        stop = prefix.starts[turn + 1] if turn + 1 < prefix.n_turns else len(prefix.steps)
        numbers += [turn] * (stop - start)
    return [msgspec.structs.replace(step, turn=turn) for step, turn in zip(prefix.steps, numbers, strict=True)]
