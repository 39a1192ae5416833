"""Spans of a trace, whatever wrote them → episodes.

Each model span is a turn; tool spans give the results and the failures that messages do not tell. The
history that every model span repeats is read only for what is new in it: what the user said, and results for
which there is no tool span. Wrapper spans are no steps. An agent that runs inside another's is an episode of
its own, as long as both call a model themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xskill.canon.reading.chat import AGENT, TOOL, USER, add_messages
from xskill.canon.reading.content_text import as_text, sorted_dumps
from xskill.canon.reading.dialog import Dialog, ToolCall, call_arguments
from xskill.canon.reading.episode import RawStep, SourceTally
from xskill.canon.reading.fields import word
from xskill.canon.reading.genai import Message


@dataclass(slots=True)
class TraceSpan:
    """One span; only what its kind has is filled."""

    id: str
    trace: str
    parent: str | None = None
    name: str = ""
    start: Any = 0
    """Sorts spans of a trace: a number of nanoseconds, or ISO text."""
    kind: str = ""
    """``llm``, ``tool``, ``agent``, or empty: a wrapper."""
    history: list[Message] = field(default_factory=list)
    answer: list[Message] = field(default_factory=list)
    call_id: str | None = None
    tool: str | None = None
    arguments: Any = None
    result: str | None = None
    failed: bool = False
    error: str | None = None
    number: int = 0
    """Record in the file, for places in errors and ties in time."""


@dataclass(slots=True)
class AgentEpisode:
    """One episode of a trace."""

    dialog: Dialog
    agent: str | None
    """Name of the agent's span; None when there is none."""
    is_main: bool
    first: int


def trace_episodes(spans: list[TraceSpan], tally: SourceTally, task: str | None = None) -> list[AgentEpisode]:
    """Episodes of the spans of one trace: the main one, then those of agents that ran inside it."""
    by_id = {span.id: span for span in spans}
    if len(by_id) < len(spans):  # exporters send a span again after a retry or an update: the last one holds
        tally.skip("span exported again", len(spans) - len(by_id))
        spans = list(by_id.values())
    ordered = sorted(spans, key=lambda span: (span.start, span.number))
    agents = {span.id: _agent_above(span, by_id) for span in spans}
    talking = {agents[span.id] for span in ordered if span.kind == "llm"}
    threads: dict[str | None, list[TraceSpan]] = {}
    for span in ordered:
        if span.kind not in ("llm", "tool") or _inside_same(span, by_id):
            continue
        threads.setdefault(_thread(agents[span.id], agents, talking), []).append(span)
    listed: list[AgentEpisode] = []
    for agent, members in threads.items():
        dialog = _replay(members, tally, task if not listed else None)
        if dialog.steps:
            name = by_id[agent].name if agent is not None else None
            listed.append(AgentEpisode(dialog, name, not listed, members[0].number))
    return listed


def _agent_above(span: TraceSpan, by_id: dict[str, TraceSpan]) -> str | None:
    """Nearest agent span above (or None)."""
    seen = {span.id}
    parent = by_id.get(span.parent) if span.parent else None
    while parent is not None and parent.id not in seen:
        if parent.kind == "agent":
            return parent.id
        seen.add(parent.id)
        parent = by_id.get(parent.parent) if parent.parent else None
    return None


def _thread(agent: str | None, agents: dict[str, str | None], talking: set[str | None]) -> str | None:
    """The agent whose episode it is: climb as long as the agent above calls no model itself."""
    seen = set()
    while agent is not None and agent not in seen:
        seen.add(agent)
        above = agents.get(agent)
        if above is None or above in talking:
            return agent if above is not None or None in talking else None
        agent = above
    return agent


def _inside_same(span: TraceSpan, by_id: dict[str, TraceSpan]) -> bool:
    """Whether an outer span of the same kind (and tool) tells the same: instrumentations nest."""
    seen = {span.id}
    parent = by_id.get(span.parent) if span.parent else None
    while parent is not None and parent.id not in seen:
        if parent.kind == "agent":
            return False
        if parent.kind == span.kind == "llm" and parent.answer:
            return True
        if parent.kind == span.kind == "tool" and parent.tool == span.tool:
            return True
        seen.add(parent.id)
        parent = by_id.get(parent.parent) if parent.parent else None
    return False


def _replay(spans: list[TraceSpan], tally: SourceTally, task: str | None) -> Dialog:
    dialog = Dialog()
    if task is not None:
        dialog.user(task)
    heard: list[str] = []
    open_steps: list[tuple[str | None, RawStep]] = []
    for span in spans:
        if span.kind == "llm":
            _news(dialog, span.history, heard, open_steps, tally, first=not dialog.steps)
            before = len(dialog.steps)
            add_messages(
                dialog, [message for message in span.answer if word(message.get("role")) in AGENT], tally, "output"
            )
            new = [step for step in dialog.steps[before:] if step.kind == "call"]
            open_steps += list(zip(_call_ids(span.answer, len(new)), new, strict=True))
            if span.failed and before == len(dialog.steps):
                tally.skip("failed model call")
        else:
            _tool(dialog, span, open_steps)
    return dialog


def _call_ids(messages: list[Message], n: int) -> list[str | None]:
    """Ids of the calls in the agent's messages, in order."""
    ids: list[str | None] = []
    for message in messages:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            identity = call.get("id") if isinstance(call, dict) else None
            ids.append(identity if isinstance(identity, str) else None)
        content = message.get("content")
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict) and part.get("type") in ("tool_use", "tool_call"):
                ids.append(part.get("id") if isinstance(part.get("id"), str) else None)
    return (ids + [None] * n)[:n]


def _news(
    dialog: Dialog,
    history: list[Message],
    heard: list[str],
    open_steps: list[tuple[str | None, RawStep]],
    tally: SourceTally,
    *,
    first: bool,
) -> None:
    """What a history holds that the spans before it did not tell."""
    texts = [(index, as_text(m.get("content"))) for index, m in enumerate(history) if word(m.get("role")) in USER]
    users = [(index, text) for index, text in texts if text]
    if first:
        spoken = [index for index, m in enumerate(history) if word(m.get("role")) in AGENT]
        if spoken:
            tally.skip("message of the prompt", len(spoken))
            later = [text for index, text in users if index > spoken[-1]]
            news = later or [text for _, text in users[-1:]]
        else:
            news = [text for _, text in users]
        heard += [text for _, text in users]
        for text in news:
            if text != dialog.task:
                dialog.user(text)
    else:
        n_heard = len(heard)
        current = [text for _, text in users]
        if current[:n_heard] == heard:
            for text in current[n_heard:]:
                dialog.user(text)
            heard[:] = current
    waiting = [(identity, step) for identity, step in open_steps if step.observation is None]
    if waiting:
        _results(history, waiting, answered=len(open_steps) - len(waiting))
    open_steps[:] = [(identity, step) for identity, step in open_steps if step.observation is None]


def _results(history: list[Message], waiting: list[tuple[str | None, RawStep]], answered: int) -> None:
    """Results in the history for calls without a tool span."""
    results = [message for message in history if word(message.get("role")) in TOOL]
    by_id = {m["tool_call_id"]: m for m in results if isinstance(m.get("tool_call_id"), str)}
    anonymous = [m for m in results if not isinstance(m.get("tool_call_id"), str)]
    for identity, step in waiting:
        if identity is not None and identity in by_id:
            step.observation = as_text(by_id[identity].get("content")) or ""
        elif identity is None and len(anonymous) > answered:
            step.observation = as_text(anonymous[answered].get("content")) or ""
            answered += 1


def _tool(dialog: Dialog, span: TraceSpan, open_steps: list[tuple[str | None, RawStep]]) -> None:
    step = _match(span, open_steps)
    if step is None:
        (step,) = dialog.agent(None, [ToolCall(span.call_id, span.tool or span.name or "unknown", span.arguments)])
    else:
        open_steps[:] = [entry for entry in open_steps if entry[1] is not step or span.result is None]
    step.observation = span.result
    step.error = step.error or span.failed
    if span.failed and span.error:
        step.extra = {**(step.extra or {}), "error": span.error}


def _match(span: TraceSpan, open_steps: list[tuple[str | None, RawStep]]) -> RawStep | None:
    """The call that a tool span ran: by id, else by name and arguments, else by name."""
    waiting = [(identity, step) for identity, step in open_steps if step.observation is None and not step.error]
    if span.call_id is not None:
        for identity, step in waiting:
            if identity == span.call_id:
                return step
    named = [step for _, step in waiting if step.name == span.tool]
    same = sorted_dumps(call_arguments(span.arguments))
    return next(
        (step for step in named if sorted_dumps(call_arguments(step.arguments)) == same), named[0] if named else None
    )
