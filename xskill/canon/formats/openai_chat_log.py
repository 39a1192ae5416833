"""Logs of OpenAI chat completions: lines with ``request.messages`` and ``response`` (or ``response_chunks``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import add_messages
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode, SourceTally
from xskill.canon.reading.exchanges import Exchange, conversations, envelope, episodes, failure
from xskill.canon.reading.fields import at, items
from xskill.canon.reading.stream_deltas import streamed


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(at(value, "request.messages"), list):
        return False
    if isinstance(value.get("response_chunks"), list):
        return True
    response = value.get("response")
    if not isinstance(response, dict):
        return False
    return "choices" in response or ("error" in response and "type" not in response)


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    yield from episodes(conversations(_exchanges(values, place), place.tally), _dialog, place)


def _exchanges(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[Exchange]:
    for number, value in values:
        messages = at(value, "request.messages")
        if not isinstance(value, dict) or not isinstance(messages, list):
            place.tally.lose("line of another kind")
            continue
        chunks = value.get("response_chunks")
        response = value.get("response")
        answers = streamed(chunks) if isinstance(chunks, list) else _choices(response)
        extra = failure(response, place)
        model = at(value, "request.model")
        meta = {**envelope(value), "extra": {**({"model": model} if isinstance(model, str) else {}), **extra}}
        first, *others = [[answer] for answer in answers] or [[]]
        yield Exchange(number, messages, first, meta, _response_id(response, chunks), choices=others)


def _choices(response: Any) -> list[dict[str, Any]]:
    """The answers of a response, one for each of its choices."""
    choices = items(at(response, "choices"), "response.choices")
    messages = [choice.get("message") for choice in choices if isinstance(choice, dict)]
    return [message for message in messages if isinstance(message, dict)]


def _response_id(response: Any, chunks: Any) -> str | None:
    """What tells a response from others with the same text."""
    for holder in (response, *(chunks[:1] if isinstance(chunks, list) else ())):
        identity = holder.get("id") if isinstance(holder, dict) else None
        if isinstance(identity, str):
            return identity
    return None


def _dialog(messages: list[Any], tally: SourceTally) -> Dialog:
    dialog = Dialog()
    add_messages(dialog, messages, tally)
    return dialog


FORMAT = Format("openai-chat-log", "logged OpenAI chat completions, streamed ones too", "stream", detect, read)
