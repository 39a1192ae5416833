"""tau-bench results: a list of ``{task_id, trial, reward, info, traj}`` (sierra-research/tau-bench, 2024).

The task text was shown to the simulated user, not to the agent: what the agent saw first is the
user's greeting, kept as ``initial_observation``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import add_messages
from xskill.canon.reading.content_text import join
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import at, entry, items, mapping, needed, number, string

_POLICY = re.compile(r"# (\w+) agent policy", re.I)


def detect(value: Any) -> bool:
    return isinstance(value, dict) and "task_id" in value and isinstance(value.get("traj"), list)


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    info = mapping(record.get("info"), "info")
    messages = items(needed(record, "traj"), "traj")
    dialog = Dialog()
    add_messages(dialog, messages, place.tally, "traj")
    task_id = string(record.get("task_id"), "task_id")
    trial = record.get("trial")
    extra: dict[str, Any] = {"trial": trial} if trial is not None else {}
    for key in ("source", "user_cost", "error"):
        if info.get(key) is not None:
            extra[key] = info[key]
    if checks := at(info, "reward_info.info"):
        extra["reward_info"] = checks
    if expected := at(info, "task.actions"):
        extra["expected_actions"] = expected
    yield RawEpisode(
        steps=dialog.steps,
        id=f"{place.stem}-{task_id}-{trial if trial is not None else 0}",
        question_id=task_id,
        task=string(at(info, "task.instruction"), "info.task.instruction"),
        env=_domain(messages),
        initial_observation=join(dialog.task, dialog.initial_observation),
        reward=number(record.get("reward"), "reward"),
        extra=extra,
    )


def _domain(messages: list[Any]) -> str | None:
    """``airline`` or ``retail``: the log names its domain only in the heading of the policy."""
    first = messages[0].get("content") if messages and isinstance(messages[0], dict) else None
    policy = _POLICY.match(first) if isinstance(first, str) else None
    return policy.group(1).lower() if policy else None


FORMAT = Format("tau-bench", "tau-bench results: task_id, trial, reward, traj", "record", detect, read)
