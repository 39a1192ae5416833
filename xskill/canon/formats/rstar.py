"""rStar solutions: ``{trace: {"0": …, "1": …}, rollout_id}``, one root-to-leaf path each, keyed by depth as a string.

The tree is merged from equal prefixes. ``value`` is the search's own estimate; no file says whether an answer is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import at, mapping, number
from xskill.canon.reading.search_leaves import parents
from xskill.records import Parent

_QUESTION = re.compile(r"Question (\d+)")


def detect(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("trace"), dict) and "rollout_id" in value


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    listed = [(number_, mapping(value, "")) for number_, value in values]
    solutions = [_steps(mapping(value.get("trace"), "trace")) for _, value in listed]
    paths = [[(step.action, step.observation) for step in steps] for _, steps in solutions]
    named = _QUESTION.search(place.stem)
    question = named.group(1) if named else place.stem
    links = parents(paths)
    names = [f"{place.stem}-{number_}" for number_, _ in listed]
    for index, ((number_, value), (task, steps), shared) in enumerate(zip(listed, solutions, links, strict=True)):
        yield RawEpisode(
            steps=steps,
            id=names[index],
            question_id=question,
            task=task,
            parent=Parent(id=names[shared[0]], turn=shared[1]) if shared else None,
            extra={"rollout_id": value.get("rollout_id")},
            record=number_,
        )


def _steps(trace: dict[str, Any]) -> tuple[str | None, list[RawStep]]:
    task: str | None = None
    steps: list[RawStep] = []
    for key in sorted(trace, key=lambda k: int(k) if k.isdigit() else 0):
        node = mapping(trace[key], f"trace.{key}")
        task = task or as_text(node.get("user_question"))
        asked = as_text(node.get("subquestion"))
        if asked:
            steps.append(
                RawStep(
                    kind="call",
                    name="ask_subquestion",
                    arguments={"question": asked},
                    observation=as_text(at(node, "subanswer.text")),
                    q=number(at(node, "subanswer.value"), f"trace.{key}.subanswer.value"),
                )
            )
        thoughts = node.get("ost_step")
        if isinstance(thoughts, dict):
            for name in sorted(thoughts, key=lambda k: int(k) if k.isdigit() else 0):
                steps.append(RawStep(kind="call", name="think_step", arguments={"text": as_text(thoughts[name])}))
        if node.get("direct_answer"):
            steps.append(
                RawStep(
                    kind="call",
                    name="answer",
                    arguments={"text": as_text(at(node, "direct_answer.text"))},
                    q=number(at(node, "direct_answer.value"), f"trace.{key}.direct_answer.value"),
                )
            )
    for step in steps:
        step.action = (
            f"{step.name}({as_text(step.arguments)})"  # with what came back, what makes two paths share a step
        )
    return task, steps


FORMAT = Format("rstar", "rStar rollout solutions, as branches of rollouts", "stream", detect, read)
