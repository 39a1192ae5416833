"""WebVoyager ``interact_messages.json``: the chat of one task; the action stands in the text (``Action: Click [68]``).

``ANSWER; …`` ends the run: it is the agent's word, not a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, join
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import items
from xskill.canon.reading.react_chat import add_react

_TASK = re.compile(r"Now given a task:\s*(.*?)\s+Please interact with (\S+) and get the answer\.\s*(.*)\Z", re.S)
_NAME = re.compile(r"task([A-Za-z][\w ]*?)--(\d+)")


def detect(value: Any) -> bool:
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(m, dict) for m in value[:2]):
        return False
    first = as_text(value[0].get("content")) or ""
    return value[0].get("role") == "system" and "Numerical Labels" in first


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    dialog = Dialog()
    add_react(dialog, items(record, ""), place.tally)
    opening = _TASK.match(dialog.task or "")
    folder = place.path.resolve().parent.name if place.path is not None else ""
    named = _NAME.search(folder) or _NAME.search(place.stem)
    question = f"{named.group(1)}--{named.group(2)}" if named else None
    last = dialog.steps[-1].action if dialog.steps else None
    answer = last.partition(";")[2].strip() if last and last.upper().startswith("ANSWER") else None
    yield RawEpisode(
        steps=dialog.steps,
        id=place.stem if folder == "" or not _NAME.search(folder) else folder,
        question_id=question,
        task=opening.group(1) if opening else dialog.task,
        env="webvoyager",
        initial_observation=join(opening.group(3) if opening else None, dialog.initial_observation),
        claim=answer,
        extra={"url": opening.group(2)} if opening else {},
    )


FORMAT = Format("webvoyager", "WebVoyager interact_messages.json", "record", detect, read, whole=True)
