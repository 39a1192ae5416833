"""xskill's own trajectories and credit streams; :mod:`xskill.canon.passthrough` passes them through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.episode import Place, RawEpisode

NAME = "xskill"


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


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    raise AssertionError("own trajectories are passed through, not read")


FORMAT = Format(NAME, "xskill trajectories, rollouts and credits: passed through", "record", detect, read)
