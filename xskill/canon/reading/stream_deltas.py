"""Streamed answers put together: the deltas of chat completion chunks → messages, one for each choice.

A piece of a call belongs to the call of its ``index``. Writers that leave the index out, or send 0 with every call,
begin a new call with a new id; a piece without either goes on with the last call. Some repeat the name in every chunk.
"""

from __future__ import annotations

from typing import Any

from xskill.canon.reading.fields import at, items

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")


class _StreamedMessage:
    """The message of one choice while its pieces come."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}
        self.calls: list[dict[str, Any]] = []
        self._by_index: dict[int, dict[str, Any]] = {}
        self._legacy: dict[str, Any] | None = None

    def add(self, delta: dict[str, Any]) -> None:
        """One delta."""
        for key in _TEXTS:
            text = delta.get(key)
            if isinstance(text, str):
                self.texts.setdefault(key, []).append(text)
        for piece in items(delta.get("tool_calls"), "delta.tool_calls"):
            if isinstance(piece, dict):
                _add_piece(self._call_of(piece), piece)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            if self._legacy is None:
                self._legacy = self._new(None)
            _add_piece(self._legacy, {"function": legacy})

    def _call_of(self, piece: dict[str, Any]) -> dict[str, Any]:
        index, identity = piece.get("index"), piece.get("id") or None
        last = self.calls[-1] if self.calls else None
        call = self._by_index.get(index) if isinstance(index, int) else last
        if call is not None and identity is not None and call["id"] not in (None, identity):
            call = next((one for one in self.calls if one["id"] == identity), None)  # an index that was used again
        elif call is not None and not isinstance(index, int) and identity is None and at(piece, "function.name"):
            call = call if _is_open(call) else None  # neither index nor id: a name after whole arguments begins a call
        if call is None:
            call = self._new(identity)
        if isinstance(index, int):
            self._by_index[index] = call
        call["id"] = call["id"] or identity
        return call

    def _new(self, identity: str | None) -> dict[str, Any]:
        call = {"id": identity, "function": {"name": "", "arguments": ""}}
        self.calls.append(call)
        return call

    def message(self) -> dict[str, Any]:
        """What the pieces make."""
        texts = {key: "".join(parts) or None for key, parts in self.texts.items()}
        return {"role": "assistant", "content": None, **texts, "tool_calls": self.calls}


def streamed(chunks: list[Any]) -> list[dict[str, Any]]:
    """The messages that chunks make, in the order of their choices; none where no chunk has a delta."""
    messages: dict[int, _StreamedMessage] = {}
    for chunk in chunks:
        for choice in items(chunk.get("choices") if isinstance(chunk, dict) else None, "response_chunks.choices"):
            delta = choice.get("delta") if isinstance(choice, dict) else None
            if isinstance(delta, dict):
                index = choice.get("index")
                messages.setdefault(index if isinstance(index, int) else 0, _StreamedMessage()).add(delta)
    return [messages[index].message() for index in sorted(messages)]


def _add_piece(call: dict[str, Any], piece: dict[str, Any]) -> None:
    function = call["function"]
    name, arguments = at(piece, "function.name"), at(piece, "function.arguments")
    if isinstance(name, str) and not function["arguments"] and function["name"] != name:
        function["name"] += name
    if isinstance(arguments, str):
        function["arguments"] += arguments
    elif arguments is not None and not function["arguments"]:
        function["arguments"] = arguments


def _is_open(call: dict[str, Any]) -> bool:
    """Whether the arguments of a call are still to come."""
    return not call["function"]["arguments"]
