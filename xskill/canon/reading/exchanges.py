"""Request logs of model APIs → conversations: every request repeats the history, so the last one tells it all.

An exchange continues the conversation whose history and answer its own history begins with (or the one that its
``previous_response_id`` names). Sessions may be interleaved, and one session id may cover several agents: the histories
decide. When the same history is sent again,

* and nothing had answered it, the exchange is a retry and takes the place of the failed attempt;
* and the record is one that was read already (the same response id, or nothing that tells the two apart), it is the
  same exchange, logged twice, and counts once;
* otherwise it is another run: a conversation of its own, a branch of the first where the two share turns.

Each choice of an answer with several is a run of its own.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from xskill.canon.reading.content_text import sorted_dumps
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode, SourceTally
from xskill.canon.reading.fields import at
from xskill.records import Parent

_SESSION = ("session_id", "conversation_id", "thread_id", "trace_id", "run_id")
_IGNORED = frozenset({"id", "status", "annotations", "logprobs", "cache_control", "signature", "refusal", "audio"})
_ANSWERING = ("assistant", "function_call", "reasoning")


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
    choices: list[list[Any]] = field(default_factory=list)
    """Further answers to the same request, in the form of ``answer``."""


@dataclass(slots=True)
class Conversation:
    """The whole of one conversation."""

    first: int
    session: str | None
    history: list[Any]
    meta: dict[str, Any]
    asked: int = 0
    """Length of the history that the last request sent; what follows it is the last answer."""
    branch_of: Conversation | None = None
    shared: int = 0
    """Messages at the start that ``branch_of`` has too."""

    @property
    def answered(self) -> bool:
        """Whether anything came back for the last request."""
        return len(self.history) > self.asked


class _Joiner:
    """Finds the conversation that an exchange belongs to, by hashes of histories: linear in the size of the log."""

    def __init__(self, tally: SourceTally) -> None:
        self.conversations: list[Conversation] = []
        self._tally = tally
        self._ends: dict[int, deque[Conversation]] = {}  # hash of history and answer → who stands there
        self._starts: dict[int, deque[Conversation]] = {}  # hash of a history that was sent → whom it was sent for
        self._holds: dict[int, tuple[Conversation, int]] = {}  # hash of any prefix → its first owner, its length
        self._answers: dict[int, set[str | None]] = {}  # hash of history and answer → response ids that brought it
        self._by_response: dict[str, Conversation] = {}

    def add(self, exchange: Exchange) -> None:
        """Continue a conversation, or begin one."""
        session = session_of(exchange.meta)
        before = self._by_response.get(exchange.previous_id) if exchange.previous_id is not None else None
        if before is not None:
            before.asked = len(before.history) + len(exchange.history)
            before.history = before.history + exchange.history + exchange.answer
            before.meta = exchange.meta
            conversation: Conversation | None = before
        else:
            marks = _marks(session, exchange.history)
            conversation = self._place(exchange, exchange.answer, session, marks)
            for choice in exchange.choices:
                self._begin(exchange, choice, session, _marks(session, exchange.history))
        if exchange.response_id is not None and conversation is not None:
            self._by_response[exchange.response_id] = conversation

    def _place(
        self, exchange: Exchange, answer: list[Any], session: str | None, marks: list[int]
    ) -> Conversation | None:
        asked = marks[-1] if marks else hash(session)
        whole = _marks(session, answer, asked)
        end = whole[-1] if whole else asked
        seen = self._answers.get(end)
        if answer and end in self._holds and (seen is None or exchange.response_id in seen):
            if seen is not None:
                self._tally.skip("exchange logged twice")
            self._answers.setdefault(end, set()).add(exchange.response_id)
            return self._holds[end][0]  # told already: by a later request's history, or by this very record
        conversation = self._continued(exchange.history, marks)
        if conversation is None and not answer and end in self._holds:
            return None  # a request that failed where an earlier one was answered is no run
        if conversation is None:
            return self._begin(exchange, answer, session, marks)
        conversation.history, conversation.meta = exchange.history + answer, exchange.meta
        self._register(conversation, exchange, answer, marks)
        return conversation

    def _continued(self, history: list[Any], marks: list[int]) -> Conversation | None:
        """The conversation that a history goes on with, or whose failed request it repeats."""
        for length in range(len(marks), 0, -1):
            mark = marks[length - 1]
            for conversation in self._ends.get(mark, ()):
                if len(conversation.history) == length and (length < len(marks) or not conversation.answered):
                    return conversation
            # SDKs change answers before they send them back (reasoning is dropped, texts are trimmed): a history
            # that goes on with some answer where the last request ended belongs to who waits there longest
            if length < len(marks) and _is_answer(history[length]):
                for conversation in self._starts.get(mark, ()):
                    if conversation.asked == length:
                        return conversation
        return None

    def _begin(self, exchange: Exchange, answer: list[Any], session: str | None, marks: list[int]) -> Conversation:
        conversation = Conversation(exchange.number, session, exchange.history + answer, exchange.meta)
        for length in range(len(marks), 0, -1):
            owner = self._holds.get(marks[length - 1])
            if owner is not None:
                conversation.branch_of, conversation.shared = owner[0], length
                break
        self.conversations.append(conversation)
        self._register(conversation, exchange, answer, marks)
        return conversation

    def _register(self, conversation: Conversation, exchange: Exchange, answer: list[Any], marks: list[int]) -> None:
        session = conversation.session
        asked = marks[-1] if marks else hash(session)
        whole = _marks(session, answer, asked)
        conversation.asked = len(marks)
        for length, mark in enumerate((*marks, *whole), 1):
            self._holds.setdefault(mark, (conversation, length))
        end = whole[-1] if whole else asked
        self._ends.setdefault(end, deque()).append(conversation)
        self._starts.setdefault(asked, deque()).append(conversation)
        if answer:
            self._answers.setdefault(end, set()).add(exchange.response_id)


def conversations(exchanges: Iterable[Exchange], tally: SourceTally) -> list[Conversation]:
    """Join exchanges into conversations, in the order of their first exchanges."""
    joiner = _Joiner(tally)
    for exchange in exchanges:
        joiner.add(exchange)
    return joiner.conversations


def _marks(session: str | None, messages: list[Any], start: int | None = None) -> list[int]:
    """Hash of each prefix of a list of messages that follows ``start``."""
    mark = hash(session) if start is None else start
    marks = []
    for message in messages:
        mark = hash((mark, _fingerprint(message)))
        marks.append(mark)
    return marks


def _is_answer(message: Any) -> bool:
    return isinstance(message, dict) and (message.get("role") or message.get("type")) in _ANSWERING


def session_of(meta: dict[str, Any]) -> str | None:
    """The session that a request names, at its top level or in its metadata."""
    for key in _SESSION:
        for value in (meta.get(key), at(meta, f"metadata.{key}")):
            if isinstance(value, str) and value:
                return value
    return None


def episodes(
    joined: list[Conversation],
    retell: Callable[[list[Any], SourceTally], Dialog],
    place: Place,
) -> Iterator[RawEpisode]:
    """Raw episodes of conversations; those of a session, or of one request, with several get numbered ids.

    Args:
        joined: as :func:`conversations` gives them.
        retell: makes the dialog of a list of messages.
        place: where the log is; its tally gets what the dialogs leave out.
    """
    count: Counter[str] = Counter()
    ids: dict[int, str] = {}
    for conversation in joined:
        base = conversation.session or f"{place.stem}-{conversation.first}"
        count[base] += 1
        identity = ids[id(conversation)] = base if count[base] == 1 else f"{base}-{count[base]}"
        dialog = retell(conversation.history, place.tally)
        parent = None
        if conversation.branch_of is not None:
            shared = retell(conversation.history[: conversation.shared], SourceTally())
            if shared.turn:
                parent = Parent(id=ids[id(conversation.branch_of)], turn=shared.turn, step=len(shared.steps))
        extra = conversation.meta["extra"]
        metadata = conversation.meta.get("metadata")
        yield RawEpisode(
            steps=dialog.steps,
            id=identity,
            task=dialog.task,
            initial_observation=dialog.initial_observation,
            parent=parent,
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
