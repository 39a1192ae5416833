"""Results of computer-use agents: ``{task, history_resps, step_count}``; an answer is ``<think>`` and ``<action>``.

The action is written as Python writes a list of calls (``{'name', 'input', 'id'}``), or is a word (``DONE``); runs on
web sites have the actions and thoughts in lists of their own beside the raw answers. What came of an action is in
screenshots, which the file does not hold. ``status`` and ``agent_answer`` are what the agent says of itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, loads_maybe
from xskill.canon.reading.dialog import Dialog, ToolCall
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import as_mapping, entry, items, needed, string

_THINK = re.compile(r"<(think|thinking|thought)>(.*?)(?:</\1>|\Z)", re.S)
_ACTION = re.compile(r"<action>(.*?)(?:</action>|\Z)", re.S)
_WORDED = re.compile(r"^Action:[ \t]*\n?(\S.*)\Z", re.S | re.M)
_SAID = re.compile(r"\A\s*Thought:[ \t]*")
_CLAIMS = ("status", "agent_answer", "final_result_response")
_PLACED = frozenset({"task", "history_resps", "task_id", "actions", "thoughts", "urls", *_CLAIMS})
_LONGEST = 1 << 20


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("history_resps"), list):
        return False
    return "task" in value or "task_id" in value


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    dialog = Dialog()
    answers = items(needed(record, "history_resps"), "history_resps")
    actions = items(record.get("actions"), "actions")
    if actions:
        _listed(dialog, record, actions)
        place.tally.skip("raw answers of listed actions", len(answers))
    for answer in answers if not actions else ():
        _answer(dialog, as_text(answer) or "", place)
    claims = {key: record[key] for key in _CLAIMS if record.get(key) not in (None, "")}
    yield RawEpisode(
        steps=dialog.steps,
        question_id=string(record.get("task_id"), "task_id"),
        task=as_text(record.get("task")),
        claim=claims or None,
        extra={key: value for key, value in record.items() if key not in _PLACED},
    )


def _listed(dialog: Dialog, record: dict[str, Any], actions: list[Any]) -> None:
    """Actions with the thoughts and addresses of the same place in their lists."""
    thoughts, urls = items(record.get("thoughts"), "thoughts"), items(record.get("urls"), "urls")
    for index, action in enumerate(actions):
        extra = {"url": urls[index]} if index < len(urls) and isinstance(urls[index], str) else None
        thought = as_text(thoughts[index]) if index < len(thoughts) else None
        dialog.steps.append(RawStep(as_text(action) or "", thought=thought or None, extra=extra))


def _answer(dialog: Dialog, answer: str, place: Place) -> None:
    thinking, acting = _THINK.search(answer), _ACTION.search(answer)
    thought = thinking.group(2).strip() if thinking else None
    if acting is None and (worded := _WORDED.search(answer)):
        said = _SAID.sub("", answer[: worded.start()]).strip()
        dialog.steps.append(RawStep(worded.group(1).strip(), thought=thought or said or None, turn=dialog.turn))
        dialog.turn += 1
        return
    if acting is None:
        dialog.agent(_THINK.sub("", answer).strip(), thought=thought)
        return
    if thought is None:
        thought = answer[: acting.start()].strip() or None
    text = acting.group(1).strip()
    listed = literal(text)
    listed = [listed] if isinstance(listed, dict) else listed
    if isinstance(listed, list) and listed and all(isinstance(call, dict) and _name(call) for call in listed):
        dialog.agent(thought, [ToolCall(None, _name(call), _arguments(call)) for call in listed])
    elif text:
        dialog.steps.append(RawStep(text, thought=thought, turn=dialog.turn))
        dialog.turn += 1
    else:
        place.tally.lose("answers without an action")


def literal(text: str) -> Any:
    """The value that a text of Python or JSON stands for; the text itself where it is neither."""
    if len(text) <= _LONGEST and text[:1] in ("[", "{"):
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            return loads_maybe(text)
    return text


def _name(call: dict[Any, Any]) -> str:
    name = call.get("name", as_mapping(call.get("function")).get("name"))
    return name if isinstance(name, str) else ""


def _arguments(call: dict[Any, Any]) -> Any:
    for key in ("input", "arguments", "args", "parameters"):
        if key in call:
            return _as_json(call[key])
    return {}


def _as_json(value: Any) -> Any:
    """What Python writes and JSON does not hold (tuples, bytes, keys that are no texts) as JSON."""
    if isinstance(value, dict):
        return {str(key): _as_json(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_as_json(inner) for inner in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


FORMAT = Format("cua-result", "results of computer-use agents (history_resps)", "record", detect, read)
