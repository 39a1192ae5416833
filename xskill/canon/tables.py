"""Rows of foreign Parquet tables as plain JSON values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from xskill.errors import BadRecord
from xskill.records import Trajectory
from xskill.streams.source import Input


def read_table(source: Input) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet input as JSON values; rows of our own columns come as trajectories.

    Raises:
        BadRecord: no valid Parquet, or one that needs more memory than its size explains.
    """
    from xskill.streams.columns import unpack
    from xskill.streams.parquet import read_frames

    for frame in read_frames(source):
        ours = "schema" in frame.columns and "actions" in frame.columns
        try:
            for row in frame.iter_rows(named=True):
                yield unpack(row, Trajectory) if ours else plain(row)
        except (ValueError, OverflowError) as error:  # a date beyond the year 9999, and the like
            raise BadRecord(f"a cell that cannot be read: {error}", file=source.name) from None


def plain(value: Any) -> Any:
    """A value of a table cell as JSON: NaN is null, dates and bytes are text, null fields of structs are left out.

    Writers of tables give all structs of a column the same keys, so an absent key comes back as null.
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)
