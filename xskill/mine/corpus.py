"""Episodes as integer arrays, in an order that depends on their set and never on the file."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
import numpy.typing as npt

from xskill.array_types import Ints32
from xskill.errors import BadData
from xskill.mine.branches import Branches, first_counted
from xskill.records import Episode, Trajectory

_NODE_ID = re.compile(r"S\d+\Z")


@dataclass(frozen=True, slots=True)
class Labels:
    """One label for each episode: codes into sorted names, -1 for null."""

    codes: Ints32
    names: tuple[str, ...]

    @classmethod
    def of(cls, values: list[str | None]) -> Labels:
        names = tuple(sorted({value for value in values if value is not None}))
        code: dict[str | None, int] = {name: number for number, name in enumerate(names)}
        code[None] = -1
        return cls(np.fromiter((code[value] for value in values), np.int32, len(values)), names)

    def take(self, chosen: npt.NDArray[np.intp]) -> Labels:
        """The labels of the chosen episodes; names keep their codes."""
        return Labels(self.codes[chosen], self.names)


@dataclass(frozen=True, slots=True)
class CodedCorpus:
    """What is mined: the steps that each episode generated itself, integer-coded.

    Episodes are sorted by id (then content), tokens and actions as strings, so that two corpora of
    the same episodes are equal arrays.
    """

    tokens: tuple[str, ...]
    """Distinct canonical tokens, sorted; token t has symbol t + 1 in mining."""
    actions: tuple[tuple[str, ...], ...]
    """Distinct (token, arg, arg …), sorted by their rendering (:func:`render`)."""
    token_of: Ints32
    """Token of each distinct action."""
    steps: Ints32
    """Action of each step, all episodes one after the other."""
    starts: npt.NDArray[np.int64]
    """First step of each episode, and the number of steps at the end: [n_episodes + 1]."""
    ids: tuple[str, ...]
    outcome: npt.NDArray[np.int8]
    """1 success, 0 failure, -1 unknown."""
    question: Labels
    task_type: Labels
    env: Labels
    n_duplicates: int = 0
    """Records left out because an equal one (id and content) is there."""

    @property
    def n_episodes(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Steps of each episode."""
        return np.diff(self.starts)

    def step_tokens(self) -> Ints32:
        """Token of each step."""
        return self.token_of[self.steps]

    def select(self, chosen: npt.NDArray[np.intp]) -> CodedCorpus:
        """The chosen episodes (indices, with repetition if wanted), in the order given."""
        # Old index of each step of the result: its place within its episode, from where that episode stood.
        lengths = self.lengths[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        where = np.repeat(self.starts[chosen] - starts[:-1], lengths) + np.arange(starts[-1])
        return CodedCorpus(
            tokens=self.tokens,
            actions=self.actions,
            token_of=self.token_of,
            steps=self.steps[where],
            starts=starts,
            ids=tuple(self.ids[index] for index in chosen.tolist()),
            outcome=self.outcome[chosen],
            question=self.question.take(chosen),
            task_type=self.task_type.take(chosen),
            env=self.env.take(chosen),
            n_duplicates=self.n_duplicates,
        )

    def cut(self, first: npt.NDArray[np.int64]) -> CodedCorpus:
        """The episodes without the steps before the ``first`` ones. [n_episodes]"""
        # A step stays when its place within its episode is at least the episode's first.
        lengths = self.lengths
        left = np.arange(len(self.steps)) - np.repeat(self.starts[:-1], lengths) >= np.repeat(first, lengths)
        return replace(self, steps=self.steps[left], starts=np.concatenate([[0], np.cumsum(lengths - first)]))


def render(action: tuple[str, ...]) -> str:
    """``("take<object>", "mug", "shelf")`` → ``take<object>(mug, shelf)``, as the authors write examples."""
    token, *args = action
    return f"{token}({', '.join(args)})" if args else token


def own_start(episode: Episode | Trajectory) -> int:
    """Index of the first step that the episode generated itself (0 unless it is a branch)."""
    if episode.parent is None:
        return 0
    first = episode.parent.step if episode.parent.step is not None else episode.parent.turn
    return max(first, 0)


class _ActionCodes(dict[tuple[str, ...], int]):
    """Distinct actions in order of appearance."""

    def __missing__(self, action: tuple[str, ...]) -> int:
        code = self[action] = len(self)
        return code


def encode_episodes(
    episodes: Iterable[Episode | Trajectory],
    also: Iterable[str] = (),
    codes: array[int] | None = None,
    branches: Branches | None = None,
) -> CodedCorpus:
    """Code all episodes; of a branch (``parent`` set) only the steps from its fork on.

    Records with the same id and the same content count once; the same id with another content is
    another episode.

    Args:
        episodes: in any order.
        also: tokens that belong to the vocabulary even when no episode has them.
        codes: an empty array that gets a number for each step while the episodes pass, the same for the same action
            (token and arguments); whoever yields an episode finds its steps there when asked for the next.
        branches: looks at the parent links: branches whose parent is not there then bring their copied steps along
            (each step once where several share it), and those in a cycle are bad records.

    Raises:
        BadData: a token has the form of a node id (``S12``), so that the tree could not be read.
        BadRecord: parent links form a cycle, unless bad records are kept aside.
    """
    lookup = _ActionCodes()
    codes = array("i") if codes is None else codes
    heads = _Heads()
    for episode in episodes:
        actions, args = episode.actions, episode.args
        if episode.parent is not None:
            first = own_start(episode)
            if branches is not None and not branches.follows(episode.parent.id, episode.question_id, heads):
                branches.hold(_coded(lookup, actions[:first], args if args is None else args[:first]))
            actions, args = actions[first:], args if args is None else args[first:]
        codes.extend(_coded(lookup, actions, args))
        heads.add(episode, len(actions))
    steps = np.frombuffer(codes, np.intc) if len(codes) else np.empty(0, np.intc)
    if not branches:
        return _in_order(_numbered(steps, heads, lookup, range(len(lookup)), also))
    # From here on only streams whose branches stood before or without their parents. The steps that orphans copied are
    # put before their own, which moves all steps behind them, so sizes grow before anything is cut by episode.
    good = np.ones(len(heads.ids), bool)
    good[branches.bad(heads)] = False
    orphans = branches.orphans(heads)
    copied, trees = np.zeros((2, len(heads.ids)), np.int64)
    copied[orphans.episodes], trees[orphans.episodes] = orphans.copied, orphans.trees
    sizes = np.frombuffer(heads.sizes, np.int64)
    if copied.any():
        starts = np.cumsum(sizes) - sizes
        steps = np.insert(steps, np.repeat(starts[orphans.episodes], orphans.copied), orphans.prefixes)
        sizes = sizes + copied
    if copied.any() or not good.all():
        steps, heads = steps[np.repeat(good, sizes)], heads.select(good, sizes)
    used = np.flatnonzero(np.bincount(steps, minlength=len(lookup))).tolist()
    corpus = _numbered(steps, heads, lookup, used, also)
    return _in_order(corpus, copied[good], trees[good])


class _Heads:
    """What is known of each episode besides its steps."""

    def __init__(self) -> None:
        self.sizes = array("q")
        self.ids: list[str] = []
        self.outcome = array("b")
        self.question: list[str | None] = []
        self.task_type: list[str | None] = []
        self.env: list[str | None] = []

    def add(self, episode: Episode | Trajectory, n_steps: int) -> None:
        self.sizes.append(n_steps)
        self.ids.append(episode.id)
        self.outcome.append(-1 if episode.success is None else int(episode.success))
        self.question.append(episode.question_id)
        self.task_type.append(episode.task_type)
        self.env.append(episode.env)

    def select(self, chosen: npt.NDArray[np.bool_], sizes: npt.NDArray[np.int64]) -> _Heads:
        """Those chosen, with new numbers of steps (of all)."""
        left, kept = _Heads(), chosen.tolist()
        left.sizes.extend(sizes[chosen].tolist())
        for name in ("ids", "outcome", "question", "task_type", "env"):
            getattr(left, name).extend(compress(getattr(self, name), kept))
        return left


def _coded(lookup: _ActionCodes, actions: list[str], args: list[list[str]] | None) -> list[int]:
    if args is None:
        return [lookup[(token,)] for token in actions]
    return [lookup[(token, *values)] for token, values in zip(actions, args, strict=True)]


def _numbered(
    steps: Ints32, heads: _Heads, lookup: _ActionCodes, used: Sequence[int], also: Iterable[str]
) -> CodedCorpus:
    """The episodes as they came, the ``used`` actions and their tokens numbered in sorted order."""
    # Codes are in order of appearance; numbering them by their sorted texts makes equal sets of episodes equal arrays.
    # Only the distinct actions are sorted in Python; the steps are renumbered by one look-up in an array.
    actions_seen = tuple(lookup)
    order = sorted(used, key=lambda code: (render(actions_seen[code]), actions_seen[code]))
    rank = np.empty(len(actions_seen), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    sorted_actions = tuple(actions_seen[code] for code in order)
    tokens = tuple(sorted({action[0] for action in sorted_actions}.union(also)))
    for token in tokens:
        if _NODE_ID.match(token):
            raise BadData(f"the token {token!r} has the form of a node id; run `xskill canon` on the log first")
    number = {token: index for index, token in enumerate(tokens)}
    return CodedCorpus(
        tokens=tokens,
        actions=sorted_actions,
        token_of=np.fromiter((number[action[0]] for action in sorted_actions), np.int32, len(order)),
        steps=rank[steps],
        starts=np.concatenate([[0], np.cumsum(np.frombuffer(heads.sizes, np.int64))]),
        ids=tuple(heads.ids),
        outcome=np.frombuffer(heads.outcome, np.int8),
        question=Labels.of(heads.question),
        task_type=Labels.of(heads.task_type),
        env=Labels.of(heads.env),
    )


def _in_order(
    corpus: CodedCorpus, copied: npt.NDArray[np.int64] | None = None, trees: npt.NDArray[np.int64] | None = None
) -> CodedCorpus:
    """Sort by id, leave out repeated records, and of what orphans copied all that another one counts."""
    # Sorted by id; among equal ids a repeated record is dropped, and different ones are ordered by content, so that the
    # order of the file never shows.
    order = sorted(range(corpus.n_episodes), key=corpus.ids.__getitem__)
    kept: list[int] = []
    begin = 0
    while begin < len(order):
        end = begin + 1
        while end < len(order) and corpus.ids[order[end]] == corpus.ids[order[begin]]:
            end += 1
        if end - begin == 1:
            kept.append(order[begin])
        else:
            distinct = {_content(corpus, index, copied): index for index in order[begin:end]}
            kept.extend(distinct[content] for content in sorted(distinct))
        begin = end
    n_duplicates = corpus.n_episodes - len(kept)
    if kept != list(range(corpus.n_episodes)):
        corpus = replace(corpus.select(np.array(kept, np.intp)), n_duplicates=n_duplicates)
    if copied is None or trees is None or not copied.any():
        return corpus
    return corpus.cut(first_counted(corpus.steps, corpus.starts, copied[kept], trees[kept]))


def _content(
    corpus: CodedCorpus, index: int, copied: npt.NDArray[np.int64] | None
) -> tuple[int | tuple[int, ...], ...]:
    steps = corpus.steps[corpus.starts[index] : corpus.starts[index + 1]]
    labels = (corpus.question, corpus.task_type, corpus.env)
    n_copied = 0 if copied is None else int(copied[index])
    return (tuple(steps.tolist()), int(corpus.outcome[index]), *(int(label.codes[index]) for label in labels), n_copied)
