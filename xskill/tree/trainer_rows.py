"""Instances in the columns that trainers read: verl, TRL, SkyRL.

The gold travels as JSON text (``ground_truth``), which :func:`xskill.tree.offline_instances.score` takes as it is; so
the adapters of :mod:`xskill.integrations` need nothing but a row.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl

from xskill.process.standard import to_stdout
from xskill.records import Instance
from xskill.streams.text_out import open_lines, replacing
from xskill.streams.write import container_of
from xskill.tree.forms import TRAINERS

DATA_SOURCE = "xskill_tree"
ENV_CLASS = "xskill_tree"
"""Name under which the SkyRL environment that scores with :func:`xskill.tree.offline_instances.score` is registered."""

_MESSAGES = pl.List(pl.Struct({"role": pl.String, "content": pl.String}))
_ABOUT = {
    "split": pl.String,
    "index": pl.Int64,
    "id": pl.String,
    "kind": pl.String,
    "node": pl.String,
    "depth": pl.Int64,
    "length": pl.Int64,
    "episode": pl.String,
    "question_id": pl.String,
    "task_type": pl.String,
    "env": pl.String,
    "start": pl.Int64,
    "turn": pl.Int64,
}
_Row = dict[str, Any]


def _about(instance: Instance, index: int) -> _Row:
    about = {name: getattr(instance, name) for name in _ABOUT if name != "index"}
    return {**about, "index": index, "split": instance.split or "train"}


def _prompt(instance: Instance) -> list[_Row]:
    return [{"role": message.role, "content": message.content} for message in instance.prompt]


def _gold(instance: Instance) -> str:
    return msgspec.json.encode(instance.gold).decode()


def verl_row(instance: Instance, index: int) -> _Row:
    """``data_source, prompt, ability, reward_model{style, ground_truth}, extra_info{split, index, …}``."""
    return {
        "data_source": DATA_SOURCE,
        "prompt": _prompt(instance),
        "ability": instance.task_type or instance.env or "agent",
        "reward_model": {"style": "rule", "ground_truth": _gold(instance)},
        "extra_info": _about(instance, index),
    }


def trl_row(instance: Instance, index: int) -> _Row:
    """``prompt`` (messages), ``ground_truth`` and the facts, each a column that the reward function is given."""
    return {"prompt": _prompt(instance), "ground_truth": _gold(instance), **_about(instance, index)}


def skyrl_row(instance: Instance, index: int) -> _Row:
    """``data_source, prompt, env_class, reward_spec{method, ground_truth}, extra_info``."""
    return {
        "data_source": DATA_SOURCE,
        "prompt": _prompt(instance),
        "env_class": ENV_CLASS,
        "reward_spec": {"method": "rule", "ground_truth": _gold(instance)},
        "extra_info": _about(instance, index),
    }


@dataclass(frozen=True, slots=True)
class TrainerColumns:
    """What a trainer reads."""

    row: Callable[[Instance, int], _Row]
    """Row of an instance, given its number."""
    schema: dict[str, Any]
    """Columns of the rows in Parquet."""


VERL = TrainerColumns(
    verl_row,
    {
        "data_source": pl.String,
        "prompt": _MESSAGES,
        "ability": pl.String,
        "reward_model": pl.Struct({"style": pl.String, "ground_truth": pl.String}),
        "extra_info": pl.Struct(_ABOUT),
    },
)
TRL = TrainerColumns(trl_row, {"prompt": _MESSAGES, "ground_truth": pl.String, **_ABOUT})
SKYRL = TrainerColumns(
    skyrl_row,
    {
        "data_source": pl.String,
        "prompt": _MESSAGES,
        "env_class": pl.String,
        "reward_spec": pl.Struct({"method": pl.String, "ground_truth": pl.String}),
        "extra_info": pl.Struct(_ABOUT),
    },
)


def write_rows(instances: Iterable[Instance], trainer: str, path: str | None, to: str | None) -> int:
    """Write rows for a trainer as JSON lines or (by ``to``, or the ending of ``path``) as Parquet; their number.

    Raises:
        UsageError: an unknown trainer.
    """
    columns: TrainerColumns = TRAINERS[trainer].load()
    rows = (columns.row(instance, index) for index, instance in enumerate(instances))
    if container_of(path, to) == "parquet":
        frame = pl.DataFrame(list(rows), schema=columns.schema, orient="row")
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        if path is None or path == "-":
            to_stdout(buffer.getvalue())
        else:
            with replacing(path) as target:
                target.write(buffer.getvalue())
        return frame.height
    n = 0
    with open_lines(path) as write_line:
        for value in rows:
            write_line(msgspec.json.encode(value))
            n += 1
    return n
