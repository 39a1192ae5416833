"""Trajectories into flat arrays: slim records, or Parquet columns, step after step."""

from __future__ import annotations

import struct
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from xskill.array_types import Ints64
from xskill.errors import BadRecord
from xskill.records import decode
from xskill.records.question_codes import QuestionCodes
from xskill.rollouts.arrays import NO_PARENT, ORPHAN, STEP_NUMBERS, Rollouts, assemble

Count = Annotated[int, msgspec.Meta(ge=1, le=2**31)]
Label = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
Index = Annotated[int, msgspec.Meta(ge=0)]
NAN = float("nan")


class StepExtra(msgspec.Struct, frozen=True, gc=False):
    """The one free field of a step that credit reads."""

    mask: list[bool | int] | None = None
    """One entry a token of the log-probability lists; a token with 0 is left out of sums and counts."""


class RolloutStep(msgspec.Struct, frozen=True, gc=False):
    """The part of a step that credit reads. Its defaults are numbers, so that a column of them is an array at once."""

    action: str
    observation: str | None = None
    turn: Label | None = -1
    reward: float | None = NAN
    logprob: float | None = NAN
    logprob_new: float | None = NAN
    n_tokens: Count | None = 1


class TokenStep(msgspec.Struct, frozen=True):
    """The same when log-probabilities may come token by token."""

    action: str
    observation: str | None = None
    turn: Label | None = None
    reward: float | None = None
    logprob: float | list[float] | None = None
    logprob_new: float | list[float] | None = None
    n_tokens: Count | None = None
    extra: StepExtra | None = None


class RolloutParent(msgspec.Struct, frozen=True, gc=False):
    """Parent link of a branch."""

    id: str
    turn: Index


class Rollout(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="xskill.trajectory/1", gc=False):
    """The part of a trajectory that rollout trees and credit read; all other fields are skipped unbuilt."""

    id: str
    question_id: str
    steps: list[RolloutStep]
    reward: float | None = None
    success: bool | None = None
    env: str | None = None
    task: str | None = None
    initial_observation: str | None = None
    parent: RolloutParent | None = None
    credits: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """There when the trajectory was credited before."""


class TokenRollout(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="xskill.trajectory/1"):
    """The same when log-probabilities may come token by token."""

    id: str
    question_id: str
    steps: list[TokenStep]
    reward: float | None = None
    success: bool | None = None
    env: str | None = None
    task: str | None = None
    initial_observation: str | None = None
    parent: RolloutParent | None = None
    credits: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """There when the trajectory was credited before."""


_decode_sums = msgspec.json.Decoder(Rollout).decode


def decode_rollout(line: bytes) -> Rollout:
    """Read one line; token lists become sums.

    Raises:
        BadRecord: as :func:`xskill.records.decode`.
    """
    try:
        return _decode_sums(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return sum_tokens(decode(line, TokenRollout))


def sum_tokens(record: TokenRollout) -> Rollout:
    """A record with the sums of its token lists, the masked tokens left out."""
    steps = [_sum_step(step, i) for i, step in enumerate(record.steps)]
    rest = {name: getattr(record, name) for name in record.__struct_fields__ if name != "steps"}
    return Rollout(steps=steps, **rest)


def _sum_step(step: TokenStep, index: int) -> RolloutStep:
    mask = step.extra.mask if step.extra else None
    sums: list[float | None] = []
    n_tokens, length = step.n_tokens, None
    for name, value in (("logprob", step.logprob), ("logprob_new", step.logprob_new)):
        if not isinstance(value, list):
            sums.append(value)
            continue
        if length not in (None, len(value)):
            raise BadRecord(f"expected {length} entries, one a token, got {len(value)}", path=f"steps[{index}].{name}")
        length = len(value)
        if mask is not None and len(mask) != length:
            raise BadRecord(f"expected {length} entries, got {len(mask)}", path=f"steps[{index}].extra.mask")
        chosen = value if mask is None else [x for x, kept in zip(value, mask, strict=True) if kept]
        sums.append(sum(chosen) if chosen else None)
        n_tokens = len(chosen) or None
    return RolloutStep(step.action, step.observation, step.turn, step.reward, sums[0], sums[1], n_tokens)


_WAITING = 2000
"""Steps that wait to be taken together: enough to share the cost of a call, few enough for the cache."""


class Gather:
    """Collects trajectories.

    Args:
        reward_from: what counts as a trajectory's reward: its ``reward``, or its ``success`` as 0 or 1.
        hold_texts: hold the texts of all steps, for those that show or compare them. Without, a question's texts
            are forgotten when the next one begins, and it must not come again.
    """

    def __init__(self, *, reward_from: Literal["reward", "success"] = "reward", hold_texts: bool = True) -> None:
        self.reward_from = reward_from
        self._hold_texts = hold_texts
        self._heads: list[tuple[str, int, float | None, str | None, int, tuple[str, int]]] = []
        self._parents: dict[int, tuple[str, int]] = {}
        self._questions = QuestionCodes()
        self._seen: list[dict[str, int]] = []
        self._actions: list[dict[str, int]] = []
        self._observations: list[dict[str | None, int]] = []
        self._action = bytearray()
        self._observation = bytearray()
        self._numbers = {name: bytearray() for name in STEP_NUMBERS}
        self._pending: list[RolloutStep] = []
        self._current = -1

    def add(self, record: Rollout, place: tuple[str, int] = ("-", 0)) -> None:
        """Take one trajectory.

        Raises:
            BadRecord: an id twice in one question; a question that came before, when texts are not held.
        """
        reward = record.reward if self.reward_from == "reward" else record.success
        parent = (record.parent.id, record.parent.turn) if record.parent is not None else None
        steps = record.steps
        question = record.question_id, record.env, record.task
        self.add_head(record.id, question, reward, parent, record.initial_observation, len(steps), place)
        self._pending += steps

    def flush(self) -> None:
        """Take the steps that wait: those of one question, while they are warm in the cache, a column at a time."""
        steps = self._pending
        if not steps:
            return
        self.add_texts([step.action for step in steps], [step.observation for step in steps])
        self._add("turn", [step.turn for step in steps])
        self._add("reward", [step.reward for step in steps])
        self._add("logprob", [step.logprob for step in steps])
        self._add("logprob_new", [step.logprob_new for step in steps])
        self._add("n_tokens", [step.n_tokens for step in steps])
        self._pending = []

    def _add(self, name: str, values: list[Any]) -> None:
        # Packed doubles are the bytes of the later array, and hold eight bytes a number where a list holds 32. A null
        # that is written out is seldom: it is looked for only once packing has failed.
        form = f"{len(values)}d"
        try:
            self._numbers[name] += struct.pack(form, *values)
        except struct.error:
            null = STEP_NUMBERS[name]
            self._numbers[name] += struct.pack(form, *(null if value is None else value for value in values))

    def add_texts(self, actions: list[str], observations: list[str | None]) -> None:
        """Intern the texts of the next steps of the last head's question (a table a question is small, so fast)."""
        # The code of a text is the number of the first step that has it, so ``setdefault`` with the step's own number
        # both finds and enters it. Eight bytes stand for each step, hence the number of the next one.
        first = len(self._action) // 8
        steps = range(first, first + len(actions))
        form = f"{len(actions)}q"
        self._action += struct.pack(form, *map(self._actions[self._current].setdefault, actions, steps))
        self._observation += struct.pack(form, *map(self._observations[self._current].setdefault, observations, steps))

    def add_head(
        self,
        name: str,
        identity: tuple[str, str | None, str | None],
        reward: float | None,
        parent: tuple[str, int] | None,
        initial: str | None,
        n_steps: int,
        place: tuple[str, int],
    ) -> None:
        """Take what is not in the steps of one trajectory; they follow. ``identity``: question_id, env and task."""
        # Steps wait for the end of their question, since the tables of texts are those of one question. A long one is
        # taken in between, so that its records are still in the cache.
        question = self._questions.code(*identity)
        if question != self._current or len(self._pending) > _WAITING:
            self.flush()
            if question != self._current:
                self._begin(question)
        index = len(self._heads)
        if self._seen[question].setdefault(name, index) != index:
            raise BadRecord(f"the id {name!r} occurs twice in question {identity[0]!r}", path="id")
        self._heads.append((name, question, reward, initial, n_steps, place))
        if parent is not None:
            self._parents[index] = parent

    def _begin(self, question: int) -> None:
        """Make ``question`` the current one."""
        # Codes stay valid when the texts are forgotten. But a question that came again would give its texts new codes.
        if not self._hold_texts and self._current >= 0:
            if question < len(self._seen):
                raise BadRecord("a question in two parts", path="question_id")
            self._actions[self._current], self._observations[self._current] = {}, {}
        self._current = question
        if question == len(self._seen):
            self._seen.append({})
            self._actions.append({})
            self._observations.append({})

    def add_numbers(self, numbers: dict[str, NDArray[np.float64]]) -> None:
        """Take the numbers of the last heads' steps as columns, null replaced by what it means."""
        for name in STEP_NUMBERS:
            self._numbers[name] += numbers[name].tobytes()

    def finish(self) -> Rollouts:
        """The arrays of everything taken."""
        self.flush()
        ids, questions, rewards, initial, sizes, place = zip(*self._heads, strict=True) if self._heads else [()] * 6
        # ``frombuffer`` takes the packed bytes as they are: there is no copy of what the steps hold.
        question = np.asarray(questions, np.int64)
        return assemble(
            ids=list(ids),
            questions=self._questions.names,
            actions=self._actions,
            observations=self._observations,
            initial=list(initial),
            place=list(place),
            question=question,
            reward=np.asarray(rewards, np.float64),
            links=self._find_parents(question),
            n_steps=np.asarray(sizes, np.int64),
            step_action=np.frombuffer(self._action, np.int64),
            step_observation=np.frombuffer(self._observation, np.int64),
            numbers={name: np.frombuffer(self._numbers[name]) for name in STEP_NUMBERS},
        )

    def _find_parents(self, question: Ints64) -> tuple[Ints64, Ints64]:
        # Only now: a parent may stand behind its branches. The loop is over the branches alone.
        parent = np.full(len(question), NO_PARENT, np.int64)
        turn = np.zeros(len(question), np.int64)
        for i, (name, first) in self._parents.items():
            parent[i] = self._seen[question[i]].get(name, ORPHAN)
            turn[i] = first
        return parent, turn
