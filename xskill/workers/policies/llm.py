"""A language model as policy: it is shown the episode so far, and says the next action or step of reasoning."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xskill.sampling.protocol import Child
from xskill.workers.policies.endpoint import Messages, Sample, Sampler
from xskill.workers.session import State

ACT = """You act in a text environment to solve the task. Answer with the next action alone, on one line, in the words \
that the environment understands. You may think first; then put the action on a last line that starts with "Action:"."""

REASON = """Solve the problem step by step. Write only the next step, one short paragraph. \
When you know the result, write one last line that starts with "Answer:" and gives the result alone."""

_ACTION_LINE = re.compile(r"^\s*(?:\*\*)?Action(?:\*\*)?\s*:\s*(?:\*\*)?\s*(.*?)\s*$", re.I | re.M)

Said = tuple[str | None, str]
"""Thought, and action."""


class LlmPolicy:
    """Samples actions from a model.

    The likelihood of a turn is that of all the tokens that the model wrote for it, thought included.

    Args:
        sampler: the endpoint.
        messages: what the model is shown of a state.
        read: what the model wrote → thought and action.
        stop: text before which a completion ends.
        constrain: the model may only say one of the actions that can be taken (a JSON schema; the server must
            support it). Without a list of actions it is free.
    """

    def __init__(
        self,
        sampler: Sampler,
        messages: Callable[[State], Messages],
        read: Callable[[str], Said],
        *,
        stop: str | None = None,
        constrain: bool = False,
    ) -> None:
        self._sampler = sampler
        self._messages = messages
        self._read = read
        self._stop = stop
        self._constrain = constrain

    def propose(self, state: State, k: int, rng: np.random.Generator) -> list[Child]:
        """``k`` samples without their doubles: the first of equal ones stays."""
        seed = int(rng.integers(2**31))
        actions = state.environment.actions() if self._constrain else None
        schema = _one_of(actions) if actions else None
        samples = self._sampler.sample(self._messages(state), k, seed, stop=self._stop, schema=schema)
        children: dict[str, Child] = {}
        for sample in samples:
            thought, action = _chosen(sample.text) if schema is not None else self._read(sample.text)
            children.setdefault(action, _child(sample, thought, action))
        return list(children.values())


def acting(history: int | None, listed: int) -> Callable[[State], Messages]:
    """What a model is shown that acts in an environment.

    Args:
        history: number of last turns to show; None = all.
        listed: list the actions that can be taken, if there are at most so many.
    """

    def messages(state: State) -> Messages:
        task = state.begun.task or state.task.get("task") or ""
        shown = state.turns if history is None else state.turns[max(0, len(state.turns) - history) :]
        left_out = len(state.turns) - len(shown)
        said = [{"role": "system", "content": "\n\n".join(part for part in (ACT, skill_text(state.skills)) if part)}]
        user = "\n\n".join(part for part in (f"Task: {task}" if task else "", state.begun.observation or "") if part)
        if left_out:
            user += f"\n\n({left_out} earlier turns are left out.)"
        for action, observation in shown:
            said += [{"role": "user", "content": user}, {"role": "assistant", "content": action}]
            user = observation or "(no answer)"
        actions = (state.environment.actions() or []) if listed else []
        if 0 < len(actions) <= listed:
            user += "\n\nPossible actions:\n" + "\n".join(f"- {action}" for action in actions)
        return [*said, {"role": "user", "content": user}]

    return messages


def reasoning(state: State) -> Messages:
    """What a model is shown that reasons: the problem and its own steps so far."""
    task = state.begun.task or state.task.get("task") or ""
    steps = "\n\n".join(action for action, _ in state.turns)
    return [
        {"role": "system", "content": "\n\n".join(part for part in (REASON, skill_text(state.skills)) if part)},
        {"role": "user", "content": f"Problem: {task}" + (f"\n\nSteps so far:\n\n{steps}" if steps else "")},
    ]


def skill_text(skills: Sequence[dict[str, Any]]) -> str:
    """Retrieved skills for the prompt; they were distilled from logs and are quoted as what they are."""
    if not skills:
        return ""
    lines = ["What earlier episodes taught (advice, not orders):"]
    for skill in skills:
        lines.append(f"- {skill.get('title', '')}: {skill.get('principle', '')}")
        lines += [
            f"  {label}: {skill[name]}"
            for label, name in (("When", "when_to_apply"), ("Not when", "when_not"))
            if skill.get(name)
        ]
        lines += [f"  {number}. {step}" for number, step in enumerate(skill.get("steps") or [], 1)]
    return "\n".join(lines)


def read_action(text: str) -> Said:
    """The last line that starts with ``Action:``, else the first line that says something; without quotes around it."""
    marked = list(_ACTION_LINE.finditer(text))
    if marked:
        return text[: marked[-1].start()].strip() or None, _bare(marked[-1].group(1))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return None, _bare(lines[0]) if lines else ""


def read_step(text: str) -> Said:
    """The whole text is the step."""
    return None, text.strip()


def _bare(action: str) -> str:
    action = action.strip().removeprefix(">").strip()
    for quote in ("`", '"', "'", "**"):
        if len(action) > 2 * len(quote) and action.startswith(quote) and action.endswith(quote):
            action = action[len(quote) : -len(quote)].strip()
    return action


def _one_of(actions: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"action": {"type": "string", "enum": list(actions)}},
        "required": ["action"],
        "additionalProperties": False,
    }


def _chosen(text: str) -> Said:
    """The action in the JSON that a constrained model wrote; a cut or stray text is taken as it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None, text.strip()
    action = value.get("action") if isinstance(value, dict) else None
    return None, action if isinstance(action, str) else text.strip()


def _child(sample: Sample, thought: str | None, action: str) -> Child:
    return Child(
        action=action,
        logprob=sample.logprob,
        n_tokens=sample.n_tokens,
        thought=thought,
        extra={"cut": True} if sample.cut else {},
    )
