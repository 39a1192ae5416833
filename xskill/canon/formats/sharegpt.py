"""ShareGPT forms: ``conversations`` with ``from``/``value`` or ``role``/``content``.

ETO and AgentTraj put the action into the text (``Action: …``), LLaMA-Factory has the turns ``function_call`` and
``observation``, plain chats have neither. These sets hold what someone kept as good; that is no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import AGENT, TOOL, add_messages, read_call
from xskill.canon.reading.content_text import loads_maybe
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import boolean, entry, fail, items, needed, number, string
from xskill.canon.reading.react_chat import add_react, is_react

_ROLES = {"human": "user", "gpt": "assistant", "bing": "assistant", "chatgpt": "assistant", "function_response": "tool"}
_GOAL = re.compile(r"Your task is to:? ?(.+?)\.?\s*$", re.S | re.M)
_ENV = re.compile(r"(?:webshop|alfworld|sciworld|scienceworld|textcraft|babyai|intercode|webarena|maze|wordle)", re.I)
_KNOWN = frozenset({"conversations", "id", "item_id", "reward", "success", "tools", "system", "game_file"})


def detect(value: Any) -> bool:
    turns = value.get("conversations") if isinstance(value, dict) else None
    if not isinstance(turns, list) or not turns or not isinstance(turns[0], dict):
        return False
    return ("from" in turns[0] and "value" in turns[0]) or ("role" in turns[0] and "content" in turns[0])


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    messages = [
        _message(turn, f"conversations[{i}]")
        for i, turn in enumerate(items(needed(record, "conversations"), "conversations"))
    ]
    dialog = Dialog()
    react = is_react(messages)
    if react:
        add_react(dialog, messages, place.tally)
    else:
        add_messages(dialog, _in_turns(messages), place.tally, "conversations")
    if record.get("tools"):
        place.tally.skip("tool definitions")
    identity = string(record.get("id", record.get("item_id")), "id")
    task, opening = dialog.task, dialog.initial_observation
    if react and dialog.opening:
        goal = _GOAL.search(dialog.opening[0])
        task, opening = (goal.group(1) if goal else dialog.opening[0]), dialog.opening[0]
    named = _ENV.search(identity or "") if react else None
    extra = {key: value for key, value in record.items() if key not in _KNOWN}
    yield RawEpisode(
        steps=dialog.steps,
        id=identity,
        question_id=string(record.get("game_file"), "game_file"),
        task=task,
        env=named.group().lower() if named else None,
        initial_observation=opening,
        success=boolean(record.get("success"), "success"),
        reward=number(record.get("reward"), "reward"),
        extra=extra,
    )


def _message(turn: Any, path: str) -> dict[str, Any]:
    """A turn as a chat message."""
    if not isinstance(turn, dict):
        raise fail(path, "a turn", turn)
    role = turn.get("from", turn.get("role"))
    content = turn.get("value", turn.get("content"))
    if role == "function_call":
        called = loads_maybe(content)
        calls = called if isinstance(called, list) else [called]
        tool_calls = [read_call(call, path)._asdict() for call in calls]
        return {"role": "assistant", "content": None, "tool_calls": tool_calls}
    return {"role": _ROLES.get(str(role), str(role)), "content": content}


def _in_turns(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Leave out turns that say nothing the dialog knows."""
    for message in messages:
        if message["role"] in AGENT | TOOL or message["role"] in ("user", "system"):
            yield message
        else:
            yield {**message, "role": "system"}


FORMAT = Format("sharegpt", "ShareGPT conversations: ETO, AgentTraj, LLaMA-Factory tools, plain chats", "record",
                detect, read)  # fmt: skip
