"""Branches whose parents are not in the stream: what they copied is counted by nobody, and that must be said."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from xskill.streams.run import Run

R = TypeVar("R", bound=Any)


def tell_orphans(records: Iterable[R], run: Run, lost: str) -> Iterator[R]:
    """Pass trajectories on; at the end the run says how many branches stood without their parent.

    Args:
        records: trajectories, or a part of them with ``id``, ``question_id`` and ``parent``.
        run: of the command.
        lost: what that means for the steps that these copied: ``are tiled nowhere``.
    """
    here, parents = array("q"), array("q")  # hashes of (question, id): eight bytes a record, in a stream of any length
    for record in records:
        here.append(hash((record.question_id, record.id)))
        if record.parent is not None:
            parents.append(hash((record.question_id, record.parent.id)))
        yield record
    if parents:
        present = set(here)
        n = sum(parent not in present for parent in parents)
        if n:
            run.note(f"{n:,} branches without their parent in the input: the steps that they copied {lost}")
