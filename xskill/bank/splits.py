"""What is held out stays out of what a bank is made from."""

from __future__ import annotations

from collections.abc import Collection

from xskill.errors import HeldOut, UsageError
from xskill.records import Trajectory

HELD_OUT = ("validation", "test")


def check_allowed(names: Collection[str]) -> None:
    """Raise :class:`UsageError` for a split that was allowed by name but is not held out: a slip of the pen."""
    for name in names:
        if name not in HELD_OUT:
            raise UsageError(f"--allow-split {name}: expected {' or '.join(HELD_OUT)}, the splits that are held out")


def check_split(record: Trajectory, allowed: Collection[str]) -> None:
    """Raise :class:`HeldOut` for a validation or test episode, unless its split is allowed by name."""
    if record.split in HELD_OUT and record.split not in allowed:
        raise HeldOut(
            f"episode {record.id!r} is marked {record.split}: skills made from it could not be validated on it; "
            f"leave it out (xskill filter \"split = 'train'\") or say --allow-split {record.split}"
        )
