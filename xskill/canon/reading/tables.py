"""Rows of Parquet tables, ours and foreign ones, as plain JSON values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.errors import BadRecord
from xskill.records import Trajectory
from xskill.streams.source import Input


def read_table(source: Input) -> Iterator[dict[str, Any] | BadRecord]:
    """Yield the rows of a Parquet input as JSON values; those of our columns come as trajectories, or as their error.

    Raises:
        BadRecord: no valid Parquet, one that needs more memory than its size explains, or one of ours with columns of
            another type.
    """
    from xskill.streams.parquet.frames import values_of
    from xskill.streams.parquet.reader import own_kind, read_frames

    number = 0
    for frame in read_frames(source):
        kind = Trajectory if own_kind(frame, source.name) is Trajectory else None
        for value in values_of(frame, kind):
            number += 1
            yield value.at(source.name, number) if isinstance(value, BadRecord) else value
