"""Branches of rollout trees: who counts a copied prefix whose owner is not in the stream (docs/methods/x-tree.md)."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from xskill.array_types import Ints32
from xskill.records.links import Key, cycle_error, cyclic

if TYPE_CHECKING:
    from xskill.streams.run import Run

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Orphans:
    """Branches whose parent is not in the stream, and what they copied from it."""

    episodes: Places
    """Their numbers, ascending."""
    copied: Places
    """Number of steps that each copied."""
    prefixes: Ints32
    """Actions of these steps, one orphan's after the other's."""
    trees: Places
    """Orphans of one number may hold copies of the same steps."""


class EpisodeNames(Protocol):
    """Ids and questions of episodes."""

    ids: list[str]
    question: list[str | None]


class Branches:
    """The branches of a stream. Where the parent did not come first, the copied steps are kept (four bytes a step).

    Args:
        run: says where the record stands that came last, and gets the bad ones and what is to be noted.
        growing: parents that are not there count as episodes of the tree that grows.
    """

    def __init__(self, run: Run, *, growing: bool = False) -> None:
        self._run = run
        self._growing = growing
        self._here: dict[str | None, set[str]] = {}
        """Question → ids of its episodes so far."""
        self._n_here = 0
        self._episodes = array("q")
        self._parents: list[str] = []
        self._files: list[str] = []
        self._lines = array("q")
        self._open = array("q")
        """Which of the branches stand before their parents, or without."""
        self._prefixes = array("i")
        self._ends = array("q", [0])

    def __bool__(self) -> bool:
        """Whether any branch came before its parent or without it."""
        return bool(self._open)

    def follows(self, parent: str, question: str | None, before: EpisodeNames) -> bool:
        """Take the branch that is read now; whether its parent is among the episodes before it."""
        self._look_at(before)
        self._episodes.append(self._n_here)
        self._parents.append(parent)
        file, line = self._run.place
        self._files.append(file)
        self._lines.append(line)
        return parent in self._here.get(question, ())

    def _look_at(self, episodes: EpisodeNames) -> None:
        here, n = self._here, self._n_here
        for question, name in zip(episodes.question[n:], episodes.ids[n:], strict=True):
            if question in here:
                here[question].add(name)
            else:
                here[question] = {name}
        self._n_here = len(episodes.ids)

    def hold(self, prefix: Sequence[int]) -> None:
        """Keep the actions that the last branch copied: its parent may not come."""
        self._open.append(len(self._parents) - 1)
        if not self._growing:
            self._prefixes.extend(prefix)
        self._ends.append(len(self._prefixes))

    def bad(self, episodes: EpisodeNames) -> list[int]:
        """Numbers of the episodes whose parent links lead into a cycle; the run is told of each."""
        keys = list(zip(episodes.question, episodes.ids, strict=True))
        branches = [(keys[n], (keys[n][0], parent)) for n, parent in zip(self._episodes, self._parents, strict=True)]
        is_branch = set(self._episodes)
        roots = {key for n, key in enumerate(keys) if n not in is_branch}
        under = [index for index, (_, parent) in enumerate(branches) if parent not in roots]
        circular = [under[i] for i in cyclic([branches[index] for index in under])]
        for index in circular:
            self._run.kept -= 1
            self._run.bad(cycle_error(branches[index][0][1]).at(self._files[index], self._lines[index]))
        if circular:
            self._run.check_input()
        return [self._episodes[index] for index in circular]

    def orphans(self, episodes: EpisodeNames) -> Orphans:
        """The branches that count their prefixes themselves; the run is told how many.

        A parent has the question of its branch, or one of the two has none.
        """
        self._look_at(episodes)
        anywhere, without = set(episodes.ids), self._here.get(None, ())
        alone = np.zeros(len(self._open), bool)
        trees: dict[Key, int] = {}
        tree: list[int] = []
        for number, index in enumerate(self._open):
            question, parent = episodes.question[self._episodes[index]], self._parents[index]
            if parent in self._here[question] or parent in without or (question is None and parent in anywhere):
                continue
            alone[number] = True
            tree.append(trees.setdefault((question, parent if question is None else ""), len(trees)))
        if tree:
            what = "their copied steps count as those of the tree that grows"
            if not self._growing:
                what = "they count whole, and copied steps that several of them share count once"
            self._run.note(f"{len(tree):,} branches without their parent in the input: {what}")
        ends = np.frombuffer(self._ends, np.int64)
        copied = ends[1:] - ends[:-1]
        return Orphans(
            episodes=np.frombuffer(self._episodes, np.int64)[np.frombuffer(self._open, np.int64)[alone]],
            copied=copied[alone],
            prefixes=np.frombuffer(self._prefixes, np.intc)[np.repeat(alone, copied)],
            trees=np.array(tree, np.int64),
        )


def first_counted(steps: Ints32, starts: Places, copied: Places, trees: Places) -> Places:
    """The first step that each episode counts: orphans leave out what another one counts, as a prefix trie would.

    Of two orphans the one with the longer prefix counts what both share: it is the better copy of their parent.

    Args:
        steps: actions of all episodes, orphans with the steps that they copied.
        starts: first step of each episode. [n_episodes + 1]
        copied: number of steps that each orphan copied, 0 for the other episodes. [n_episodes]
        trees: see :class:`Orphans`. [n_episodes]
    """
    first = np.zeros(len(copied), np.int64)
    prefixes = {n: steps[starts[n] : starts[n] + copied[n]] for n in np.flatnonzero(copied).tolist()}
    keys = {n: (int(trees[n]), prefix.astype(">i4").tobytes()) for n, prefix in prefixes.items()}
    # In falling order a prefix shares most with the one before it, and no prefix comes before one that goes on with it.
    for before, n in pairwise(sorted(keys, key=keys.__getitem__, reverse=True)):
        if trees[before] == trees[n]:
            first[n] = _n_shared(prefixes[before], prefixes[n])
    return first


def _n_shared(one: Ints32, other: Ints32) -> int:
    n = min(len(one), len(other))
    different = np.flatnonzero(one[:n] != other[:n])
    return int(different[0]) if len(different) else n
