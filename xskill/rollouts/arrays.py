"""Rollouts as flat arrays: what the trie, the credit and the checks read, without an object a turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xskill.array_types import Floats, Ints64

STEP_NUMBERS = {"turn": -1.0, "reward": np.nan, "logprob": np.nan, "logprob_new": np.nan, "n_tokens": 1.0}
"""Number of a step → what null means."""
NO_PARENT = -1
ORPHAN = -2
"""``Rollouts.parent`` of a branch whose parent is not in the input."""
ROUNDING = 1e-3
"""Log-probabilities of sure tokens may come out a little above 0."""


@dataclass(frozen=True, slots=True)
class Rollouts:
    """n trajectories with S steps in T turns, as flat arrays."""

    ids: list[str]
    questions: list[str]
    """Their ids; two questions (environments, task texts) may share one."""
    actions: list[dict[str, int]]
    """Of each question: text of an action → its code, which is the first step that has it. Empty if not held."""
    observations: list[dict[str | None, int]]
    initial: list[str | None]
    """[n] observation before the first action."""
    question: Ints64
    """[n] code of the question."""
    reward: Floats
    """[n] NaN = unfinished."""
    parent: Ints64
    """[n] index of the parent trajectory, :data:`NO_PARENT` or :data:`ORPHAN`."""
    parent_turn: Ints64
    """[n] first turn that the trajectory generated itself (0 without a parent)."""
    step_start: Ints64
    """[n + 1] first step of each trajectory."""
    turn_start: Ints64
    """[n + 1] first turn of each trajectory."""
    trajectory: Ints64
    """[T] trajectory of each turn."""
    position: Ints64
    """[T] index of the turn in its trajectory."""
    generated: NDArray[np.bool_]
    """[T] whether the trajectory generated the turn itself (it did not copy it as a prefix)."""
    turn_of_step: Ints64
    """[S]"""
    first_step: Ints64
    """[T]"""
    step_action: Ints64
    """[S] codes of texts are compared within a question only."""
    step_observation: Ints64
    """[S]"""
    action: Ints64
    """[T] code of the turn's actions."""
    observation: Ints64
    """[T] code of what came back."""
    logprob: Floats
    """[T] sum over the turn's action tokens; NaN = unknown."""
    logprob_new: Floats
    n_tokens: Ints64
    step_reward: Floats
    """[T] sum of the turn's step rewards, 0 where none is given."""
    place: list[tuple[str, int]]
    """[n] input and line of each trajectory."""

    @property
    def n(self) -> int:
        """Number of trajectories."""
        return len(self.ids)

    @property
    def shared_ids(self) -> int:
        """Number of question ids that name several questions: other environments, or other task texts."""
        return sum(n > 1 for n in Counter(self.questions).values())

    @property
    def n_turns(self) -> int:
        """Number of turns, copies included."""
        return len(self.first_step)

    @property
    def lengths(self) -> Ints64:
        """[n] turns of each trajectory."""
        return np.diff(self.turn_start)

    def steps_of(self, turn: int) -> slice:
        """The steps of a turn."""
        stop = self.first_step[turn + 1] if turn + 1 < self.n_turns else len(self.turn_of_step)
        return slice(int(self.first_step[turn]), int(stop))

    @property
    def positive_logprobs(self) -> int:
        """Turns with a log-probability above 0, by more than rounding explains: none has a probability above 1."""
        return int(((self.logprob > ROUNDING) | (self.logprob_new > ROUNDING)).sum())

    def select(self, keep: NDArray[np.bool_]) -> Rollouts:
        """The trajectories with ``keep``; branches of the others become orphans."""
        steps = np.repeat(keep, np.diff(self.step_start))
        turns = np.repeat(keep, self.lengths)
        index = np.where(keep, np.cumsum(keep) - 1, ORPHAN)
        turn_of_step = np.cumsum(np.diff(self.turn_of_step[steps], prepend=-1) != 0) - 1
        by_turn = ("action", "observation", "logprob", "logprob_new", "n_tokens", "step_reward")
        turn_start, parent_turn = starts(self.lengths[keep]), self.parent_turn[keep]
        trajectory, position, generated = places(turn_start, parent_turn)
        return Rollouts(
            ids=list(compress(self.ids, keep)),
            questions=self.questions,
            actions=self.actions,
            observations=self.observations,
            initial=list(compress(self.initial, keep)),
            question=self.question[keep],
            reward=self.reward[keep],
            parent=np.where(self.parent >= 0, index[np.maximum(self.parent, 0)], self.parent)[keep],
            parent_turn=parent_turn,
            step_start=starts(np.diff(self.step_start)[keep]),
            turn_start=turn_start,
            trajectory=trajectory,
            position=position,
            generated=generated,
            turn_of_step=turn_of_step,
            first_step=np.flatnonzero(np.diff(turn_of_step, prepend=-1)),
            step_action=self.step_action[steps],
            step_observation=self.step_observation[steps],
            place=list(compress(self.place, keep)),
            **{name: getattr(self, name)[turns] for name in by_turn},
        )


def assemble(
    *,
    ids: list[str],
    questions: list[str],
    actions: list[dict[str, int]],
    observations: list[dict[str | None, int]],
    initial: list[str | None],
    place: list[tuple[str, int]],
    question: Ints64,
    reward: Floats,
    links: tuple[Ints64, Ints64],
    n_steps: Ints64,
    step_action: Ints64,
    step_observation: Ints64,
    numbers: Mapping[str, Floats],
) -> Rollouts:
    """Rollouts from what is given step by step: consecutive steps with one ``turn`` number are a turn.

    Args:
        links: ``parent`` and ``parent_turn``.
        n_steps: [n] steps of each trajectory.
        numbers: [S] under the names of :data:`STEP_NUMBERS`, null replaced by what it means.
        ids, questions, actions, observations, initial, place, question, reward, step_action, step_observation: see
            :class:`Rollouts`.
    """
    turn, step_reward = numbers["turn"], numbers["reward"]
    step_start = starts(n_steps)
    opens = np.ones(len(turn), bool)
    opens[1:] = (turn[1:] != turn[:-1]) | (turn[1:] == -1)
    opens[step_start[:-1][n_steps > 0]] = True
    turn_of_step = np.cumsum(opens) - 1
    first = np.flatnonzero(opens)
    single = len(first) == len(turn)
    logprob, logprob_new, n_tokens = (
        x if single else x[first] for x in (numbers[name] for name in ("logprob", "logprob_new", "n_tokens"))
    )
    known = ~np.isnan(step_reward)
    parent, parent_turn = links
    turn_start = np.searchsorted(first, step_start)
    trajectory, position, generated = places(turn_start, parent_turn)
    return Rollouts(
        ids=ids,
        questions=questions,
        actions=actions,
        observations=observations,
        initial=initial,
        step_action=step_action,
        step_observation=step_observation,
        action=turn_codes(step_action, first),
        observation=turn_codes(step_observation, first),
        question=question,
        reward=reward,
        parent=parent,
        parent_turn=parent_turn,
        step_start=step_start,
        turn_start=turn_start,
        trajectory=trajectory,
        position=position,
        generated=generated,
        turn_of_step=turn_of_step,
        first_step=first,
        logprob=logprob,
        logprob_new=logprob_new,
        n_tokens=n_tokens.astype(np.int64),
        step_reward=np.bincount(turn_of_step[known], step_reward[known], len(first)).astype(np.float64),
        place=place,
    )


def texts_of(tables: Sequence[dict[Any, int]], codes: Ints64) -> list[Any]:
    """The text of each code, given the tables of all questions."""
    wanted = set(codes.tolist())
    found = {code: text for table in tables for text, code in table.items() if code in wanted}
    return [found[code] for code in codes.tolist()]


def turn_codes(step_code: Ints64, first_step: Ints64) -> Ints64:
    """[T] code of each turn's tuple of step codes; that of a turn with one step is the step's own."""
    if len(first_step) == len(step_code):
        return step_code
    code = step_code[first_step]
    stops = np.append(first_step[1:], len(step_code))
    several = np.flatnonzero(stops > first_step + 1)
    above = int(step_code.max()) + 1  # the tuple of several steps never equals a single one
    table: dict[bytes, int] = {}
    for turn, start, stop in zip(several.tolist(), first_step[several].tolist(), stops[several].tolist(), strict=True):
        code[turn] = above + table.setdefault(step_code[start:stop].tobytes(), len(table))
    return code


def starts(counts: Ints64) -> Ints64:
    """[n + 1] where each run of ``counts`` begins, and the end."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def places(turn_start: Ints64, parent_turn: Ints64) -> tuple[Ints64, Ints64, NDArray[np.bool_]]:
    """``trajectory``, ``position`` and ``generated`` of :class:`Rollouts`."""
    lengths = np.diff(turn_start)
    position = np.arange(turn_start[-1]) - np.repeat(turn_start[:-1], lengths)
    return np.repeat(np.arange(len(lengths)), lengths), position, position >= np.repeat(parent_turn, lengths)
