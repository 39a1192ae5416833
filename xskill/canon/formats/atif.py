"""ATIF (Agent Trajectory Interchange Format) 1.0 to 1.8, and Harbor's terminus logs that call themselves ATIF.

The observation stands in the agent step, keyed by ``source_call_id``. Steps with ``is_copied_context`` are
another trajectory's. ATIF has no outcome: writers put it into ``extra``. Non-conforming 1.6 files hold the
commands as JSON inside ``message`` and the output in the next user step.

What ``canon --as atif`` wrote comes back as the trajectory that it was; where its steps were changed since, as any
other document, with what its steps still tell of themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.atif_export import UNKNOWN
from xskill.canon.formats.atif_turns import restored
from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import read_call
from xskill.canon.reading.content_text import as_text, loads_maybe
from xskill.canon.reading.dialog import Dialog, ToolCall, call_arguments
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import at, boolean, entry, items, mapping, needed, number, string
from xskill.errors import BadRecord
from xskill.records import Step, Trajectory, convert
from xskill.records.trajectories import STEP_FIELDS

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.S)
_TOP = frozenset({
    "schema_version", "session_id", "trajectory_id", "agent", "steps", "extra", "subagent_trajectories",
})  # fmt: skip


def detect(value: Any) -> bool:
    return isinstance(value, dict) and str(value.get("schema_version", "")).startswith("ATIF-v") and "steps" in value


def read(record: Any, place: Place) -> Iterator[RawEpisode | Trajectory]:
    record = entry(record)
    ours = own_trajectory(record)
    if ours is None:
        yield from read_trajectory(record, place)
        return
    yield ours
    yield from _subagents(record, ours.id, place)


def own_trajectory(record: dict[str, Any]) -> Trajectory | None:
    """The trajectory that ``canon --as atif`` wrote; None for any other document, or one with other steps since.

    Raises:
        BadRecord: what it holds of ours breaks the contract of trajectories.
    """
    own = mapping(record.get("extra"), "extra")
    kept = own.get("xskill")
    if not isinstance(kept, dict) or not isinstance(kept.get("actions"), list):
        return None
    ours = _own_steps(items(needed(record, "steps"), "steps"))
    if ours is None or len(ours[1]) != (len(kept["actions"]) if "steps" not in kept else 0):
        return None
    fields: dict[str, Any] = {
        **kept,
        "schema": "xskill.trajectory/1",
        "id": record.get("trajectory_id"),
        "task": ours[0],
        "success": boolean(own.get("success"), "extra.success"),
        "reward": _reward(own),
        "steps": None if "steps" in kept else ours[1],
    }
    extra = mapping(kept.get("extra"), "extra.xskill.extra")
    more = {key: value for key, value in _extra(record, own).items() if key not in extra}
    if more.get("agent") == UNKNOWN:
        del more["agent"]
    fields["extra"] = {**extra, **more}
    try:
        return convert(fields, Trajectory)
    except BadRecord as error:
        error.path = f"extra.xskill.{error.path}" if error.path.split(".")[0].split("[")[0] in kept else error.path
        raise


def _own_steps(listed: list[Any]) -> tuple[str | None, list[Step]] | None:
    """Task and steps of ours; None when there are others among them."""
    task: str | None = None
    steps: list[Step] = []
    answered = 0
    for index, step in enumerate(listed):
        step, path = mapping(step, f"steps[{index}]"), f"steps[{index}]"
        if step.get("source") == "user" and index == 0:
            task = as_text(step.get("message"))
        elif index >= answered:
            answers = _answers(listed, index)
            originals = restored(step, answers, path) if step.get("source") == "agent" else None
            if originals is None or (answers and all(one.kind != "respond" for one in originals)):
                return None
            steps += originals
            answered = index + 1 + len(answers)
    return task, steps


def _answers(listed: list[Any], index: int) -> list[str]:
    """What the user says right after a step."""
    said: list[str] = []
    for step in map(listed.__getitem__, range(index + 1, len(listed))):
        if not isinstance(step, dict) or step.get("source") != "user":
            break
        said.append(as_text(step.get("message")) or "")
    return said


def read_trajectory(record: Any, place: Place, parent: str | None = None) -> Iterator[RawEpisode]:
    """The trajectory, then those of its embedded subagents."""
    record = entry(record)
    identity = string(record.get("trajectory_id"), "trajectory_id") or string(record.get("session_id"), "session_id")
    own = mapping(record.get("extra"), "extra")
    if "tool_definitions" in mapping(record.get("agent"), "agent"):
        place.tally.skip("tool definitions")
    extra = _extra(record, own)
    if parent is not None:
        extra["parent_session"] = parent
    ours = own["xskill"] if isinstance(own.get("xskill"), dict) else {}
    if isinstance(ours.get("extra"), dict):
        extra = {**extra, **ours["extra"]}
    if ours:
        place.tally.skip("columns and link of a trajectory whose steps were changed")
    dialog, claim = _steps(items(needed(record, "steps"), "steps"), place)
    yield RawEpisode(
        steps=dialog.steps,
        id=identity if parent is None or identity is None else f"{parent}/{identity}",
        question_id=string(ours.get("question_id"), "extra.xskill.question_id"),
        task=dialog.task,
        task_type=string(ours.get("task_type"), "extra.xskill.task_type"),
        env=string(ours.get("env"), "extra.xskill.env"),
        split=string(ours.get("split"), "extra.xskill.split"),
        initial_observation=as_text(ours.get("initial_observation")) or dialog.initial_observation,
        success=boolean(own.get("success"), "extra.success"),
        reward=_reward(own),
        claim=claim,
        marks=("subagent",) if parent is not None else (),
        extra=extra,
    )
    yield from _subagents(record, identity or place.stem, place)


def _subagents(record: dict[str, Any], parent: str, place: Place) -> Iterator[RawEpisode]:
    for inner in items(record.get("subagent_trajectories"), "subagent_trajectories"):
        yield from read_trajectory(inner, place, parent)


def _extra(record: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """What the document holds that has no place in a trajectory."""
    extra = {key: value for key, value in record.items() if key not in _TOP and value is not None}
    extra.update({key: value for key, value in own.items() if key not in ("reward", "success", "xskill")})
    agent = mapping(record.get("agent"), "agent")
    for key in ("name", "model_name"):
        if agent.get(key):
            extra["agent" if key == "name" else "model"] = agent[key]
    return extra


def _reward(own: dict[str, Any]) -> float | None:
    rewards = at(own, "verifier_result.rewards")
    reward = number(own.get("reward"), "extra.reward")
    return single_reward(rewards) if reward is None and isinstance(rewards, dict) else reward


def single_reward(rewards: dict[str, Any]) -> float | None:
    """The reward of a verifier's dictionary: ``reward``, or its only number."""
    if "reward" in rewards:
        return number(rewards["reward"], "rewards.reward")
    numbers = [value for value in rewards.values() if isinstance(value, (int, float))]
    return float(numbers[0]) if len(numbers) == 1 else None


def _steps(listed: list[Any], place: Place) -> tuple[Dialog, str | None]:
    dialog = Dialog()
    claim: str | None = None
    terminus: list[RawStep] = []
    answered = 0
    for index, step in enumerate(listed):
        if index < answered:
            continue
        step = mapping(step, f"steps[{index}]")
        if index and step.get("step_id") is not None and step == listed[index - 1]:
            place.tally.skip("step written twice")
            continue
        if step.get("is_copied_context"):
            place.tally.skip("copied context step")
            continue
        source, text = step.get("source"), as_text(step.get("message"))
        if source == "user":
            if terminus:
                terminus[-1].observation = text
                terminus = []
            else:
                dialog.user(text)
            continue
        if source != "agent":
            place.tally.skip(f"{source} step")
            continue
        terminus = []
        answers = _answers(listed, index)
        ours = restored(step, answers, f"steps[{index}]")
        if ours is not None:
            dialog.steps += map(_raw, ours)
            dialog.turn += 1
            answered = index + 1 + (len(answers) if any(one.kind == "respond" for one in ours) else 0)
            continue
        listed_calls = items(step.get("tool_calls"), f"steps[{index}].tool_calls")
        calls = [read_call(call, f"steps[{index}].tool_calls") for call in listed_calls]
        thought = as_text(step.get("reasoning_content"))
        if calls or step.get("observation") is not None:
            new = dialog.agent(
                text, [ToolCall(c.id, c.name, call_arguments(c.arguments)) for c in calls], thought=thought
            )
        else:
            commands, done, around = terminus_commands(text or "")
            new = dialog.agent(around if commands else text, commands, thought=thought)
            terminus = new if commands else []
            claim = "task_complete" if done else claim
        _metrics(new, step.get("metrics"), f"steps[{index}].metrics")
        _results(dialog, new, step.get("observation"), place)
    return dialog, claim


def _raw(step: Step) -> RawStep:
    raw = RawStep(*(getattr(step, name) for name in STEP_FIELDS))
    raw.extra = raw.extra or None
    return raw


def _results(dialog: Dialog, new: list[RawStep], observation: Any, place: Place) -> None:
    results = items(mapping(observation, "observation").get("results"), "observation.results")
    anonymous = [r for r in results if isinstance(r, dict) and not r.get("source_call_id")]
    if len(results) == 1 and anonymous and len(new) > 1:
        new[-1].observation = as_text(results[0].get("content"))  # one screen for several commands
        return
    for result in results:
        if not isinstance(result, dict):
            continue
        identity, content = result.get("source_call_id"), as_text(result.get("content"))
        references = result.get("subagent_trajectory_ref")
        if identity is None and new and new[-1].kind == "respond":
            new[-1].observation = content
            continue
        step = dialog.result(identity if isinstance(identity, str) else None, content)
        if step is None:
            place.tally.lose("result without a call")
        elif references:
            step.extra = {**(step.extra or {}), "subagents": references}


def _metrics(new: list[RawStep], metrics: Any, path: str) -> None:
    """Log-likelihoods of the turn's tokens, where the log has them."""
    logprobs = metrics.get("logprobs") if isinstance(metrics, dict) else None
    if new and isinstance(logprobs, list) and logprobs and all(isinstance(v, (int, float)) for v in logprobs):
        new[0].logprob = [number(v, path) for v in logprobs]
        new[0].n_tokens = len(logprobs)


def terminus_commands(text: str) -> tuple[list[ToolCall], bool, str | None]:
    """Commands of a terminus answer (JSON with ``commands`` or ``load_skill``), whether it is done, the rest."""
    for body in [*_FENCED.findall(text), text]:
        value = loads_maybe(body.strip())
        if not isinstance(value, dict):
            continue
        done = value.get("task_complete") is True
        if "load_skill" in value:
            return [ToolCall(None, "load_skill", {"skill": value["load_skill"]})], done, _around(text, body, value)
        if isinstance(value.get("commands"), list):
            calls = [
                ToolCall(None, "bash_command", command) for command in value["commands"] if isinstance(command, dict)
            ]
            if done:
                calls.append(ToolCall(None, "mark_task_complete", {}))
            return calls, done, _around(text, body, value)
    return [], False, None


def _around(text: str, body: str, value: dict[str, Any]) -> str | None:
    notes = [f"{key.capitalize()}: {value[key]}" for key in ("analysis", "plan") if isinstance(value.get(key), str)]
    before = text[: text.find(body)].rsplit("```", 1)[0].strip() if body != text else ""
    return "\n".join([part for part in [before, *notes] if part]) or None


FORMAT = Format("atif", "ATIF 1.0 to 1.8 trajectories (Harbor and others)", "record", detect, read)
