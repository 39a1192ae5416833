"""The tiling of a trajectory: the nodes and left-over actions that it is made of, as records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from xskill.errors import BadRecord
from xskill.records import Episode, Tile, Trajectory
from xskill.streams.orphans import tell_orphans
from xskill.tree.replay import Tiler, encode, tiler
from xskill.tree.xtree import XTree

if TYPE_CHECKING:
    from xskill.streams.run import Run

R = TypeVar("R", Trajectory, Episode)
T = TypeVar("T")


def tile(tree: XTree, trajectories: Iterable[Trajectory], run: Run | None = None) -> Iterator[Trajectory]:
    """The trajectories with ``tiles``, ``coverage`` and ``tokens_per_action``, as they come; see :func:`tiled`.

    Args:
        tree: what to tile with.
        trajectories: each may be a branch; of these the part is tiled that they generated themselves.
        run: gets the bad records; without it the first one raises.

    Raises:
        BadRecord: a branch claims to have copied more actions than it has.
    """
    ready = tiler(tree)
    if run is None:
        return (tiled(record, ready) for record in trajectories)
    return each_good(trajectories, lambda record: tiled(record, ready), run)


def tiling(tiler: Tiler, actions: Sequence[str], start: int = 0) -> list[Tile]:
    """The tiles of ``actions[start:]``; ``Tile.start`` counts from the first of all actions."""
    return as_tiles(tiler, actions, encode(tiler, actions[start:] if start else actions), start)


def as_tiles(tiler: Tiler, actions: Sequence[str], pieces: Iterable[tuple[int, int]], start: int = 0) -> list[Tile]:
    """The pieces that :func:`~xskill.tree.replay.encode` gave for ``actions[start:]``, as records."""
    base, last = len(tiler.codes), tiler.width - 1
    tiles = []
    for symbol, position in pieces:
        if base <= symbol < last:
            node = tiler.nodes[symbol - base]
            tiles.append(Tile(node=node.id, start=start + position, length=node.length))
        else:
            tiles.append(Tile(token=actions[start + position], start=start + position))
    return tiles


def own_start(record: Trajectory | Episode) -> int:
    """Index of the first action that the record generated itself: 0, or where a branch left its parent.

    Raises:
        BadRecord: the branch claims to have copied more actions than it has.
    """
    if record.parent is None:
        return 0
    step = record.parent.turn if record.parent.step is None else record.parent.step
    if not 0 <= step <= len(record.actions):
        field = "turn" if record.parent.step is None else "step"
        raise BadRecord(
            f"expected 0 to {len(record.actions)}, the number of actions, got {step}", path=f"parent.{field}"
        )
    return step


def own_tiles(record: Trajectory | Episode, tiler: Tiler) -> list[Tile]:
    """The tiling of the part that the record generated itself."""
    return tiling(tiler, record.actions, own_start(record))


def tiled(record: Trajectory, tiler: Tiler) -> Trajectory:
    """``record`` with ``tiles``, ``coverage`` and ``tokens_per_action`` over the part that it generated itself.

    ``coverage`` = actions inside nodes / actions; ``tokens_per_action`` = tiles / actions; both null without actions.
    """
    tiles = own_tiles(record, tiler)
    n = sum(piece.length for piece in tiles)
    covered = sum(piece.length for piece in tiles if piece.node is not None)
    return msgspec.structs.replace(
        record, tiles=tiles, coverage=covered / n if n else None, tokens_per_action=len(tiles) / n if n else None
    )


def each_good(records: Iterable[R], work: Callable[[R], T], run: Run) -> Iterator[T]:
    """``work`` on each record as it is read; one that it finds bad goes the way of bad records, under its id.

    At the end the run is told of branches whose parent was not there: their copied steps are in no tiling.
    """
    for record in tell_orphans(records, run, "are tiled nowhere"):
        try:
            done = work(record)
        except BadRecord as error:
            run.kept -= 1
            run.bad(BadRecord(f"{error.reason} (trajectory {record.id})", path=error.path).at(*run.place))
        else:
            yield done
