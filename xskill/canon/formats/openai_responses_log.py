"""Logs of the OpenAI Responses API: lines with ``request.input`` and ``response.output``.

Clients either send the whole history again or name the ``previous_response_id`` and send what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode, SourceTally
from xskill.canon.reading.exchanges import Exchange, conversations, envelope, episodes, failure
from xskill.canon.reading.fields import at
from xskill.canon.reading.responses import Items

_END = {"type": "xskill_end_of_response"}


def detect(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(at(value, "request.input"), (list, str))
        and isinstance(value.get("response"), dict)
        and ("output" in value["response"] or "error" in value["response"])
    )


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    yield from episodes(conversations(_exchanges(values, place), place.tally), _dialog, place)


def _exchanges(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[Exchange]:
    for number, value in values:
        given = at(value, "request.input")
        response = value.get("response") if isinstance(value, dict) else None
        if not isinstance(given, (list, str)) or not isinstance(response, dict):
            place.tally.lose("line of another kind")
            continue
        history = [{"role": "user", "content": given}] if isinstance(given, str) else given
        output = response.get("output")
        answer = output if isinstance(output, list) else []
        model = at(value, "request.model")
        extra = {**({"model": model} if isinstance(model, str) else {}), **failure(response, place)}
        identity, previous = response.get("id"), at(value, "request.previous_response_id")
        yield Exchange(
            number,
            history,
            [*answer, _END] if answer else [],
            {**envelope(value), "extra": extra},
            identity if isinstance(identity, str) else None,
            previous if isinstance(previous, str) else None,
        )


def _dialog(items: list[Any], tally: SourceTally) -> Dialog:
    dialog = Dialog()
    reader = Items(dialog, tally)
    for item in items:
        if item is _END:
            reader.end()
        elif isinstance(item, dict):
            reader.add(item)
    reader.end()
    return dialog


FORMAT = Format("openai-responses-log", "logged calls of the OpenAI Responses API", "stream", detect, read)
