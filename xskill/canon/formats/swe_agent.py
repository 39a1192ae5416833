"""SWE-agent ``.traj`` files, 0.x and 1.x: ``trajectory``, ``history``, ``info``.

``trajectory`` holds what the harness ran; ``history`` repeats it as messages (with demonstrations,
marked ``is_demo``) and gives the task text. Runs with several attempts hold one pair for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, loads_maybe
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import at, entry, fail, items, mapping, needed

_INFO = ("exit_status", "submission", "model_stats", "swe_agent_version")
_INSTANCE = re.compile(r"[\w.-]+__[\w.-]+-\d+$")


def detect(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("trajectory"), list) and "history" in value:
        return True
    attempts = value.get("attempts")
    return isinstance(attempts, list) and bool(attempts) and all(map(detect, attempts))


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    replay = loads_maybe(record.get("replay_config"))
    problem = at(replay, "problem_statement") if isinstance(replay, dict) else None
    instance = at(problem, "id")
    if not isinstance(instance, str):
        instance = place.stem if _INSTANCE.match(place.stem) else None
    attempts = record.get("attempts")
    if isinstance(attempts, list) and attempts:
        for number, attempt in enumerate(attempts):
            yield _attempt(entry(attempt), place, problem, instance, attempt=number)
    else:
        yield _attempt(record, place, problem, instance)


def _attempt(
    record: dict[str, Any], place: Place, problem: Any, instance: str | None, attempt: int | None = None
) -> RawEpisode:
    history = items(record.get("history"), "history")
    demos = sum(1 for message in history if isinstance(message, dict) and message.get("is_demo"))
    if demos:
        place.tally.skip("demonstration message", demos)
    info = mapping(record.get("info"), "info")
    extra = {key: info[key] for key in _INFO if info.get(key) not in (None, "")}
    if attempt is not None:
        extra["attempt"] = attempt
    name = place.stem if attempt is None else f"{place.stem}-{attempt}"
    return RawEpisode(
        steps=_steps(items(needed(record, "trajectory"), "trajectory"), place),
        id=name,
        question_id=instance,
        task=as_text(at(problem, "text")) or _first_user(history),
        claim=info.get("exit_status"),
        extra={key: value for key, value in extra.items() if key != "exit_status"},
    )


def _steps(listed: list[Any], place: Place) -> list[RawStep]:
    steps = []
    for index, one in enumerate(listed):
        path = f"trajectory[{index}]"
        if not isinstance(one, dict):
            raise fail(path, "an object", one)
        action = one.get("action")
        if not isinstance(action, str):
            raise fail(f"{path}.action", "a string", action)
        if not action.strip():
            place.tally.lose("step without an action")
            continue
        steps.append(
            RawStep(
                action.strip("\n"),
                as_text(one.get("observation")),
                as_text(one.get("thought")) or None,
                "command",
            )
        )
    return steps


def _first_user(history: list[Any]) -> str | None:
    for message in history:
        if isinstance(message, dict) and message.get("role") == "user" and not message.get("is_demo"):
            return as_text(message.get("content"))
    return None


FORMAT = Format("swe-agent", "SWE-agent .traj files (0.x, 1.x)", "record", detect, read)
