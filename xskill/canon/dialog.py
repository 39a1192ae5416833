"""Turns of a conversation → steps: the one place that decides what counts as a step of a chat.

A message of the agent with calls gives one step a call, all with the same turn, its text being their
thought; a message without a call is a ``respond`` step. A result belongs to the call with its id,
else to the oldest call without a result. A user's answer is the observation of the respond before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from xskill.canon.episode import RawStep
from xskill.canon.text import join, loads_maybe


class Call(NamedTuple):
    """A call that the agent made."""

    id: str | None
    name: str
    arguments: Any = None


class Dialog:
    """Collects the steps of one conversation.

    Attributes:
        steps: the actions so far.
        task: the first thing that the user said.
        opening: what the user said between that and the first action.
        orphans: results for which there is no call.
    """

    __slots__ = ("_all", "_anonymous", "_by_id", "_queue", "opening", "orphans", "steps", "task", "turn")

    def __init__(self) -> None:
        self.steps: list[RawStep] = []
        self.task: str | None = None
        self.opening: list[str] = []
        self.orphans = 0
        self.turn = 0
        self._by_id: dict[str, RawStep] = {}
        self._all: dict[str, RawStep] = {}
        self._queue: deque[RawStep] = deque()
        self._anonymous: deque[RawStep] = deque()

    def user(self, text: str | None) -> None:
        """The user said something."""
        if not text or text.isspace():
            return
        if not self.steps:
            if self.task is None:
                self.task = text
            else:
                self.opening.append(text)
            return
        last = self.steps[-1]
        if last.kind == "respond":
            last.observation = join(last.observation, text)
        else:
            extra = last.extra = last.extra or {}
            extra["user"] = join(extra.get("user"), text)

    def agent(
        self, text: str | None, calls: Sequence[Call] = (), *, thought: str | None = None, extra: Any = None
    ) -> list[RawStep]:
        """The agent acted: calls, or a text; returns the new steps (none when both are empty)."""
        if text is not None and (not text or text.isspace()):
            text = None
        if not calls:
            if text is None:
                return []
            step = RawStep(text, None, thought or None, "respond", self.turn, extra=extra)
            self.steps.append(step)
            self.turn += 1
            return [step]
        made = []
        for call in calls:
            step = RawStep(None, None, None, "call", self.turn, name=call.name, arguments=call.arguments)
            if call.id is not None:
                self._by_id[call.id] = self._all[call.id] = step
            else:
                self._anonymous.append(step)
            self._queue.append(step)
            made.append(step)
        made[0].thought = join(thought, text)
        made[0].extra = extra
        self.steps += made
        self.turn += 1
        return made

    def result(self, call_id: str | None, text: str | None, *, error: bool = False) -> RawStep | None:
        """A call came back; returns its step, None for an orphan."""
        step = self._by_id.pop(call_id, None) if call_id is not None else _oldest(self._queue)
        if step is None:
            step = _oldest(self._anonymous)
        if step is None:
            self.orphans += 1
            return None
        step.observation = text if text is not None else ""
        step.error = error
        return step

    def mark_failed(self, call_id: str) -> None:
        """A call failed, as something else than its result tells."""
        step = self._all.get(call_id)
        if step is not None:
            step.error = True

    @property
    def initial_observation(self) -> str | None:
        """What the user said after the task and before the first action."""
        return join(*self.opening)


def _oldest(queue: deque[RawStep]) -> RawStep | None:
    """The first step without a result; those with one are forgotten."""
    while queue:
        step = queue.popleft()
        if step.observation is None:
            return step
    return None


def call_arguments(arguments: Any) -> Any:
    """Arguments as an object: JSON strings are decoded (one level); a string that is no JSON object stays."""
    if arguments is None or arguments == "":
        return {}
    if isinstance(arguments, str):
        decoded = loads_maybe(arguments.strip())
        if decoded is None:
            return {}
        return decoded if isinstance(decoded, dict) else arguments
    return arguments
