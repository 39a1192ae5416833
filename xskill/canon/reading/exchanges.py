"""Request logs of model APIs → conversations: every request repeats the history, so the last one tells it all.

An exchange continues the conversation whose history its own begins with (or the one that its
``previous_response_id`` names). A retry has the same history and takes the place of the failed attempt.
Sessions may be interleaved, and one session id may cover several agents: the histories decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from xskill.canon.reading.content_text import sorted_dumps
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import at

_SESSION = ("session_id", "conversation_id", "thread_id", "trace_id", "run_id")
_IGNORED = frozenset({"id", "status", "annotations", "logprobs", "cache_control", "signature", "refusal", "audio"})


@dataclass(slots=True)
class Exchange:
    """One request with its answer."""

    number: int
    history: list[Any]
    """Messages or items of the request."""
    answer: list[Any]
    """What the model answered, in the same form; empty when the request failed."""
    meta: dict[str, Any] = field(default_factory=dict)
    response_id: str | None = None
    previous_id: str | None = None


@dataclass(slots=True)
class Conversation:
    """The whole of one conversation."""

    first: int
    session: str | None
    history: list[Any]
    meta: dict[str, Any]


def conversations(exchanges: Iterable[Exchange]) -> list[Conversation]:
    """Join exchanges into conversations, in the order of their first exchanges."""
    talks: list[Conversation] = []
    by_history: dict[Any, Conversation] = {}
    by_response: dict[str, Conversation] = {}
    for exchange in exchanges:
        session = session_of(exchange.meta)
        if exchange.previous_id is not None and exchange.previous_id in by_response:
            conversation = by_response[exchange.previous_id]
            conversation.history = conversation.history + exchange.history + exchange.answer
            conversation.meta = exchange.meta
        else:
            mark: Any = session
            talk: Conversation | None = None
            marks = []
            for message in exchange.history:
                mark = hash((mark, _fingerprint(message)))
                marks.append(mark)
            for mark in reversed(marks):
                talk = by_history.get(mark)
                if talk is not None:
                    break
            whole = exchange.history + exchange.answer
            if talk is None:
                conversation = Conversation(exchange.number, session, whole, exchange.meta)
                talks.append(conversation)
            else:
                conversation = talk
                conversation.history, conversation.meta = whole, exchange.meta
            if marks:
                by_history[marks[-1]] = conversation
        if exchange.response_id is not None:
            by_response[exchange.response_id] = conversation
    return talks


def session_of(meta: dict[str, Any]) -> str | None:
    """The session that a request names, at its top level or in its metadata."""
    for key in _SESSION:
        for value in (meta.get(key), at(meta, f"metadata.{key}")):
            if isinstance(value, str) and value:
                return value
    return None


def episodes(talks: list[Conversation], dialogs: Iterable[tuple[Dialog, dict[str, Any]]]) -> Iterator[RawEpisode]:
    """Raw episodes of conversations; a session with several gets numbered ids."""
    seen: dict[str, int] = {}
    for conversation, (dialog, extra) in zip(talks, dialogs, strict=True):
        identity = conversation.session
        if identity is not None:
            seen[identity] = seen.get(identity, 0) + 1
            identity = identity if seen[identity] == 1 else f"{identity}-{seen[identity]}"
        metadata = conversation.meta.get("metadata")
        yield RawEpisode(
            steps=dialog.steps,
            id=identity,
            task=dialog.task,
            initial_observation=dialog.initial_observation,
            extra={**({"metadata": metadata} if metadata else {}), **extra},
            record=conversation.first,
        )


def envelope(value: dict[str, Any]) -> dict[str, Any]:
    """What stands beside request and response."""
    return {key: item for key, item in value.items() if key not in ("request", "response", "response_chunks")}


def failure(response: Any, place: Place) -> dict[str, Any]:
    """The error that came in place of an answer."""
    error = response.get("error") if isinstance(response, dict) else None
    if not error:
        return {}
    place.tally.skip("failed request")
    return {"error": error}


def _fingerprint(message: Any) -> str:
    """What makes a message the same when it is sent again; ids and wrappings that SDKs add do not count."""
    if not isinstance(message, dict):
        return sorted_dumps(message)
    return sorted_dumps({k: v for k, v in message.items() if k not in _IGNORED and v not in (None, [], "")})
