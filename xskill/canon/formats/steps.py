"""Step-list JSON: an object with ``steps: [{action, observation, …}]``, as simulators and harnesses write it.

Every field that has a place in the contract goes there, every other one to ``extra``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.formats.steps_typed import TypedEpisodes
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import boolean, fail, integer, items, number, string, word
from xskill.errors import BadRecord
from xskill.records import Parent
from xskill.records.base import KINDS
from xskill.records.trajectories import STEP_FIELDS

_TASK = ("goal", "instruction", "task_description")
_ENV = ("environment",)
_TOP = frozenset({
    "id", "question_id", "task", "task_type", "env", "split", "initial_observation", "success", "reward", "parent",
    "steps", "extra",
})  # fmt: skip
_STEP = frozenset({*STEP_FIELDS, "role"})
_CALL = ("name", "arguments")


def detect(value: Any) -> bool:
    """``steps`` holds objects with an ``action``."""
    if not isinstance(value, dict):
        return False
    steps = value.get("steps")
    if not isinstance(steps, list) or not steps:
        return steps == [] and ("success" in value or "reward" in value or "env" in value)
    return isinstance(steps[0], dict) and "action" in steps[0] and "schema_version" not in value


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    if not isinstance(record, dict) or "steps" not in record:
        raise fail("", "an object with steps", record)
    listed = items(record.get("steps"), "steps")
    episode = RawEpisode(
        steps=[_step(step, index) for index, step in enumerate(listed)],
        id=string(record.get("id"), "id"),
        question_id=string(record.get("question_id"), "question_id"),
        task=as_text(record.get("task")),
        task_type=string(record.get("task_type"), "task_type"),
        env=string(record.get("env"), "env"),
        split=string(record.get("split"), "split"),
        initial_observation=as_text(record.get("initial_observation")),
        success=boolean(record.get("success"), "success"),
        reward=number(record.get("reward"), "reward"),
        extra={key: record[key] for key in sorted(record.keys() - _TOP)},
    )
    own = record.get("extra")
    if own is not None:
        episode.extra.update(own if isinstance(own, dict) else {"extra": own})
    yield _settled(episode, record.get("parent"))


def fast() -> Callable[[bytes, Place], RawEpisode | None]:
    """A reader of lines that decodes well-formed ones straight into episodes."""
    typed = TypedEpisodes()

    def read_line(raw: bytes, place: Place) -> RawEpisode | None:
        episode = typed.decode(raw)
        if episode is None:
            return None
        parent, episode.parent = episode.parent, None
        return _settled(episode, parent)

    return read_line


def _settled(episode: RawEpisode, parent: Any) -> RawEpisode:
    """Give other names of the same their place: a goal, an environment, a score, a game; and the parent its type."""
    extra = episode.extra
    if extra:
        for name, keys in (("task", _TASK), ("env", _ENV)):
            if getattr(episode, name) is None:
                key = next((key for key in keys if isinstance(extra.get(key), str)), None)
                if key is not None:
                    setattr(episode, name, extra.pop(key))
        if episode.reward is None and "score" in extra:
            episode.reward = number(extra.pop("score"), "score")
        if episode.question_id is None:
            episode.question_id = _question(extra, episode.task_type)
        options = extra.get("goal_options")
        if isinstance(options, dict):
            episode.options = {k: v for k, v in options.items() if isinstance(v, str)}
    if parent is not None:
        episode.parent = _parent(parent, extra)
    return episode


def _question(extra: dict[str, Any], task_type: str | None) -> str | None:
    """What episodes of one game have in common, named as ``xskill worker`` names its tasks: the game's folder
    (ALFWorld), or the kind of task and its variation (ScienceWorld)."""
    game, variation = extra.get("game"), extra.get("variation")
    if isinstance(game, str) and game:
        return game
    return f"{task_type}-{variation}" if task_type and type(variation) is int and 0 <= variation < 1 << 31 else None


def _step(step: Any, index: int) -> RawStep:
    if type(step) is not dict:
        raise fail(f"steps[{index}]", "an object", step)
    get = step.get
    action = get("action")
    if type(action) is not str:
        raise fail(f"steps[{index}].action", "a string", action)
    observation = get("observation")
    raw = RawStep(action, observation if type(observation) is str else as_text(observation))
    reward = get("reward")
    if reward is not None:
        raw.reward = number(reward, f"steps[{index}].reward")
    logprob = get("logprob")
    if logprob is not None:
        raw.logprob = _logprob(logprob, f"steps[{index}].logprob")
    if not step.keys() <= _COMMON:
        _rest(step, raw, index)
    return raw


_COMMON = frozenset({"action", "observation", "reward", "logprob"})


def _rest(step: dict[str, Any], raw: RawStep, index: int) -> None:
    """The fields that few logs have."""
    extra = {key: step[key] for key in sorted(step.keys() - _STEP) if step[key] is not None or key not in _CALL}
    if step.get("kind") == "call" and isinstance(extra.get("name"), str):
        raw.name, raw.arguments = extra.pop("name"), extra.pop("arguments", None)
    own = step.get("extra")
    if isinstance(own, dict):
        extra.update(own)
    elif own is not None:
        extra["extra"] = own
    raw.extra = extra if extra or own is not None else None
    if step.keys() & _STEP <= _COMMON:
        return
    path = f"steps[{index}]."
    raw.thought = as_text(step.get("thought"))
    kind = step.get("kind")
    if kind is not None:
        if word(kind) not in KINDS:
            raise fail(path + "kind", "action, call, command or respond", kind)
        if kind != raw.kind:
            raw.kind = kind  # another string object of the same text would be written out as if it were no default
    raw.turn = integer(step.get("turn"), path + "turn")
    raw.role = string(step.get("role"), path + "role")
    error = step.get("error")
    raw.error = error if isinstance(error, bool) else bool(error)
    if error and not isinstance(error, bool):
        raw.extra = {**(raw.extra or {}), "error": error}
    raw.logprob_new = _logprob(step.get("logprob_new"), path + "logprob_new")
    raw.n_tokens = integer(step.get("n_tokens"), path + "n_tokens")
    raw.q = number(step.get("q"), path + "q")
    raw.visits = integer(step.get("visits"), path + "visits")
    raw.prior = number(step.get("prior"), path + "prior")


def _logprob(value: Any, path: str) -> Any:
    if isinstance(value, list):
        return [number(one, path) for one in value]
    return number(value, path)


def _parent(value: Any, extra: dict[str, Any]) -> Parent | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise fail("parent", "an object with id and turn", value)
    identity = string(value.get("id"), "parent.id")
    turn = integer(value.get("turn"), "parent.turn")
    if identity is None or turn is None:
        raise BadRecord("needs id and turn", path="parent")
    for key, more in value.items():
        if key not in ("id", "turn", "step") and more is not None:
            extra[f"parent.{key}"] = more
    return Parent(id=identity, turn=turn, step=integer(value.get("step"), "parent.step"))


FORMAT = Format(
    "steps", "objects with steps[].action/observation, success, reward, parent", "record", detect, read, fast=fast
)
