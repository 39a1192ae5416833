"""Rollouts from inputs of any container, into flat arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import numpy as np

from xskill.errors import BadRecord
from xskill.records import CreditsHeader, Trajectory, convert, decode, encode
from xskill.rollouts.build import Trie, build, check_links
from xskill.rollouts.columns import Rollouts
from xskill.rollouts.gather import Gather, decode_rollout
from xskill.streams.lines import iter_lines
from xskill.streams.run import Run
from xskill.streams.source import Input, open_inputs

CREDIT_COLUMNS = (
    "advantage",
    "values",
    "credits",
    "targets",
    "target_ratios",
    "weights",
    "residuals",
    "losses",
    "sequence_ratio",
    "skipped",
)
"""Columns of a trajectory that credit adds, and replaces when they are there."""


@dataclass(slots=True)
class Originals:
    """The records as they came, in order: lines of JSON, or rows of frames."""

    lines: list[bytes] = field(default_factory=list)
    frames: list[Any] = field(default_factory=list)
    order: list[tuple[int, int]] = field(default_factory=list)
    """(-1, line index) or (frame index, row) of each trajectory."""
    credited: set[int] = field(default_factory=set)
    """Lines that hold the columns of an earlier credit run."""


def read_rollouts(
    files: Sequence[str],
    run: Run,
    *,
    reward_from: Literal["reward", "success"] = "reward",
    keep: bool = False,
) -> tuple[Rollouts, Trie, Originals]:
    """Read all inputs and build their trees.

    Args:
        files: names; empty or ``-`` is stdin. JSON lines or Parquet, by content.
        run: gets the counts and the bad records.
        reward_from: see :class:`Gather`.
        keep: hold the records as they came, so that they can be written again.

    Raises:
        BadRecord: the first bad record, or branch that is no branch of its parent, unless ``run`` keeps rejects.
        NoInput: no record in any input.
    """
    gather, originals = Gather(reward_from=reward_from), Originals()
    for source in open_inputs(files, run.note):
        run.start_input(source)
        before = run.read
        try:
            if source.container == "parquet":
                _from_parquet(source, gather, originals if keep else None, run)
            elif source.container == "zip":
                raise BadRecord("a ZIP archive; `xskill canon` reads those it knows", file=source.name, byte=0)
            else:
                _from_lines(source, gather, originals if keep else None, run)
        except BadRecord as error:
            run.read += 1
            run.bad(error.at(source.name))
        run.end_input(source, run.read - before)
    run.check_input()
    return _built(gather, originals, run, keep)


def read_part(
    source: Input, run: Run, *, reward_from: Literal["reward", "success"] = "reward"
) -> tuple[Rollouts, Trie, Originals]:
    """Read the lines of one open input, keep them, and build their trees; raises as :func:`read_rollouts`."""
    gather, originals = Gather(reward_from=reward_from), Originals()
    _from_lines(source, gather, originals, run)
    run.check_input()
    return _built(gather, originals, run, True)


def _built(gather: Gather, originals: Originals, run: Run, keep: bool) -> tuple[Rollouts, Trie, Originals]:
    rollouts = gather.finish()
    trie = build(rollouts)
    while bad := check_links(rollouts, trie):  # a branch of a rejected parent becomes an orphan
        for found in bad.values():
            run.bad(found)
        good = np.ones(rollouts.n, bool)
        good[list(bad)] = False
        run.kept -= len(bad)
        rollouts = rollouts.select(good)
        originals.order = [place for place, kept in zip(originals.order, good, strict=keep) if kept]
        trie = build(rollouts)
    run.check_input()
    return rollouts, trie, originals


def original_lines(originals: Originals, *, with_credits: bool = False) -> Iterator[bytes]:
    """The trajectories as they came, in order, as lines of JSON.

    Args:
        originals: what :func:`read_rollouts` kept.
        with_credits: leave the columns of an earlier credit run in place.
    """
    for frame, row in originals.order:
        if frame < 0:
            line = originals.lines[row]
            yield without_credits(line) if row in originals.credited and not with_credits else line
            continue
        from xskill.streams.columns import unpack

        cells = originals.frames[frame].row(row, named=True)
        if not with_credits:
            cells = {name: cell for name, cell in cells.items() if name not in CREDIT_COLUMNS}
        yield encode(convert(unpack(cells, Trajectory), Trajectory))


def without_credits(line: bytes) -> bytes:
    """A line of JSON without the columns of an earlier credit run."""
    value = msgspec.json.decode(line)
    return msgspec.json.encode({name: field for name, field in value.items() if name not in CREDIT_COLUMNS})


def _from_lines(source: Input, gather: Gather, originals: Originals | None, run: Run) -> None:
    name = source.name
    for number, line in iter_lines(source):
        try:
            record = decode_rollout(line)
            gather.add(record, (name, number))
        except BadRecord as error:
            if error.path == "schema" and _is_header(line):
                continue
            run.read += 1
            run.bad(error.at(name, number, raw=line))
            continue
        run.read += 1
        run.kept += 1
        run.progress(source)
        if originals is not None:
            if record.credits is not msgspec.UNSET:
                originals.credited.add(len(originals.lines))
            originals.order.append((-1, len(originals.lines)))
            originals.lines.append(line)


def _is_header(line: bytes) -> bool:
    try:
        decode(line, CreditsHeader)
    except BadRecord:
        return False
    return True


def _from_parquet(source: Input, gather: Gather, originals: Originals | None, run: Run) -> None:
    from xskill.rollouts.frames import USED, add_frame, add_rows, is_plain
    from xskill.streams.parquet import read_frames

    row = 0
    for frame in read_frames(source, None if originals is not None else USED):
        place = (source.name, row + 1)
        good = add_frame(frame, gather, place, run) if is_plain(frame) else add_rows(frame, gather, place, run)
        if originals is not None:
            originals.order += [(len(originals.frames), i) for i in good]
            originals.frames.append(frame)
        run.read += frame.height
        run.kept += len(good)
        run.progress(source)
        row += frame.height
