"""Rollouts from inputs of any container, into flat arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Literal

import msgspec
import numpy as np

from xskill.errors import BadRecord
from xskill.records import CreditsHeader, Trajectory, encode, is_record
from xskill.records.names import explained
from xskill.rollouts.arrays import Rollouts
from xskill.rollouts.gather import Gather, decode_rollout
from xskill.rollouts.original_records import FileLines, Originals
from xskill.rollouts.prefix_tree import Trie, build, check_links, links_hold
from xskill.streams.lines import iter_lines
from xskill.streams.run import Run
from xskill.streams.source import Input, open_input, open_inputs


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
            else:
                _from_lines(source, gather, originals if keep else None, run)
        except BadRecord as error:
            run.read += 1
            run.bad(error.at(source.name))
        run.end_input(source, run.read - before)
    run.check_input()
    return _built(gather, originals, run, keep)


def load_rollouts(
    records: Iterable[Trajectory], run: Run, *, reward_from: Literal["reward", "success"] = "reward"
) -> tuple[Rollouts, Trie, Originals]:
    """Trajectories that a caller holds, and their trees; see :func:`read_rollouts`.

    Args:
        records: the trajectories; ``run.place`` says where each stands, and has counted it.
        run: of the call.
        reward_from: see :class:`Gather`.

    Raises:
        BadRecord: one without a question, steps or a reward that is none, or a branch that is no branch of its parent.
    """
    gather, originals = Gather(reward_from=reward_from), Originals()
    held: list[bytes] = []
    block = originals.add_block(held)
    for record in records:
        line = encode(record)
        try:
            rollout = decode_rollout(line)
            gather.add(rollout, run.place)
        except BadRecord as error:
            raise error.at(*run.place) from None
        place = (block, len(held))
        originals.order.append(place)
        held.append(line)
        if rollout.credits is not msgspec.UNSET:
            originals.credited.add(place)
    return _built(gather, originals, run, keep=True)


def read_part(
    reopen: Callable[[], Input],
    run: Run,
    *,
    reward_from: Literal["reward", "success"] = "reward",
    hold_texts: bool = True,
) -> tuple[Rollouts, Trie, Originals]:
    """Read the lines of an input that can be opened twice, question by question, and build their trees.

    Args:
        reopen: opens the input.
        run: of the command.
        reward_from, hold_texts: see :class:`Gather`.

    Raises:
        BadRecord: something that :func:`read_rollouts` explains, or can take.
        NoInput: no record.
    """
    gather, originals = Gather(reward_from=reward_from, hold_texts=hold_texts), Originals()
    _from_lines(reopen(), gather, originals, run, reopen)
    run.check_input()
    rollouts = gather.finish()
    trie = build(rollouts)
    if not links_hold(rollouts, trie):
        raise BadRecord("a branch that is no branch of its parent")
    return rollouts, trie, originals


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


def _from_lines(
    source: Input, gather: Gather, originals: Originals | None, run: Run, reopen: Callable[[], Input] | None = None
) -> None:
    name = source.name
    held: list[bytes] | None = None
    block = -1
    if originals is not None:
        if reopen is None and source.path is not None:
            reopen = partial(open_input, name, run.note)
        held = [] if reopen is None else None
        block = originals.add_block(held if reopen is None else FileLines(name, reopen))
    for number, line in iter_lines(source):
        try:
            record = decode_rollout(line)
            gather.add(record, (name, number))
        except BadRecord as error:
            if error.path == "schema" and is_record(line, CreditsHeader):
                continue
            run.read += 1
            run.bad(explained(error, line, Trajectory, run.command).at(name, number, raw=line))
            continue
        run.read += 1
        run.kept += 1
        run.progress(source)
        if originals is not None:
            place = (block, number if held is None else len(held))
            originals.order.append(place)
            if held is not None:
                held.append(line)
            if record.credits is not msgspec.UNSET:
                originals.credited.add(place)


def _from_parquet(source: Input, gather: Gather, originals: Originals | None, run: Run) -> None:
    from xskill.rollouts.gather_frames import USED, add_frame, add_rows, are_plain, has_json, is_plain, steps_of
    from xskill.streams.parquet.columns import all_finite
    from xskill.streams.parquet.reader import read_frames

    row = 0
    for frame in read_frames(source, None if originals is not None else USED, kind=Trajectory, reader=run.command):
        place = (source.name, row + 1)
        whole = originals is not None
        steps = steps_of(frame) if is_plain(frame) and all_finite(frame) else None
        if steps is not None and are_plain(steps) and (not whole or has_json(frame, steps)):
            good = add_frame(frame, steps, gather, place, run)
        else:
            good = add_rows(frame, gather, place, run, whole=whole)
        if originals is not None:
            block = originals.add_block(frame)
            originals.order += [(block, i) for i in good]
        run.read += frame.height
        run.kept += len(good)
        run.progress(source)
        row += frame.height
