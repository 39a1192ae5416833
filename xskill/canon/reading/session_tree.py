"""Sessions whose records name their parents: the path that was kept, and the paths that were left.

The path to the last message is the episode; a path that was left (rewound, edited, forked) is a branch of it
with ``parent``. A branch holds its whole path, so that its first steps repeat those that it shares.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xskill.canon.reading.content_text import sorted_dumps
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.records import Parent

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|^\d{10,}$")
_AGENT = re.compile(r"agent-[\w-]{1,40}")
MAX_BRANCHES = 256
"""Branches of one session that are kept; each repeats what it shares with the others."""


def session_folder(place: Place) -> str | None:
    """The session's id where its folder bears it and its files have the same names in every session.

    Only ids are taken, of a folder at most four above the file: a UUID or a time; then the name of what lies
    between (``agent-0``).
    """
    above = place.path.resolve().parts[-5:-1] if place.path is not None else ()
    for index in range(len(above) - 1, -1, -1):
        match = _ID.search(above[index])
        if match is not None:
            between = [part for part in above[index + 1 :] if _AGENT.fullmatch(part)]
            return "/".join([match[0], *between])
    return None


@dataclass(slots=True)
class Repeats:
    """Tells a record that was written before, whole and with the same identity, from a new one."""

    _seen: set[bytes] = field(default_factory=set)

    def again(self, record: Any) -> bool:
        """Whether an equal record came before; this one counts as seen from now on."""
        digest = hashlib.blake2b(sorted_dumps(record).encode("utf-8", "replace"), digest_size=16).digest()
        if digest in self._seen:
            return True
        self._seen.add(digest)
        return False


@dataclass(slots=True)
class PathSteps:
    """A path as steps."""

    dialog: Dialog
    own: int | None = None
    """Index of the first step that the path does not share; None when it has none."""
    claim: Any = None
    extra: dict[str, Any] = field(default_factory=dict)


Replay = Callable[[list[int], set[int]], PathSteps]
"""Makes steps of the records at those positions; the second argument holds the positions that are shared."""


def path_episodes(
    parents: Sequence[int | None],
    messages: Sequence[bool],
    replay: Replay,
    identity: str,
    place: Place,
    *,
    marks: tuple[str, ...] = (),
    first: int = 1,
    parent: Parent | None = None,
) -> Iterator[RawEpisode]:
    """The episode of the path that was kept, then one of each path that was left.

    Args:
        parents: for each record the position of the record that it follows.
        messages: for each record whether it is one that a path can end with.
        first: line of the session's first record.
        parent: of the kept path, where the session itself is a branch of another.
    """
    has_main = False
    for left, (shared, path) in enumerate(tree_paths(parents, messages, place)):
        for episode in one_path(
            replay(path, shared), identity, place, marks=marks, first=first, left=left, has_main=has_main
        ):
            has_main = has_main or left == 0
            if left == 0:
                episode.parent = parent
            yield episode


def one_path(
    replayed: PathSteps,
    identity: str,
    place: Place,
    *,
    marks: tuple[str, ...] = (),
    first: int = 1,
    left: int = 0,
    has_main: bool = False,
) -> Iterator[RawEpisode]:
    """The episode of one path, if anything was done on it.

    Args:
        left: 0 for the path that was kept, else the number of the one that was left.
        has_main: the kept path is an episode, so that it can be the parent of this one.
    """
    dialog = replayed.dialog
    own = len(dialog.steps) if replayed.own is None else replayed.own
    if not dialog.steps or (left and own == len(dialog.steps)):
        place.tally.skip("prompt that was left without an answer" if left else "session without an action")
        return
    turns = len({step.turn for step in dialog.steps[:own]})
    branch_of = Parent(id=identity, turn=turns, step=None if own == turns else own) if has_main else None
    yield RawEpisode(
        steps=dialog.steps,
        id=f"{identity}/abandoned-{left}" if left else identity,
        task=dialog.task,
        initial_observation=dialog.initial_observation,
        parent=branch_of if left else None,
        claim=replayed.claim,
        marks=(*marks, "abandoned") if left else marks,
        extra={**replayed.extra, "abandoned": True} if left else replayed.extra,
        record=first,
    )


def tree_paths(
    parents: Sequence[int | None], messages: Sequence[bool], place: Place
) -> Iterator[tuple[set[int], list[int]]]:
    """``(shared positions, path)``: the path to the last message, then the others in the order of their ends."""
    children: dict[int, list[int]] = {}
    for position, parent in enumerate(parents):
        if parent is not None:
            children.setdefault(parent, []).append(position)
    covered: set[int] = set()
    main = _main_leaf(messages, children)
    if main is None:
        return
    path = _ancestors(parents, main)
    covered.update(path)
    yield set(), path
    left: list[int] = []
    for position in range(len(parents) - 1, -1, -1):
        if position not in covered and messages[position]:
            left.append(position)
            covered.update(_ancestors(parents, position, covered))
    if len(left) > MAX_BRANCHES:
        place.tally.skip("path that was left", len(left) - MAX_BRANCHES)
        del left[MAX_BRANCHES:]
    covered = set(path)
    for position in reversed(left):
        path = _ancestors(parents, position)
        shared = covered.intersection(path)
        covered.update(path)
        yield shared, path


def _main_leaf(messages: Sequence[bool], children: dict[int, list[int]]) -> int | None:
    """The last message, or what follows it although it stands before it (lines that changed places)."""
    leaf = next((position for position in range(len(messages) - 1, -1, -1) if messages[position]), None)
    if leaf is None:
        return None
    best, waiting, seen = leaf, [leaf], {leaf}
    while waiting:
        after = [child for child in children.get(waiting.pop(), ()) if child not in seen]
        seen.update(after)
        waiting += after
        best = next((child for child in reversed(after) if messages[child]), best)
    return best


def _ancestors(
    parents: Sequence[int | None], position: int, until: set[int] | frozenset[int] = frozenset()
) -> list[int]:
    """Positions from the root to this one, or from the first that ``until`` does not hold; a circle ends a path."""
    path = [position]
    seen = {position}
    parent = parents[position]
    while parent is not None and parent not in seen and parent not in until:
        path.append(parent)
        seen.add(parent)
        parent = parents[parent]
    path.reverse()
    return path
