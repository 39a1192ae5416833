"""Reflexion ``env_results_trial_N.json``: ``{name, memory, is_success}`` for every environment, without steps.

Success is cumulative over the trials: what was won earlier is skipped and stays true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import boolean, entry, string

_TRIAL = re.compile(r"trial_(\d+)")


def detect(value: Any) -> bool:
    return isinstance(value, dict) and "is_success" in value and "memory" in value and "name" in value


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    name = string(record.get("name"), "name")
    trial = _TRIAL.search(place.stem)
    extra: dict[str, Any] = {"reflections": record["memory"]} if record.get("memory") else {}
    if trial:
        extra["trial"] = int(trial.group(1))
        if extra["trial"] > 0:
            extra["outcome_of"] = "this trial or an earlier one"
    if record.get("skip") is not None:
        extra["skip"] = record["skip"]
    yield RawEpisode(
        steps=[],
        id=f"{place.stem}-{name}",
        question_id=name,
        success=boolean(record.get("is_success"), "is_success"),
        extra=extra,
    )


FORMAT = Format("reflexion", "Reflexion env_results (outcomes; no steps)", "record", detect, read)
