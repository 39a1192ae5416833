"""xskill's own trajectories, rollouts and credit streams: read as they are, so that they pass through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from xskill.canon.formats.format import Format
from xskill.canon.reading.episode import Place
from xskill.errors import BadRecord
from xskill.records import CreditsHeader, Trajectory, decode, is_record


def detect(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if "schema" not in value:
        return "id" in value and "steps" not in value and _are_canonical(value.get("actions"))
    schema = value["schema"]
    return isinstance(schema, str) and schema.startswith(("xskill.trajectory/", "xskill.credits/"))


def _are_canonical(actions: Any) -> bool:
    """Canonical tokens, as someone writes them by hand; raw actions do not look like ``verb<role>``."""
    return isinstance(actions, list) and all(isinstance(one, str) and "<" in one and one[-1] == ">" for one in actions)


def read(value: Any, place: Place) -> Iterator[Trajectory]:
    try:
        line = orjson.dumps(value)
    except TypeError:
        raise BadRecord("a number that no record of ours holds, or nested too deeply") from None
    record = read_line(line, place)
    if record is None:
        place.tally.skip("header of a credit stream")
    else:
        yield record


def read_line(line: bytes, place: Place) -> Trajectory | None:
    """The trajectory in a line; None for the header of a credit stream.

    Raises:
        BadRecord: the line breaks the contract.
    """
    try:
        return decode(line, Trajectory)
    except BadRecord as error:
        if error.path == "schema" and is_record(line, CreditsHeader):
            return None
        raise


def _line_reader() -> Callable[[bytes, Place], Trajectory | None]:
    return read_line


FORMAT = Format(
    "xskill",
    "xskill trajectories, rollouts and credits: passed through",
    "record",
    detect,
    read,
    fast=_line_reader,
    passes=True,
)
