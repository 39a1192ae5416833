"""Spans of a file → raw episodes: the part that all trace formats share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.evaluations import Evaluations
from xskill.canon.reading.spans import TraceSpan, trace_episodes


@dataclass(slots=True)
class Trace:
    """What belongs to one trace id."""

    spans: list[TraceSpan] = field(default_factory=list)
    verdict: Evaluations = field(default_factory=Evaluations)
    extra: dict[str, Any] = field(default_factory=dict)
    task: str | None = None


def episodes(traces: dict[str, Trace], place: Place) -> Iterator[RawEpisode]:
    """The episodes of each trace, in the order of the traces."""
    for identity, trace in traces.items():
        yield from trace_to_episodes(identity, trace, place)


def trace_to_episodes(identity: str, trace: Trace, place: Place) -> Iterator[RawEpisode]:
    """One trace: its main episode, and one for each agent that ran inside it."""
    listed = trace_episodes(trace.spans, place.tally, trace.task)
    if not listed:
        place.tally.lose("trace without an action")
        return
    success, reward = trace.verdict.finish()
    for index, one in enumerate(listed):
        extra = dict(trace.extra)
        if one.is_main:
            if trace.verdict.all:
                extra["evaluations"] = trace.verdict.all
        else:
            extra["parent_session"] = identity
            extra["agent"] = one.agent
        yield RawEpisode(
            steps=one.dialog.steps,
            id=identity if one.is_main else f"{identity}/{index}",
            task=one.dialog.task,
            initial_observation=one.dialog.initial_observation,
            success=success if one.is_main else None,
            reward=reward if one.is_main else None,
            marks=() if one.is_main else ("subagent",),
            extra=extra,
            record=one.first or None,
        )


def count_wrappers(spans: Iterable[TraceSpan], place: Place) -> None:
    """Spans that are no steps, for the loss report."""
    for span in spans:
        if span.kind not in ("llm", "tool"):
            place.tally.skip(f"{span.kind or 'wrapper'} span")
