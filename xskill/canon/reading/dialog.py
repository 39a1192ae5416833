"""Turns of a conversation → steps: the one place that decides what counts as a step of a chat.

A message of the agent with calls gives one step a call, all with the same turn, its text being their
thought; a message without a call is a ``respond`` step. A result belongs to the call with its id,
else to the oldest call without a result. A user's answer is the observation of the respond before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from xskill.canon.reading.content_text import join, loads_maybe
from xskill.canon.reading.episode import RawStep


class ToolCall(NamedTuple):
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

    __slots__ = ("_anonymous", "_by_id", "_next", "opening", "orphans", "steps", "task", "turn")

    def __init__(self) -> None:
        self.steps: list[RawStep] = []
        self.task: str | None = None
        self.opening: list[str] = []
        self.orphans = 0
        self.turn = 0
        self._by_id: dict[str, RawStep] = {}
        self._anonymous: deque[RawStep] = deque()
        self._next = 0  # the steps before this one are no calls that wait for a result

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
        self,
        text: str | None,
        calls: Sequence[tuple[str | None, str, Any]] = (),
        *,
        thought: str | None = None,
        extra: Any = None,
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
        new = []
        for identity, name, arguments in calls:
            step = RawStep(None, None, None, "call", self.turn, name=name, arguments=arguments)
            if identity is not None:
                self._by_id[identity] = step
            else:
                self._anonymous.append(step)
            new.append(step)
        new[0].thought = join(thought, text) if thought else text
        new[0].extra = extra
        self.steps += new
        self.turn += 1
        return new

    def result(self, call_id: str | None, text: str | None, *, error: bool = False) -> RawStep | None:
        """A call came back; returns its step, None for an orphan."""
        step = self._by_id.get(call_id) if call_id is not None else self._oldest()
        if step is None or step.observation is not None:
            step = None
            while self._anonymous and (step is None or step.observation is not None):
                step = self._anonymous.popleft()
        if step is None or step.observation is not None:
            self.orphans += 1
            return None
        step.observation = text if text is not None else ""
        step.error = error
        return step

    def mark_failed(self, call_id: str) -> None:
        """A call failed, as something else than its result tells."""
        step = self._by_id.get(call_id)
        if step is not None:
            step.error = True

    def _oldest(self) -> RawStep | None:
        """The first call without a result."""
        while self._next < len(self.steps):
            step = self.steps[self._next]
            self._next += 1
            if step.kind == "call" and step.observation is None:
                return step
        return None

    @property
    def initial_observation(self) -> str | None:
        """What the user said after the task and before the first action."""
        return join(*self.opening)


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
