"""AgentBench ``runs.jsonl``: ``{index, error, info, output: {status, result, history}, time}``, a run a line.

The agent acts in its text (``Act: bash`` with a fence, ``Action: search[…]``, ``GET url``), the environment answers as
the user. ``status: completed`` only says that the run ended; ``result`` is a verdict where it is true or false, a
number, or an object with such a field, else the agent's own answer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import boolean, entry, items, mapping, number, string

_ACT = re.compile(r"^[ \t]*(?:act|action):[ \t]*\n?", re.I | re.M)
_THOUGHT = re.compile(r"\A\s*(?:think|thought):[ \t]*\n?", re.I)
_FENCE = re.compile(r"```([\w+-]*)[ \t]*\n(.*?)(?:\n?```|\Z)", re.S)
_REQUEST = re.compile(r"\A\s*(GET|POST|PUT|DELETE|PATCH) (\S+)[ \t]*\n?(.*)\Z", re.S)
_END = re.compile(r"\A\s*(?:FINISH\(.*\)|Final Answer:.*)\s*\Z", re.S)
_SEEN = re.compile(r"\A\s*(?:Observation:|The output of the OS:)\s*")
_FAILED = re.compile(r"\A\s*Error\b")
_TASKS = (
    re.compile(r"Now, (?:my|I will give you) (?:a new )?problem(?: is)?:\s*(.+)", re.S),
    re.compile(r"Instruction: \[SEP\] (.+?)(?: \[SEP\]|\s*\Z)", re.S),
    re.compile(r"Your task is to:? (.+?)\s*$", re.M),
    re.compile(r"^Context:.*^Question: (.+)", re.S | re.M),
    re.compile(r"\bQuestion: (.+)\Z", re.S),
)
_RUNNERS = {"bash": "command", "shell": "command", "sh": "command", "python": "action", "operation": "action"}
_WON = ("result", "success", "correct", "is_correct")
_GRADE = ("reward", "score")


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or not {"index", "output", "time"} <= value.keys():
        return False
    output = value["output"]
    return isinstance(output, dict) and "history" in output if output is not None else "error" in value


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    output = record.get("output")
    if output is None:
        place.tally.lose("runs that failed without an output")
        return
    output = mapping(output, "output")
    turns = []
    for at, turn in enumerate(items(output.get("history"), "output.history")):
        turn = mapping(turn, f"output.history[{at}]")
        turns.append((turn.get("role"), as_text(turn.get("content")) or ""))
    dialog = _replay(turns, place)
    index = string(record.get("index"), "index")
    success, reward, rest = _verdict(output.get("result"))
    extra: dict[str, Any] = {key: output[key] for key in ("status",) if output.get(key) is not None}
    extra.update({key: record[key] for key in ("error", "info") if record.get(key)})
    digest = hashlib.sha256((dialog.task or "").encode("utf-8", "replace")).hexdigest()[:8]
    yield RawEpisode(
        steps=dialog.steps,
        question_id=f"{index}-{digest}" if index is not None else None,
        task=_task(dialog),
        initial_observation=dialog.initial_observation,
        success=success,
        reward=reward,
        claim=rest,
        extra=extra,
    )


def _replay(turns: list[tuple[Any, str]], place: Place) -> Dialog:
    dialog = Dialog()
    acts = any(role == "agent" and _action(text) is not None for role, text in turns)
    for role, text in turns:
        if role in ("agent", "assistant"):
            step = _action(text)
            if step is not None:
                step.turn = dialog.turn
                dialog.steps.append(step)
                dialog.turn += 1
            elif acts and not dialog.steps:
                place.tally.skip("scripted answer before the first action")
            else:
                dialog.agent(text)
        elif role == "user":
            last = dialog.steps[-1] if dialog.steps else None
            if last is None or last.kind == "respond" or last.observation is not None:
                dialog.user(text)
            else:
                last.observation = _SEEN.sub("", text, count=1)
                last.error = _FAILED.match(text) is not None
        else:
            place.tally.lose("message of another role")
    return dialog


def _action(text: str) -> RawStep | None:
    """What the agent does in a text; None when it only speaks."""
    request = _REQUEST.match(text)
    if request:
        arguments: dict[str, Any] = {"url": request.group(2)}
        if request.group(3).strip():
            arguments["body"] = request.group(3).strip()
        return RawStep(kind="call", name=request.group(1), arguments=arguments)
    if _END.match(text):
        return RawStep(text.strip())
    acting = _ACT.search(text)
    if acting is None:
        return None
    thought = _THOUGHT.sub("", text[: acting.start()]).strip() or None
    rest = text[acting.end() :].strip()
    fence = _FENCE.search(rest)
    runner = rest.split(None, 1)[0].lower() if rest else ""
    if fence and runner in _RUNNERS:
        kind: Any = _RUNNERS[runner]
        return RawStep(fence.group(2).strip(), thought=thought, kind=kind, extra={"runner": runner})
    return RawStep(rest, thought=thought) if rest else None


def _task(dialog: Dialog) -> str | None:
    """The problem itself, which comes after the instructions."""
    for text in (*dialog.opening, dialog.task):
        for pattern in _TASKS:
            problem = pattern.search(text) if text else None
            if problem:
                return problem.group(1).strip()
    return dialog.task


def _verdict(result: Any) -> tuple[bool | None, float | None, Any]:
    """Success, reward, and what else the result says."""
    if isinstance(result, bool):
        return result, None, None
    if isinstance(result, (int, float)):
        return None, float(result), None
    if not isinstance(result, dict):
        return None, None, result
    success = next((result[k] for k in _WON if isinstance(result.get(k), bool) or result.get(k) in (0, 1)), None)
    reward = next((result[k] for k in _GRADE if isinstance(result.get(k), (int, float))), None)
    rest = {key: value for key, value in result.items() if key not in (*_WON, *_GRADE)}
    return boolean(success, "output.result"), number(reward, "output.result"), rest or None


FORMAT = Format("agentbench", "AgentBench runs.jsonl: runs with output.history", "record", detect, read)
