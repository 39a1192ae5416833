"""Logs of the Anthropic Messages API: lines with ``request.messages`` and a ``message`` (or an error) as response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import add_messages
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode, SourceTally
from xskill.canon.reading.exchanges import Exchange, conversations, envelope, episodes, failure
from xskill.canon.reading.fields import at


def detect(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(at(value, "request.messages"), list)
        and isinstance(value.get("response"), dict)
        and value["response"].get("type") in ("message", "error")
    )


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    yield from episodes(conversations(_exchanges(values, place), place.tally), _dialog, place)


def _exchanges(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[Exchange]:
    for number, value in values:
        messages = at(value, "request.messages")
        response = value.get("response") if isinstance(value, dict) else None
        if not isinstance(messages, list) or not isinstance(response, dict):
            place.tally.lose("line of another kind")
            continue
        answered = response.get("type") == "message"
        model = at(value, "request.model")
        extra = {**({"model": model} if isinstance(model, str) else {}), **failure(response, place)}
        answer = [{"role": "assistant", "content": response.get("content")}] if answered else []
        yield Exchange(number, messages, answer, {**envelope(value), "extra": extra})


def _dialog(messages: list[Any], tally: SourceTally) -> Dialog:
    dialog = Dialog()
    add_messages(dialog, messages, tally)
    return dialog


FORMAT = Format("anthropic-log", "logged calls of the Anthropic Messages API", "stream", detect, read)
