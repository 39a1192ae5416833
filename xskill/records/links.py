"""What the parent links of trajectories must be to each other; shared by all who look at them."""

from __future__ import annotations

from collections.abc import Sequence

from xskill.errors import BadRecord

Key = tuple[str | None, str]
"""Question and id: a branch's parent is a trajectory of its own question."""


def cyclic(links: Sequence[tuple[Key, Key]]) -> list[int]:
    """Indices of the links (branch, its parent) whose chain of parents never ends, since it runs into a cycle.

    A chain ends at a parent that is none of the branches, be it in the stream or not.
    """
    branches = {branch for branch, _ in links}
    below: dict[Key, list[int]] = {}
    for index, (_, parent) in enumerate(links):
        below.setdefault(parent, []).append(index)
    reached = [parent for parent in below if parent not in branches]
    while reached:
        reached += [links[index][0] for index in below.pop(reached.pop(), ())]
    return sorted(index for indices in below.values() for index in indices)


def cycle_error(name: str) -> BadRecord:
    """What is wrong with the trajectory ``name``, which :func:`cyclic` finds."""
    return BadRecord(f"the parent links above {name!r} form a cycle", path="parent.id")
