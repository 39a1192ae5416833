"""Parquet frames of trajectories into flat arrays, column by column."""

from __future__ import annotations

from itertools import chain

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from xskill.errors import BadRecord
from xskill.records import Trajectory, convert
from xskill.rollouts.arrays import STEP_NUMBERS
from xskill.rollouts.gather import Gather, TokenRollout, sum_tokens
from xskill.streams.parquet.columns import TOKENS, check_finite, schema_of, unpack
from xskill.streams.run import Run

USED = ("id", "question_id", "reward", "success", "env", "task", "initial_observation", "parent", "steps")
"""Columns of a trajectory that rollout trees and credit read."""


class _Object(msgspec.Struct):
    """Any JSON object, read to its end and not built."""


_decode_object = msgspec.json.Decoder(_Object).decode


def steps_of(frame: pl.DataFrame) -> pl.DataFrame:
    """The steps of all rows, one below the other."""
    return frame["steps"].explode(empty_as_null=False).struct.unnest()


def is_plain(frame: pl.DataFrame) -> bool:
    """Whether a frame has our writer's columns, with nothing missing and no parent link that is half there."""
    schema = schema_of(Trajectory)
    if any(frame.schema.get(name) != schema[name] for name in USED):
        return False
    if any(frame[name].null_count() for name in ("id", "question_id", "steps")):
        return False
    parent = frame["parent"].struct
    # A struct without a parent is a null in both fields, so a null in one alone is a broken link.
    half = parent.field("id").is_null() != parent.field("turn").is_null()
    return not half.any() and not (parent.field("turn") < 0).any()


def are_plain(steps: pl.DataFrame) -> bool:
    """Whether the steps of a plain frame have numbers that can be taken column by column, and no token lists."""
    if steps["action"].null_count() or not steps["n_tokens"].is_between(1, 2**31).all():
        return False
    if not steps["turn"].is_between(-(2**53), 2**53).all():
        return False
    return all(steps[name + TOKENS].null_count() == len(steps) for name in ("logprob", "logprob_new"))


def numbers_of(steps: pl.DataFrame) -> dict[str, NDArray[np.float64]]:
    """The numbers of plain steps under the names of :data:`STEP_NUMBERS`, null replaced by what it means."""
    return {name: steps[name].cast(pl.Float64).fill_null(null).to_numpy() for name, null in STEP_NUMBERS.items()}


def add_frame(frame: pl.DataFrame, steps: pl.DataFrame, gather: Gather, place: tuple[str, int], run: Run) -> list[int]:
    """Take a plain frame, with plain steps, whose first row is at ``place``; gives the good rows."""
    gather.flush()
    parent_ids, turns = (frame["parent"].struct.field(name).to_list() for name in ("id", "turn"))
    rewards = frame["reward" if gather.reward_from == "reward" else "success"].to_list()
    names = frame["id"].to_list()
    questions = list(zip(*(frame[name].to_list() for name in ("question_id", "env", "task")), strict=True))
    initial = frame["initial_observation"].to_list()
    actions, observations = steps["action"].to_list(), steps["observation"].to_list()
    # Numbers go over as whole columns, further down. Texts must become codes of their question, so they are Python
    # strings here, which is most of the time; the steps of a row are a slice of them.
    good: list[int] = []
    start = 0
    for i, n_steps in enumerate(frame["steps"].list.len().to_list()):
        link = None if parent_ids[i] is None else (parent_ids[i], turns[i])
        at = (place[0], place[1] + i)
        first, start = start, start + n_steps
        try:
            gather.add_head(names[i], questions[i], rewards[i], link, initial[i], n_steps, at)
        except BadRecord as error:
            run.bad(error.at(*at))
            continue
        gather.add_texts(actions[first:start], observations[first:start])
        good.append(i)
    # The arrays hold the steps of good rows only: those of refused ones are cut out of the columns, if there are any.
    if len(good) < frame.height:
        steps = steps_of(frame[good])
    gather.add_numbers(numbers_of(steps))
    return good


def has_json(frame: pl.DataFrame, steps: pl.DataFrame) -> bool:
    """Whether what should be JSON text in a plain frame is that of an object in every row."""
    columns = [table["extra"] for table in (frame, steps) if table.schema.get("extra") == pl.String]
    try:
        # Few texts are met often, so each is decoded once.
        for text in chain(*(column.drop_nulls().unique() for column in columns)):
            _decode_object(text)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def add_rows(
    frame: pl.DataFrame, gather: Gather, place: tuple[str, int], run: Run, *, whole: bool = False
) -> list[int]:
    """Take any frame, row by row; gives the good rows.

    Args:
        frame: the rows.
        gather: gets them.
        place: input and row of the first.
        run: gets the bad ones.
        whole: a row must be a trajectory in all its columns, not only in those that are used.
    """
    good: list[int] = []
    used = frame if whole else frame.select([name for name in USED if name in frame.columns])
    for i, row in enumerate(used.iter_rows(named=True)):
        at = (place[0], place[1] + i)
        try:
            check_finite(row)
            value = unpack(row, Trajectory)
            if whole:
                convert(value, Trajectory)
            gather.add(sum_tokens(convert(value, TokenRollout)), at)
        except BadRecord as error:
            run.bad(error.at(*at))
            continue
        except (ValueError, TypeError) as error:
            run.bad(BadRecord(f"a cell is not what its column promises: {error}").at(*at))
            continue
        good.append(i)
    return good
