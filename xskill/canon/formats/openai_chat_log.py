"""Logs of OpenAI chat completions: lines with ``request.messages`` and ``response`` (or ``response_chunks``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import add_messages
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.exchanges import Conversation, Exchange, conversations, envelope, episodes, failure
from xskill.canon.reading.fields import at, items


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
    talks = conversations(_exchanges(values, place))
    yield from episodes(talks, (_dialog(conversation, place) for conversation in talks))


def _exchanges(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[Exchange]:
    for number, value in values:
        messages = at(value, "request.messages")
        if not isinstance(value, dict) or not isinstance(messages, list):
            place.tally.skip("line of another kind")
            continue
        chunks = value.get("response_chunks")
        response = value.get("response")
        answer = _from_chunks(chunks) if isinstance(chunks, list) else at(response, "choices.0.message")
        extra = failure(response, place)
        model = at(value, "request.model")
        meta = {**envelope(value), "extra": {**({"model": model} if isinstance(model, str) else {}), **extra}}
        yield Exchange(number, messages, [answer] if isinstance(answer, dict) else [], meta)


def _from_chunks(chunks: list[Any]) -> dict[str, Any] | None:
    """Put a streamed answer together: texts in order, the pieces of a call by its index."""
    texts: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    seen = False
    for chunk in chunks:
        delta = at(chunk, "choices.0.delta")
        if not isinstance(delta, dict):
            continue
        seen = True
        if isinstance(delta.get("content"), str):
            texts.append(delta["content"])
        for piece in items(delta.get("tool_calls"), "delta.tool_calls"):
            index = piece.get("index") if isinstance(piece, dict) else None
            if not isinstance(index, int):
                continue
            call = calls.setdefault(index, {"id": None, "function": {"name": "", "arguments": ""}})
            call["id"] = call["id"] or piece.get("id")
            for key in ("name", "arguments"):
                text = at(piece, f"function.{key}")
                if isinstance(text, str):
                    call["function"][key] += text
    if not seen:
        return None
    return {"role": "assistant", "content": "".join(texts) or None, "tool_calls": [calls[i] for i in sorted(calls)]}


def _dialog(conversation: Conversation, place: Place) -> tuple[Dialog, dict[str, Any]]:
    dialog = Dialog()
    add_messages(dialog, conversation.history, place.tally)
    return dialog, conversation.meta["extra"]


FORMAT = Format("openai-chat-log", "logged OpenAI chat completions, streamed ones too", "stream", detect, read)
