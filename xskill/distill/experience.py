"""Trajectories as arrays: mine's coded corpus, and beside it what lessons need (raw actions, repeats, texts)."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from xskill.array_types import Bools, Ints32
from xskill.bank.splits import check_split
from xskill.mine.corpus import CodedCorpus, encode_episodes, own_start
from xskill.records import Step, Trajectory

ALL_COUNTED = 2_000
EVERY = 16
ALL_RAW = 10_000
FEW_RAW = 8

_NO_RAW = array("i", [-1]).tobytes()
_UNSEEN = hash(None)
_action = operator.attrgetter("action")
_observation = operator.attrgetter("observation")


@dataclass(frozen=True, slots=True)
class Experience:
    """Episodes in the order of their ids; of a branch the part that it generated itself."""

    corpus: CodedCorpus
    episode_of: Ints32
    """[steps] index of the episode."""
    tokens: Ints32
    """[steps] canonical token, an index into ``corpus.tokens``."""
    raw: Ints32
    """[steps] code of the raw action text; -1 where the input has none, and beyond 10,000 episodes in 7 of 8."""
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


class _TextCodes(dict[str, int]):
    def __missing__(self, text: str) -> int:
        code = self[text] = len(self)
        return code


class _Notes:
    """Collects what mine's coding leaves out, in the order of reading."""

    def __init__(self, allowed: Collection[str]) -> None:
        self.allowed = allowed
        self.codes = _TextCodes()
        self.raw = array("i")
        self.actions = array("i")
        """Codes of the actions, as mine numbers them."""
        self.answers = array("q")
        """Hash of each observation, ``_UNSEEN`` for none; 0 where no action is repeated."""
        self.sizes: list[int] = []
        self.ids: list[str] = []
        self.tasks: list[str | None] = []
        self.splits: set[str] = set()
        self.characters = array("q")
        """Length of the text of each episode, times what it counts."""
        self.times: dict[str, int] = {}
        """Id → how often it came."""

    def episodes(self, records: Iterable[Trajectory]) -> Iterator[Trajectory]:
        """Pass the records on, each under an id of its own."""
        times = self.times
        for record in records:
            check_split(record, self.allowed)
            before = times.get(record.id, 0)
            times[record.id] = before + 1
            if before:
                record = msgspec.structs.replace(record, id=f"{record.id}\0{before}")
            first = 0 if record.parent is None else min(own_start(record), len(record.actions))
            steps = self._note(record, first)
            self.ids.append(record.id)
            yield record
            codes = self.actions[len(self.answers) :]
            if steps and any(map(operator.eq, codes, codes[1:])):  # the answers matter only there
                self.answers.extend(map(hash, map(_observation, steps)))
            else:
                self.answers.frombytes(bytes(8 * len(codes)))

    def _note(self, record: Trajectory, first: int) -> list[Step]:
        """Note all but the answers; gives the episode's own steps."""
        n = len(record.actions) - first
        self.sizes.append(n)
        self.tasks.append(record.task)
        self.splits.add(record.split or "none")
        number = len(self.sizes)
        weight = 1 if number <= ALL_COUNTED else EVERY if number % EVERY == 0 else 0
        steps = (record.steps[first:] if first and record.steps else record.steps) or []
        if steps and (number <= ALL_RAW or number % FEW_RAW == 0):
            self.raw.extend(map(self.codes.__getitem__, map(_action, steps)))
        else:
            self.raw.frombytes(_NO_RAW * n)
        length = 0
        if weight:
            texts = [text for step in steps for text in (step.action, step.observation, step.thought) if text]
            length = len(record.task or "") + len(record.initial_observation or "") + sum(map(len, texts))
        self.characters.append(weight * length)
        return steps


def read_experience(records: Iterable[Trajectory], allowed_splits: Collection[str] = ()) -> Experience:
    """Code all records.

    Raises:
        HeldOut: an episode of the validation or test split that is not allowed by name.
        BadData: as :func:`xskill.mine.corpus.encode_episodes`.
    """
    # Mine sorts the episodes while it codes them; what was noted beside is in the order of reading, and follows below.
    notes = _Notes(allowed_splits)
    corpus = encode_episodes(notes.episodes(records), codes=notes.actions)
    if len(notes.times) < len(notes.ids):
        corpus = corpus.select(np.asarray(_distinct(corpus), dtype=np.intp))
    place = {name: index for index, name in enumerate(notes.ids)}
    order = [place[name] for name in corpus.ids]
    raw = np.frombuffer(notes.raw, np.intc).astype(np.int32)
    answers = np.frombuffer(notes.answers, np.int64)
    if order != list(range(len(notes.ids))):
        where = _permuted(np.asarray(notes.sizes, dtype=np.int64), np.asarray(order, dtype=np.intp))
        raw, answers = raw[where], answers[where]
    # Raw texts are numbered as they came; sorted numbers make ties between templates independent of the order.
    texts, names = sorted(notes.codes), corpus.question.names
    rank = np.empty(len(texts) + 1, np.int32)
    rank[[notes.codes[text] for text in texts]] = np.arange(len(texts), dtype=np.int32)
    rank[-1] = -1
    return Experience(
        corpus=corpus,
        episode_of=np.repeat(np.arange(corpus.n_episodes, dtype=np.int32), corpus.lengths),
        tokens=corpus.step_tokens(),
        raw=rank[raw],
        raw_actions=tuple(texts),
        unanswered=_repeated(corpus, answers),
        questions=tuple(
            names[code] if code >= 0 else name.split("\0")[0]
            for name, code in zip(corpus.ids, corpus.question.codes.tolist(), strict=True)
        ),
        tasks=tuple(notes.tasks[index] for index in order),
        splits=tuple(sorted(notes.splits)),
        characters=sum(notes.characters[index] for index in order),
    )


def _distinct(corpus: CodedCorpus) -> list[int]:
    """Episodes without those that repeat another one's id (up to its mark), actions, outcome, question and type."""
    seen: set[tuple[str, bytes, int, int, int]] = set()
    kept = []
    for index, name in enumerate(corpus.ids):
        steps = corpus.steps[corpus.starts[index] : corpus.starts[index + 1]]
        outcome, question, kind = corpus.outcome, corpus.question.codes, corpus.task_type.codes
        content = (name.split("\0")[0], steps.tobytes(), int(outcome[index]), int(question[index]), int(kind[index]))
        if content not in seen:
            seen.add(content)
            kept.append(index)
    return kept


def _repeated(corpus: CodedCorpus, answers: npt.NDArray[np.int64]) -> Bools:
    """Steps whose action and answer are those of the step before, in the same episode."""
    # Compared with the step before over the whole corpus at once; an episode's first step has none in its episode.
    # The observations are compared by their hashes, which cost 8 bytes a step whatever the length of the text.
    steps = corpus.steps
    repeated = np.zeros(len(steps), bool)
    repeated[1:] = (steps[1:] == steps[:-1]) & (answers[1:] == answers[:-1])
    repeated[1:] &= (answers[1:] != 0) & (answers[1:] != _UNSEEN)
    repeated[corpus.starts[:-1][corpus.lengths > 0]] = False
    return repeated


def _permuted(sizes: npt.NDArray[np.int64], order: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Indices that put the steps of the episodes into another order of episodes."""
    # The old index of a step is where its episode began plus its place in the episode; and that place is its new index
    # less where the episode begins now. So each episode adds one number to a plain count of the new indices.
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    lengths = sizes[order]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    where: npt.NDArray[np.int64] = np.repeat(starts[order] - ends[:-1], lengths) + np.arange(ends[-1])
    return where
