"""Whole Parquet files of rollouts into flat arrays at once, without an object a row or a step.

polars reads the files in this very process, so only a child process does this (see :mod:`xskill.rollouts.read_apart`).
It takes nothing but what our writer leaves: where anything is odd the answer is None, and
:func:`xskill.rollouts.load.read_rollouts` reads, explains or refuses the files row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
import polars as pl

from xskill.array_types import Ints64
from xskill.errors import XskillError
from xskill.records import Trajectory
from xskill.records.names import tag_of
from xskill.rollouts.arrays import NO_PARENT, ORPHAN, Rollouts, assemble
from xskill.rollouts.gather_frames import USED, are_plain, has_json, is_plain, numbers_of, steps_of
from xskill.rollouts.original_records import Originals
from xskill.rollouts.prefix_tree import Trie, build, links_hold
from xskill.streams.parquet.columns import all_finite, schema_of
from xskill.streams.parquet.reader import check_footer

_ODD = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: spreads small numbers over all bits."""


@dataclass(frozen=True, slots=True)
class Table:
    """What :func:`xskill.rollouts.load.read_rollouts` gives, and the texts of the actions."""

    rollouts: Rollouts
    trie: Trie
    originals: Originals
    actions: pl.Series
    """[S]"""


def read_table(
    files: Sequence[str],
    *,
    reward_from: Literal["reward", "success"] = "reward",
    keep: bool = False,
    hold_texts: bool = False,
) -> Table | None:
    """Read Parquet files and build their trees; None where anything is odd.

    Args:
        files: paths.
        reward_from: see :class:`xskill.rollouts.gather.Gather`.
        keep: read all columns, so that the records can be written again.
        hold_texts: fill ``actions`` and ``observations`` of the rollouts.
    """
    frames = [_read(path, None if keep else ["schema", *USED]) for path in files]
    if any(frame is None for frame in frames):
        return None
    frame = pl.concat([one for one in frames if one is not None])
    if not frame.height or not is_plain(frame):
        return None
    steps = steps_of(frame)
    rest = frame.drop("steps")
    if not all_finite(rest) or not all_finite(steps) or not are_plain(steps) or (keep and not has_json(rest, steps)):
        return None
    if _shared_ids(frame):
        return None
    question = _codes(frame["question_id"])
    links = _links(frame, question)
    if links is None:
        return None
    # Texts stay where polars has them: what equals what is all that trees need, and codes by question say that.
    n_steps = frame["steps"].list.len().to_numpy().astype(np.int64)
    question_of_step = np.repeat(question, n_steps)
    action, observation = (_first_equal(question_of_step, steps[name]) for name in ("action", "observation"))
    # Only a method that compares texts gets tables of them, which hold a Python string for each distinct one.
    reward = frame["reward" if reward_from == "reward" else "success"].cast(pl.Float64)
    sizes = [one.height for one in frames if one is not None]
    tables = (
        _tables(question_of_step, code, steps[name]) if hold_texts else []
        for name, code in (("action", action), ("observation", observation))
    )
    rollouts = assemble(
        ids=frame["id"].to_list(),
        questions=frame["question_id"].unique(maintain_order=True).to_list(),
        actions=next(tables),
        observations=next(tables),
        initial=frame["initial_observation"].to_list(),
        place=list(chain(*([(name, i + 1) for i in range(n)] for name, n in zip(files, sizes, strict=True)))),
        question=question,
        reward=reward.fill_null(np.nan).to_numpy(),
        links=links,
        n_steps=n_steps,
        step_action=action,
        step_observation=observation,
        numbers=numbers_of(steps),
    )
    trie = build(rollouts)
    if not links_hold(rollouts, trie):
        return None
    originals = Originals([frame], [(0, i) for i in range(frame.height)]) if keep else Originals()
    return Table(rollouts, trie, originals, steps["action"])


def _shared_ids(frame: pl.DataFrame) -> bool:
    """Whether a question_id has several environments or task texts, which makes it several questions."""
    kinds = frame.group_by("question_id").agg(pl.col("env", "task").drop_nulls().n_unique())
    return bool((kinds["env"] > 1).any() or (kinds["task"] > 1).any())


def _read(path: str, columns: list[str] | None) -> pl.DataFrame | None:
    try:
        check_footer(path, path)
        schema = pl.read_parquet_schema(path)
        wanted = schema_of(Trajectory)
        if any(schema.get(name) != wanted[name] for name in columns or wanted) or (
            columns is None and list(schema) != list(wanted)
        ):
            return None
        frame = pl.read_parquet(path, columns=columns)
    except (OSError, XskillError, pl.exceptions.PolarsError):
        return None
    return frame if bool((frame["schema"] == tag_of(Trajectory)).all(ignore_nulls=False)) else None


def _first_equal(groups: Ints64, texts: pl.Series) -> Ints64:
    """[n] the first row with the same group and text as each row."""
    # Rows with one key stand together after the sort, in their order, since it is stable; the first of each run is the
    # first equal row. It costs one sort of 64-bit numbers, whatever the length of the texts.
    keys = texts.hash().to_numpy() ^ (groups.astype(np.uint64) * _ODD)
    order = np.argsort(keys, kind="stable")
    ascending = keys[order]
    begins = np.ones(len(keys), bool)
    begins[1:] = ascending[1:] != ascending[:-1]
    first = np.empty(len(keys), np.int64)
    # The position of the last beginning at or before each place is the position of the run's first row.
    first[order] = order[np.maximum.accumulate(np.where(begins, np.arange(len(keys)), 0))]
    # A hash may be wrong, and a crafted file can make it so: each row is compared with its first one, in one pass over
    # the texts, and the slow exact way is taken if any differs.
    if (groups[first] != groups).any() or texts.gather(first).ne_missing(texts).any():  # two of them with one key
        rows = pl.DataFrame({"group": groups, "text": texts}).with_row_index("row")
        first = rows.select(pl.col("row").first().over("group", "text")).to_series().to_numpy().astype(np.int64)
    return first


def _codes(texts: pl.Series) -> Ints64:
    """[n] number of each text, in the order in which they come first."""
    first = _first_equal(np.zeros(len(texts), np.int64), texts)
    new = first == np.arange(len(first))
    return (np.cumsum(new) - 1)[first]


def _links(frame: pl.DataFrame, question: Ints64) -> tuple[Ints64, Ints64] | None:
    """[n] parent and parent_turn of :class:`Rollouts`; None when an id is twice in a question."""
    parent = frame["parent"].struct
    linked = np.flatnonzero(parent.field("id").is_not_null().to_numpy())
    # Ids and the names of parents go through one search: a name's first equal row is the parent, if it is among the
    # ids (the first n rows), and an orphan's else. An id whose first equal row is another one occurs twice.
    names = pl.concat([frame["id"], parent.field("id").gather(linked)])
    first = _first_equal(np.concatenate([question, question[linked]]), names)
    n = frame.height
    if (first[:n] != np.arange(n)).any():
        return None
    index = np.full(n, NO_PARENT, np.int64)
    index[linked] = np.where(first[n:] < n, first[n:], ORPHAN)
    return index, parent.field("turn").fill_null(0).to_numpy().astype(np.int64)


def _tables(question: Ints64, code: Ints64, texts: pl.Series) -> list[dict[Any, int]]:
    """Of each question: text → code."""
    tables: list[dict[Any, int]] = [{} for _ in range(int(question.max(initial=-1)) + 1)]
    new = np.flatnonzero(code == np.arange(len(code)))
    for where, text, first in zip(question[new].tolist(), texts.gather(new).to_list(), new.tolist(), strict=True):
        tables[where][text] = first
    return tables
