"""Turns of a conversation → steps: the one place that decides what counts as a step of a chat.

A message of the agent with calls gives one step a call, all with the same turn, its text being their
thought; a message without a call is a ``respond`` step. Calls that stand in the text count like others
(:mod:`xskill.canon.reading.written_calls`), and the user message after them brings their results. A result belongs
to the oldest waiting call with its id; without an id to the oldest waiting call of its tool, else to the oldest
waiting call. A user's answer is the observation of the respond before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from xskill.canon.reading.content_text import join, loads_maybe
from xskill.canon.reading.episode import RawStep
from xskill.canon.reading.written_calls import is_wrapped_answer, written_answers, written_calls


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
        repeated: results that a call had already, with the same text.
    """

    __slots__ = (
        "_anonymous",
        "_by_id",
        "_by_name",
        "_next",
        "_written",
        "opening",
        "orphans",
        "repeated",
        "steps",
        "task",
        "turn",
    )

    def __init__(self) -> None:
        self.steps: list[RawStep] = []
        self.task: str | None = None
        self.opening: list[str] = []
        self.orphans = 0
        self.repeated = 0
        self.turn = 0
        self._by_id: dict[str, RawStep | deque[RawStep]] = {}  # of an id that several calls bear: all of them
        self._anonymous: deque[RawStep] = deque()
        self._by_name: dict[str, deque[RawStep]] | None = None  # made when the first result names nothing but its tool
        self._written: list[RawStep] = []  # calls of the last message that stood in its text, until they are answered
        self._next = 0  # the steps before this one are no calls that wait for a result

    def user(self, text: str | None) -> None:
        """The user said something."""
        if not text or text.isspace():
            return
        if self._written or (is_wrapped_answer(text) and self._oldest() is not None):
            self._answered(text)
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
        self._written = []
        written = written_calls(text) if text is not None and not calls else None
        if written is not None:
            text, calls, thought = written.text, written.calls, join(thought, written.thought)
        if not calls:
            if text is None:
                return []
            step = RawStep(text, None, thought or None, "respond", self.turn, extra=extra)
            self.steps.append(step)
            self.turn += 1
            return [step]
        steps = []
        for identity, name, arguments in calls:
            step = RawStep(None, None, None, "call", self.turn, name=name, arguments=arguments)
            if identity is not None:
                self._expect(identity, step)
            else:
                self._anonymous.append(step)
            if self._by_name is not None:
                self._by_name.setdefault(name, deque()).append(step)
            steps.append(step)
        steps[0].thought = join(thought, text) if thought else text
        steps[0].extra = extra
        self.steps += steps
        self.turn += 1
        if written is not None:
            self._written = list(steps)
        return steps

    def result(
        self, call_id: str | None, text: str | None, *, error: bool = False, name: str | None = None
    ) -> RawStep | None:
        """A call came back; returns its step, None for an orphan and for a result that the call has already.

        Args:
            name: of the tool, which decides where there is no id, or none that a call bears.
        """
        self._written = []
        step: RawStep | None
        if call_id is None:
            step = self._first_of(name) or self._oldest()
        else:
            bearers = self._by_id.get(call_id)
            if isinstance(bearers, deque):
                step = next((one for one in bearers if one.observation is None), bearers[-1])
            else:
                step = bearers
            if step is None or step.observation is not None:
                if step is not None and step.observation == (text or ""):
                    self.repeated += 1
                    return None
                step = self._nameless(name)
        if step is None:
            self.orphans += 1
            return None
        step.observation = text if text is not None else ""
        step.error = error
        return step

    def _first_of(self, name: str | None) -> RawStep | None:
        """The first call of a tool that waits for its result."""
        if name is None:
            return None
        if self._by_name is None:
            self._by_name = {}
            for step in self.steps:
                if _waits(step) and step.name is not None:
                    self._by_name.setdefault(step.name, deque()).append(step)
        queue = self._by_name.get(name, deque())
        while queue and queue[0].observation is not None:
            queue.popleft()
        return queue[0] if queue else None

    def _nameless(self, name: str | None) -> RawStep | None:
        """The first waiting call that bears no id: the only ones that a result with an unknown id can belong to."""
        while self._anonymous and self._anonymous[0].observation is not None:
            self._anonymous.popleft()
        if not self._anonymous:
            return None
        step = self._first_of(name)
        return step if step is not None and step in self._anonymous else self._anonymous[0]

    def _expect(self, identity: str, step: RawStep) -> None:
        """Remember whose result an id announces; an id that writers use again names a queue of calls."""
        earlier = self._by_id.get(identity)
        if earlier is None:
            self._by_id[identity] = step
        elif isinstance(earlier, deque):
            earlier.append(step)
        else:
            self._by_id[identity] = deque((earlier, step))

    def _answered(self, text: str) -> None:
        """What the user says after calls in a text is what they returned: each part its call's, one text the last's."""
        waiting, answers = self._written, written_answers(text)
        if len(answers) == 1 and answers[0].name is None and waiting:
            waiting[-1].observation = answers[0].text
            self._written = []
            return
        for answer in answers:
            self.result(None, answer.text, name=answer.name)

    def mark_failed(self, call_id: str) -> None:
        """A call failed, as something else than its result tells."""
        step = self._by_id.get(call_id)
        if isinstance(step, deque):
            step = step[-1]
        if step is not None:
            step.error = True

    def _oldest(self) -> RawStep | None:
        """The first call without a result."""
        while self._next < len(self.steps):
            step = self.steps[self._next]
            if _waits(step):
                return step
            self._next += 1
        return None

    @property
    def initial_observation(self) -> str | None:
        """What the user said after the task and before the first action."""
        return join(*self.opening)


def _waits(step: RawStep) -> bool:
    return step.kind == "call" and step.observation is None


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
