"""Trajectories as arrays: mine's coded corpus, and beside it what lessons need (raw actions, repeats, texts)."""

from __future__ import annotations

import contextlib
import gc
import operator
from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from xskill.bank.splits import check_split
from xskill.mine.corpus import Corpus, encode_episodes, own_start
from xskill.records import Episode, Trajectory

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

ALL_COUNTED = 2_000
EVERY = 16
ALL_RAW = 20_000
FEW_RAW = 4


@dataclass(frozen=True, slots=True)
class Experience:
    """Episodes in the order of their ids; of a branch the part that it generated itself."""

    corpus: Corpus
    raw: Ints
    """[steps] code of the raw action text; -1 where the input has none, and beyond 20,000 episodes in 3 of 4."""
    raw_actions: tuple[str, ...]
    unanswered: Bools
    """[steps] the action of the step before, once more, with the same observation: a turn that changed nothing."""
    questions: tuple[str, ...]
    """[episodes] question id, else the episode's id: what a gate must not be run on."""
    tasks: tuple[str | None, ...]
    splits: tuple[str, ...]
    """Splits that occur, sorted; ``none`` for episodes without one."""
    characters: int
    """Length of all raw text (task, thoughts, actions, observations); beyond 2,000 episodes 16 times every 16th."""

    @property
    def n_episodes(self) -> int:
        return self.corpus.n_episodes

    @property
    def episode_of(self) -> Ints:
        """[steps] index of the episode."""
        return np.repeat(np.arange(self.n_episodes, dtype=np.int32), self.corpus.lengths)


class _Codes(dict[str, int]):
    def __missing__(self, text: str) -> int:
        code = self[text] = len(self)
        return code


class _Notes:
    """Collects what mine's coding leaves out, in the order of reading."""

    def __init__(self, allowed: Collection[str]) -> None:
        self.allowed = allowed
        self.codes = _Codes()
        self.raw = array("i")
        self.answers = array("q")
        """Hash of each observation; 0 for none, and where no action is repeated."""
        self.sizes: list[int] = []
        self.ids: list[str] = []
        self.questions: list[str] = []
        self.tasks: list[str | None] = []
        self.splits: set[str] = set()
        self.characters = 0
        self._contents: dict[str, set[int]] = {}

    def episodes(self, records: Iterable[Trajectory]) -> Iterator[Episode]:
        """Pass the records on, one that came twice under a unique id; an equal one that came before is left out."""
        for record in records:
            check_split(record, self.allowed)
            content = hash((record.success, tuple(record.actions), record.question_id, record.task_type))
            seen = self._contents.setdefault(record.id, set())
            if content in seen:
                continue
            if seen:
                record = msgspec.structs.replace(record, id=f"{record.id}\0{len(seen)}")
            seen.add(content)
            self._note(record, min(own_start(record), len(record.actions)))  # type: ignore[arg-type]
            self.ids.append(record.id)
            yield record  # type: ignore[misc]  # it has all that an Episode has

    def _note(self, record: Trajectory, first: int) -> None:
        n = len(record.actions) - first
        self.sizes.append(n)
        self.questions.append(record.question_id if record.question_id is not None else record.id)
        self.tasks.append(record.task)
        self.splits.add(record.split or "none")
        weight = 1 if len(self.sizes) <= ALL_COUNTED else EVERY if len(self.sizes) % EVERY == 0 else 0
        if weight:
            self.characters += weight * (len(record.task or "") + len(record.initial_observation or ""))
        if not record.steps:
            self.raw.extend([-1] * n)
            self.answers.extend([0] * n)
            return
        steps = record.steps[first:] if first else record.steps
        number = len(self.sizes)
        if number <= ALL_RAW or number % FEW_RAW == 0:
            known = self.codes
            self.raw.extend([known[step.action] for step in steps])
        else:
            self.raw.extend([-1] * n)
        tokens = record.actions
        if any(map(operator.eq, tokens, tokens[1:])):  # the answers matter only where an action may come twice in a row
            self.answers.extend([hash(step.observation) if step.observation else 0 for step in steps])
        else:
            self.answers.frombytes(bytes(8 * n))
        if weight:
            texts = [text for step in steps for text in (step.action, step.observation, step.thought) if text]
            self.characters += weight * sum(map(len, texts))


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Records come and go by reference counts alone; looking for cycles among millions of them is wasted time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def read_experience(records: Iterable[Trajectory], allowed_splits: Collection[str] = ()) -> Experience:
    """Code all records.

    Raises:
        HeldOut: an episode of the validation or test split that is not allowed by name.
        BadData: as :func:`xskill.mine.corpus.encode_episodes`.
    """
    notes = _Notes(allowed_splits)
    with _no_collection():
        corpus = encode_episodes(notes.episodes(records))
    order = sorted(range(len(notes.ids)), key=notes.ids.__getitem__)
    raw = np.frombuffer(notes.raw, np.intc).astype(np.int32)
    answers = np.frombuffer(notes.answers, np.int64)
    if order != list(range(len(order))):
        where = _permuted(np.asarray(notes.sizes, dtype=np.int64), np.asarray(order, dtype=np.intp))
        raw, answers = raw[where], answers[where]
    # Raw texts are numbered as they came; sorted numbers make ties between templates independent of the order.
    names = sorted(notes.codes)
    rank = np.empty(len(names) + 1, np.int32)
    rank[[notes.codes[name] for name in names]] = np.arange(len(names), dtype=np.int32)
    rank[-1] = -1
    return Experience(
        corpus=corpus,
        raw=rank[raw],
        raw_actions=tuple(names),
        unanswered=_repeated(corpus, answers),
        questions=tuple(notes.questions[index] for index in order),
        tasks=tuple(notes.tasks[index] for index in order),
        splits=tuple(sorted(notes.splits)),
        characters=notes.characters,
    )


def _repeated(corpus: Corpus, answers: npt.NDArray[np.int64]) -> Bools:
    """Steps whose action and answer are those of the step before, in the same episode."""
    steps = corpus.steps
    repeated = np.zeros(len(steps), bool)
    repeated[1:] = (steps[1:] == steps[:-1]) & (answers[1:] == answers[:-1]) & (answers[1:] != 0)
    repeated[corpus.starts[:-1][corpus.lengths > 0]] = False
    return repeated


def _permuted(sizes: npt.NDArray[np.int64], order: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Indices that put the steps of the episodes into another order of episodes."""
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    lengths = sizes[order]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    where: npt.NDArray[np.int64] = np.repeat(starts[order] - ends[:-1], lengths) + np.arange(ends[-1])
    return where
