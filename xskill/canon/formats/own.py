"""xskill's own trajectories and credit streams; :mod:`xskill.canon.own` passes them through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.episode import Place, RawEpisode
from xskill.canon.formats.table import Format

NAME = "xskill"


def detect(value: Any) -> bool:
    schema = value.get("schema") if isinstance(value, dict) else None
    return isinstance(schema, str) and schema.startswith(("xskill.trajectory/", "xskill.credits/"))


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    raise AssertionError("own trajectories are passed through, not read")


FORMAT = Format(NAME, "xskill trajectories, rollouts and credits: passed through", "record", detect, read)
