"""Inspect eval logs: one JSON document, or the ``.eval`` archive with a member for every sample.

``status: success`` only says that the run ended; the verdict is in ``scores``: the letters C, P, I and N (no answer,
which counts as wrong), numbers, true and false, or a dictionary. Messages with ``source: input`` are the prompt, also
when the agent seems to speak in them. Long texts stand once in ``attachments``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.archive import Archive
from xskill.canon.reading.chat import add_messages
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import entry, items, mapping, needed, string
from xskill.canon.reading.json_text import parse
from xskill.errors import BadRecord

_SAMPLE = re.compile(r"samples/[^/]+\.json$")
_NUMBER = re.compile(r"\d+")
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""As Inspect's own ``value_to_float`` has them."""
_REWARDS = ("reward", "task_reward", "score")


def detect(value: Any) -> bool:
    return isinstance(value, dict) and "eval" in value and "plan" in value and "status" in value


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    spec = mapping(needed(entry(record), "eval"), "eval")
    for index, sample in enumerate(items(record.get("samples"), "samples"), 1):
        yield _sample(mapping(sample, f"samples[{index - 1}]"), spec, place, index)


def detect_archive(archive: Any) -> bool:
    return "header.json" in archive.names or "_journal/start.json" in archive.names


def read_archive(archive: Archive, place: Place) -> Iterator[RawEpisode]:
    head = "header.json" if "header.json" in archive.names else "_journal/start.json"
    spec = mapping(mapping(parse(archive.read(head))[0], head).get("eval"), "eval")
    names = sorted((name for name in archive.names if _SAMPLE.match(name)), key=_natural)
    for index, name in enumerate(names, 1):
        try:
            sample, nulled = parse(archive.read(name))
            place.tally.numbers += nulled
            yield _sample(mapping(sample, name), spec, place, index)
        except BadRecord as error:
            error.path = f"{name}: {error.path}" if error.path else name
            place.bad.append(error)


def _natural(name: str) -> list[Any]:
    """Sample 10 after sample 9."""
    return [_NUMBER.sub(lambda m: m.group().zfill(12), name), name]


def _sample(sample: dict[str, Any], spec: dict[str, Any], place: Place, index: int) -> RawEpisode:
    attachments = mapping(sample.get("attachments"), "attachments")
    messages = []
    for message in items(sample.get("messages"), "messages"):
        if not isinstance(message, dict):
            raise BadRecord("expected a message", path="messages")
        if message.get("source") == "input" and message.get("role") in ("assistant", "tool"):
            place.tally.lose("message of the prompt")
            continue
        messages.append({**message, "content": _resolved(message.get("content"), attachments)})
    dialog = Dialog()
    add_messages(dialog, messages, place.tally)
    scores = mapping(sample.get("scores"), "scores")
    success, reward = _verdict(scores)
    extra: dict[str, Any] = {key: sample[key] for key in ("epoch", "target", "metadata", "uuid") if sample.get(key)}
    if scores:
        extra["scores"] = {
            name: score.get("value") if isinstance(score, dict) else score for name, score in scores.items()
        }
    error = sample.get("error")
    if error:
        extra["error"] = error.get("message") if isinstance(error, dict) else error
    for key in ("model", "run_id"):
        if spec.get(key):
            extra[key] = spec[key]
    for key in ("events", "store", "output", "model_usage"):
        if sample.get(key):
            place.tally.skip(f"sample {key}")
    identity = string(sample.get("id"), "id")
    run = spec.get("run_id") if isinstance(spec.get("run_id"), str) else place.stem
    task = spec["task"] if isinstance(spec.get("task"), str) else None
    return RawEpisode(
        steps=dialog.steps,
        id=f"{run}-{identity}-{sample.get('epoch', 1)}" if identity is not None else None,
        question_id=f"{task}/{identity}" if task and identity is not None else identity,
        task=_input(sample.get("input"), attachments) or dialog.task,
        env=task,
        initial_observation=dialog.initial_observation,
        success=success,
        reward=reward,
        extra=extra,
        record=index,
    )


def _resolved(content: Any, attachments: dict[str, Any]) -> Any:
    if isinstance(content, str) and content.startswith("attachment://"):
        return attachments.get(content.removeprefix("attachment://"), content)
    if isinstance(content, list):
        return [
            {**part, "text": _resolved(part["text"], attachments)}
            if isinstance(part, dict) and "text" in part
            else part
            for part in content
        ]
    return content


def _input(given: Any, attachments: dict[str, Any]) -> str | None:
    """The sample's input: a text, or messages of which the first of the user counts."""
    if isinstance(given, str):
        return as_text(_resolved(given, attachments))
    if isinstance(given, list):
        for message in given:
            if isinstance(message, dict) and message.get("role") == "user":
                return as_text(_resolved(message.get("content"), attachments))
    return None


def _verdict(scores: dict[str, Any]) -> tuple[bool | None, float | None]:
    """Success of the first scorer with a yes-or-no answer; the reward of the first with a number."""
    success: bool | None = None
    letter: float | None = None
    reward: float | None = None
    for score in scores.values():
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, bool):
            success = value if success is None else success
        elif isinstance(value, str) and value in _LETTERS:
            letter = _LETTERS[value] if letter is None else letter
            if success is None and value != "P":
                success = value == "C"
        elif isinstance(value, (int, float)):
            reward = float(value) if reward is None else reward
        elif isinstance(value, dict):
            named = next((value[k] for k in _REWARDS if isinstance(value.get(k), (int, float))), None)
            reward = float(named) if reward is None and named is not None else reward
    return success, reward if reward is not None else letter


FORMAT = Format("inspect", "Inspect eval logs (.json)", "record", detect, read)
ARCHIVE = Format("inspect-eval", "Inspect eval archives (.eval)", "archive", detect_archive, read_archive)
