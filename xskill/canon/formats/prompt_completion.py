"""Rows with ``prompt`` and ``completion`` (verifiers results, TRL and other training tables), or a preference pair.

The prompt is context: what an agent says in it was not generated in this rollout. Calls may be JSON strings
and results may have lost their ids. Rows with a reward and the same prompt are rollouts of one question.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import AGENT, TOOL, add_messages
from xskill.canon.reading.content_text import sorted_dumps
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import at, boolean, fail, number, string, word
from xskill.canon.reading.genai import chat_messages

_KNOWN = frozenset({
    "prompt", "completion", "chosen", "rejected", "reward", "example_id", "id", "label", "success", "task", "tools",
    "question_id", "env", "task_type",
})  # fmt: skip


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("prompt"), (list, str)):
        return False
    if isinstance(value.get("completion"), (list, str)):
        return True
    return isinstance(value.get("chosen"), (list, str)) and isinstance(value.get("rejected"), (list, str))


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    if not detect(record):
        raise fail("", "an object with prompt and completion", record)
    if "completion" in record:
        yield _episode(record, record["completion"], place, None)
    else:
        for side in ("chosen", "rejected"):
            yield _episode(record, record[side], place, side)


def _episode(record: dict[str, Any], completion: Any, place: Place, side: str | None) -> RawEpisode:
    dialog = Dialog()
    prompt = chat_messages(record["prompt"])
    context = [message for message in prompt if word(message.get("role")) not in AGENT | TOOL]
    if len(context) < len(prompt):
        place.tally.lose("message of the prompt", len(prompt) - len(context))
    add_messages(dialog, context, place.tally, "prompt")
    add_messages(dialog, chat_messages(completion, "assistant"), place.tally, side or "completion")
    reward = number(record.get("reward"), "reward")
    question = string(record.get("question_id", record.get("example_id")), "example_id")
    if question is None and reward is not None:
        question = "q-" + hashlib.sha256(sorted_dumps(record["prompt"]).encode()).hexdigest()[:12]
    success = boolean(record.get("success"), "success")
    if success is None and isinstance(at(record, "info.success"), bool):
        success = record["info"]["success"]
    if success is None and isinstance(record.get("label"), bool):
        success = record["label"]
    extra = {key: value for key, value in record.items() if key not in _KNOWN and value is not None}
    if side is not None:
        extra["preference"] = side
    if "tools" in record:
        place.tally.skip("tool definitions")
    given = string(record.get("id"), "id")
    return RawEpisode(
        steps=dialog.steps,
        id=f"{given}-{side}" if given is not None and side is not None else given,
        question_id=question,
        task=dialog.task,
        task_type=string(record.get("task_type", record.get("task")), "task"),
        env=string(record.get("env"), "env"),
        initial_observation=dialog.initial_observation,
        success=success,
        reward=reward,
        extra=extra,
        suffix=side,
    )


FORMAT = Format("prompt-completion", "rows with prompt and completion: verifiers, TRL, preference pairs", "record",
                detect, read)  # fmt: skip
