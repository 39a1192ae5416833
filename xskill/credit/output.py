"""Credited records: the trajectories as they came with aligned arrays added, or one row a turn.

The heavy text is never encoded again: the arrays are spliced into the original line of JSON.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import orjson

from xskill.array_types import Floats, Ints64
from xskill.credit.advantage import SKIPPED
from xskill.credit.methods import Config, Credits
from xskill.process.standard import to_stdout
from xskill.records import CreditsHeader, Trajectory, TurnCredit, decode, encode
from xskill.records.names import tag_of
from xskill.records.trajectories import CREDIT_COLUMNS
from xskill.rollouts.arrays import Rollouts
from xskill.rollouts.original_records import Originals, original_lines
from xskill.streams.parquet.reading_child import HEADER_KEY, SCHEMA_KEY
from xskill.streams.text_out import open_lines, replacing
from xskill.streams.write import container_of, open_output

ARRAYS = {
    "values": "value",
    "credits": "credit",
    "targets": "target",
    "target_ratios": "target_ratio",
    "weights": "weight",
    "residuals": "residual",
    "losses": "loss",
}
"""Column of a trajectory → field of :class:`Credits`."""

TURN_TAG = "xskill.turn/1"
ROWS = 1 << 16
_BLOCK = 1 << 19
_LEVEL = 1
"""Of zstd: a tenth larger than with its usual 3, and written in four fifths of the time."""


def header(config: Config, credits: Credits, **more: Any) -> CreditsHeader:
    """The header line: the method, every choice made, and what was met."""
    return CreditsHeader(method=config.method, config={**credits.config, **more}, stats=credits.stats)


def per_step(rollouts: Rollouts, credits: Credits) -> dict[str, Floats]:
    """[S] arrays under their column names; the steps of a turn share its values."""
    columns = {column: getattr(credits, name) for column, name in ARRAYS.items()}
    turn = rollouts.turn_of_step
    one_step_a_turn = len(turn) == rollouts.n_turns
    return {column: x if one_step_a_turn else x[turn] for column, x in columns.items() if x is not None}


def credited_lines(rollouts: Rollouts, originals: Originals, credits: Credits) -> Iterator[bytes]:
    """The input trajectories, in order, as lines of JSON with the credit columns at their end."""
    arrays = list(per_step(rollouts, credits).items())
    scalars = [
        (name, x.tolist())
        for name, x in (("advantage", credits.advantage), ("sequence_ratio", credits.sequence_ratio))
        if x is not None
    ]
    skipped = [SKIPPED[code] for code in credits.skipped.tolist()]
    start = rollouts.step_start.tolist()
    for i, line in enumerate(original_lines(originals, rollouts.place)):
        added: dict[str, Any] = {name: x[i] for name, x in scalars}
        for name, x in arrays:
            added[name] = x[start[i] : start[i + 1]]
        if skipped[i] is not None:
            added["skipped"] = skipped[i]
        payload = orjson.dumps(added, option=orjson.OPT_SERIALIZE_NUMPY)
        yield b"".join((memoryview(line)[:-1], b",", memoryview(payload)[1:]))


def all_frames(originals: Originals) -> bool:
    """Whether :func:`credited_frame` can be used: every record came from Parquet with our columns."""
    from xskill.streams.parquet.columns import schema_of

    wanted = schema_of(Trajectory)
    return all(getattr(block, "schema", None) == wanted for block in originals.blocks)


def credited_frame(rollouts: Rollouts, originals: Originals, credits: Credits) -> Any:
    """The input trajectories, in order, as one polars frame with the credit columns filled in."""
    import polars as pl

    rows: dict[int, list[int]] = {}
    for frame, row in originals.order:
        rows.setdefault(frame, []).append(row)
    whole = pl.concat([_rows_of(originals.blocks[frame], chosen) for frame, chosen in rows.items()])
    schema = whole.schema
    arrays = {name: pl.Series(x).fill_nan(None) for name, x in per_step(rollouts, credits).items()}
    added = dict(zip(arrays, _lists(pl.DataFrame(arrays), np.diff(rollouts.step_start)), strict=True))
    for name, x in (("advantage", credits.advantage), ("sequence_ratio", credits.sequence_ratio)):
        if x is not None:
            added[name] = pl.Series(x).fill_nan(None)
    added["skipped"] = pl.Series([SKIPPED[code] for code in credits.skipped.tolist()], dtype=pl.String)
    missing = {name: pl.Series([None] * rollouts.n, dtype=schema[name]) for name in CREDIT_COLUMNS if name not in added}
    return whole.with_columns(**added, **missing)


def _rows_of(frame: Any, chosen: list[int]) -> Any:
    """Rows of a frame, without a copy where they are all of it."""
    return frame if chosen == list(range(frame.height)) else frame[chosen]


def _lists(steps: Any, counts: Ints64) -> list[Any]:
    """Columns of steps as columns of lists, with so many entries each."""
    import polars as pl

    index = pl.Series("index", np.repeat(np.arange(len(counts)), counts)).set_sorted()
    lists = steps.with_columns(index).group_by("index", maintain_order=True).agg(pl.all())
    if len(lists) < len(counts):
        empty = pl.lit([], dtype=pl.List(pl.Float64))
        lists = pl.DataFrame({"index": np.arange(len(counts))}).join(lists, "index", "left", maintain_order="left")
        lists = lists.with_columns(pl.exclude("index").fill_null(empty))
    return list(lists.drop("index").get_columns())


def turn_rows(rollouts: Rollouts, credits: Credits, actions: Any = None) -> Any:
    """One row a turn (:class:`xskill.records.TurnCredit`) as a polars frame with its fixed columns.

    Args:
        rollouts: the trajectories.
        credits: theirs.
        actions: [S] texts of the actions as a polars series, where the rollouts do not hold them.
    """
    import polars as pl

    from xskill.streams.parquet.columns import schema_of

    trajectory, first = rollouts.trajectory, rollouts.first_step
    columns: dict[str, Any] = {
        "schema": pl.repeat(TURN_TAG, rollouts.n_turns, dtype=pl.String, eager=True),
        "id": pl.Series(rollouts.ids, dtype=pl.String).gather(trajectory),
        "question_id": pl.Series(rollouts.questions, dtype=pl.String).gather(rollouts.question[trajectory]),
        "turn": rollouts.position,
        "step": first - np.repeat(rollouts.step_start[:-1], rollouts.lengths),
        "n_steps": np.diff(np.append(first, len(rollouts.turn_of_step))),
        "action": _actions(rollouts) if actions is None else actions.gather(first),
        "skipped": pl.Series(SKIPPED, dtype=pl.String).gather(credits.skipped[trajectory]),
    }
    numbers = {name: getattr(credits, name) for name in (*ARRAYS.values(), "log_ratio")}
    numbers["advantage"] = None if credits.advantage is None else credits.advantage[trajectory]
    columns |= {name: pl.Series(x).fill_nan(None) for name, x in numbers.items() if x is not None}
    schema = schema_of(TurnCredit)
    frame = pl.DataFrame(columns)
    missing = {name: pl.lit(None, dtype) for name, dtype in schema.items() if name not in frame.columns}
    return frame.with_columns(**missing).select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def _actions(rollouts: Rollouts) -> Any:
    """[T] text of each turn's first action."""
    import polars as pl

    texts: list[str | None] = [None] * (int(rollouts.step_action.max(initial=-1)) + 1)
    for table in rollouts.actions:
        for text, code in table.items():
            if code < len(texts):
                texts[code] = text
    return pl.Series(texts, dtype=pl.String).gather(rollouts.step_action[rollouts.first_step])


def write_trajectories(
    path: str | None,
    to: str | None,
    rollouts: Rollouts,
    originals: Originals,
    credits: Credits,
    head: CreditsHeader,
) -> None:
    """Write the header and the credited trajectories to a file or stdout."""
    if container_of(path, to) == "parquet" and all_frames(originals):
        write_frame(path, credited_frame(rollouts, originals, credits), head, tag_of(Trajectory))
        return
    parquet = container_of(path, to) == "parquet"
    with open_output(path, to=to, kind=Trajectory) as out:
        out.header(head)
        for line in credited_lines(rollouts, originals, credits):
            if parquet:
                out.write(decode(line, Trajectory))
            else:
                out.write_line(line)


def write_turns(path: str | None, to: str | None, rollouts: Rollouts, credits: Credits, head: CreditsHeader) -> None:
    """Write the header and one row a turn to a file or stdout."""
    frame = turn_rows(rollouts, credits)
    if container_of(path, to) == "parquet":
        write_frame(path, frame, head, TURN_TAG)
        return
    with open_lines(path) as write_lines:
        for lines in turn_lines(frame, head):
            write_lines(lines)


def turn_lines(frame: Any, head: CreditsHeader) -> Iterator[bytes]:
    """The header and the rows of :func:`turn_rows` as lines of JSON, many at a time, without what no row says."""
    empty = [name for name in frame.columns if frame[name].null_count() == frame.height]
    usual = ["n_steps"] if (frame["n_steps"] == 1).all() else []
    frame = frame.drop(empty + usual)
    yield encode(head)
    for start in range(0, frame.height, ROWS):
        yield frame[start : start + ROWS].write_ndjson().rstrip("\n").encode()


def in_blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines joined to blocks of at least :data:`_BLOCK` bytes, which cost less to send than each line alone."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line) + 1
        if size >= _BLOCK:
            yield b"\n".join(held)
            held, size = [], 0
    if held:
        yield b"\n".join(held)


def table_frame(
    rollouts: Rollouts, originals: Originals, credits: Credits, actions: Any, *, per_turn: bool
) -> tuple[Any, str]:
    """What a table of rollouts becomes as a frame, and the contract of its rows; ``actions`` as in turn_rows."""
    if per_turn:
        return turn_rows(rollouts, credits, actions), TURN_TAG
    return credited_frame(rollouts, originals, credits), tag_of(Trajectory)


def write_frame(path: str | None, frame: Any, head: CreditsHeader | None = None, tag: str | None = None) -> None:
    """Write a frame as Parquet to a file or stdout, with the header and the rows' contract in the file's metadata."""
    if path is not None and path != "-":
        with replacing(path) as target:
            frame.write_parquet(target.file, metadata=_metadata(head, tag), compression_level=_LEVEL)
        return
    to_stdout(frame_bytes(frame, tag, head))


def frame_bytes(frame: Any, tag: str | None = None, head: CreditsHeader | None = None) -> bytes:
    """The bytes of the same Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata=_metadata(head, tag), compression_level=_LEVEL)
    return buffer.getvalue()


def _metadata(head: CreditsHeader | None, tag: str | None) -> dict[str, str]:
    metadata = {} if head is None else {HEADER_KEY: encode(head).decode()}
    return metadata if tag is None else {**metadata, SCHEMA_KEY: tag}
