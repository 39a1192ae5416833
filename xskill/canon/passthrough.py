"""Our own trajectories through ``canon``: unchanged, but for what an option asks.

``actions`` stay as they are unless ``--profile`` is given; then they are made anew from ``steps``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from xskill.canon.actions.step_tokens import redacted_call
from xskill.canon.reading.episode import SourceTally
from xskill.canon.redact.redactor import SHORTEST
from xskill.records import Step, Trajectory

if TYPE_CHECKING:
    from xskill.canon.assemble import Assembler

_ALIGNED = (
    "actions", "args", "steps", "values", "credits", "targets", "target_ratios", "weights", "residuals", "losses",
)  # fmt: skip
"""Columns with one entry an action."""

TEXTS = ("id", "question_id", "task", "task_type", "env", "initial_observation")
"""Fields of an episode whose texts are redacted; ``extra`` and the steps are, too."""

_PLACEHOLDER = re.compile(r"<redacted:[a-z-]+>")


def pass_on(record: Trajectory, assembler: Assembler, tally: SourceTally) -> Trajectory | None:
    """A trajectory of ours, with what the options ask; None for one that an option drops."""
    options = assembler.options
    marks = record.extra.get("marks")
    if isinstance(marks, list) and assembler.drops(marks):
        return None
    changes: dict[str, Any] = {}
    if not options.respond and record.steps is not None:
        kept = [index for index, step in enumerate(record.steps) if step.kind != "respond"]
        if len(kept) < len(record.steps):
            for name in _ALIGNED:
                column = getattr(record, name)
                if column is not None:
                    changes[name] = [column[index] for index in kept]
            changes.update(tiles=None, coverage=None, tokens_per_action=None)
            record = msgspec.structs.replace(record, **changes)
            changes = {}
    if record.steps is None and options.profile is not None:
        tally.lose("raw actions to canonicalize (no steps: the actions were kept)")
    steps = _redacted(record.steps, assembler) if record.steps is not None else None
    if steps is not None and options.profile is not None:
        actions, args = _canonical(steps, options.profile, assembler)
        changes.update(actions=actions, args=args)
    else:
        changes["actions"] = [assembler.redactor.text(action) for action in record.actions]
        if record.args is not None:
            changes["args"] = _redacted_args(record, steps, assembler)
    changes["steps"] = steps
    changes["success"], changes["reward"], changes["task_type"] = assembler.outcome.decide(record, len(record.actions))
    if options.question_id is not None or options.env is not None:
        changes["question_id"], changes["env"] = assembler.outcome.named(record, len(record.actions))
    for name in TEXTS:
        text = changes.get(name) or getattr(record, name)
        if text:
            changes[name] = assembler.redactor.text(text)
    changes["extra"] = assembler.redactor.value(record.extra)
    assembler.counts.trajectories += 1
    assembler.counts.steps += len(changes.get("actions", record.actions))
    return msgspec.structs.replace(record, **changes)


def _redacted(steps: list[Step], assembler: Assembler) -> list[Step]:
    redact = assembler.redactor.text
    cleaned = []
    for step in steps:
        action = redacted_call(step.action, assembler.redactor) if step.kind == "call" else redact(step.action)
        observation = redact(step.observation) if step.observation else step.observation
        thought = redact(step.thought) if step.thought else step.thought
        extra = assembler.redactor.value(step.extra) if step.extra else step.extra
        if action is step.action and observation is step.observation and thought is step.thought:
            cleaned.append(step if extra == step.extra else msgspec.structs.replace(step, extra=extra))
        else:
            cleaned.append(
                msgspec.structs.replace(step, action=action, observation=observation, thought=thought, extra=extra)
            )
    return cleaned


def _redacted_args(record: Trajectory, steps: list[Step] | None, assembler: Assembler) -> list[list[str]]:
    """The args; one that went from its step, where its name claimed it, goes here too."""
    args: list[list[str]] = assembler.redactor.value(record.args)
    for values, step, cleaned in zip(args, record.steps or (), steps or (), strict=False):
        shown = _PLACEHOLDER.search(cleaned.action) if cleaned.action != step.action else None
        for place, value in enumerate(values if shown is not None else ()):
            if shown is not None and len(value) >= SHORTEST and value in step.action and value not in cleaned.action:
                values[place] = shown.group()
    return args


def _canonical(steps: list[Step], profile: str, assembler: Assembler) -> tuple[list[str], list[list[str]]]:
    apply = assembler.profile(profile).canonicalizer.action
    actions, args = [], []
    for step in steps:
        token, values, _ = apply(step.action, kind=step.kind)
        actions.append(token)
        args.append(list(values))
    return actions, args
