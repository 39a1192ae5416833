"""tau2-bench results: ``{info, tasks, simulations}``; the tasks lie beside the simulations.

The user can call tools too (``requestor: user``); those are no actions of the agent. The first greeting is
scripted (it has no ``raw_data``) and is no action either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import add_messages
from xskill.canon.reading.content_text import as_text, join, sorted_dumps
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import at, entries, entry, items, mapping, needed, number, string

_KEPT = ("trial", "seed", "termination_reason", "duration", "agent_cost", "user_cost")


def detect(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("simulations"), list) and "tasks" in value


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    tasks = {str(task.get("id")): task for task in entries(record.get("tasks"))}
    domain = at(record.get("info"), "environment_info.domain_name")
    for index, simulation in enumerate(items(needed(record, "simulations"), "simulations"), 1):
        simulation = mapping(simulation, f"simulations[{index - 1}]")
        task_id = string(simulation.get("task_id"), f"simulations[{index - 1}].task_id")
        dialog = Dialog()
        _messages(dialog, items(simulation.get("messages"), "messages"), place)
        verdict = mapping(simulation.get("reward_info"), "reward_info")
        extra = {key: simulation[key] for key in _KEPT if simulation.get(key) is not None}
        checks = {key: value for key, value in verdict.items() if key != "reward" and value not in (None, [])}
        if checks:
            extra["reward_info"] = checks
        yield RawEpisode(
            steps=dialog.steps,
            id=string(simulation.get("id"), f"simulations[{index - 1}].id"),
            question_id=task_id,
            task=_task(tasks.get(task_id or "")),
            env=domain if isinstance(domain, str) else None,
            initial_observation=join(dialog.task, dialog.initial_observation),
            reward=number(verdict.get("reward"), f"simulations[{index - 1}].reward_info.reward"),
            extra=extra,
            record=index,
        )


def _messages(dialog: Dialog, messages: list[Any], place: Place) -> None:
    for index, message in enumerate(_flat(messages)):
        opening = dialog.task is None and not dialog.steps
        if opening and isinstance(message, dict) and _is_greeting(message):
            place.tally.skip("scripted greeting")
            continue
        if isinstance(message, dict) and _by_user(message):
            dialog.user(_user_tool(message))
            continue
        add_messages(dialog, [message], place.tally, f"messages[{index}]"[:-3])


def _flat(messages: list[Any]) -> Iterator[Any]:
    """Results of parallel calls come wrapped in one message."""
    for message in messages:
        inner = message.get("tool_messages") if isinstance(message, dict) else None
        if isinstance(inner, list):
            yield from inner
        else:
            yield message


def _is_greeting(message: dict[str, Any]) -> bool:
    return message.get("role") == "assistant" and not message.get("tool_calls") and message.get("raw_data") is None


def _by_user(message: dict[str, Any]) -> bool:
    """A call that the user made, or its result."""
    if message.get("role") == "tool":
        return message.get("requestor") == "user"
    return message.get("role") == "user" and bool(message.get("tool_calls"))


def _user_tool(message: dict[str, Any]) -> str | None:
    if message.get("role") == "tool":
        return f"[user tool result] {as_text(message.get('content'))}"
    calls = [call for call in items(message.get("tool_calls"), "tool_calls") if isinstance(call, dict)]
    lines = [f"[user tool call] {call.get('name')}({sorted_dumps(call.get('arguments'))})" for call in calls]
    return join(as_text(message.get("content")), *lines)


def _task(task: Any) -> str | None:
    """What the user wants, as the user simulator was told."""
    scenario = at(task, "user_scenario.instructions")
    if isinstance(scenario, dict):
        return join(*(as_text(scenario.get(k)) for k in ("reason_for_call", "known_info", "unknown_info",
                                                         "task_instructions")))  # fmt: skip
    return as_text(scenario)


FORMAT = Format("tau2-bench", "tau2-bench results: info, tasks, simulations", "record", detect, read)
