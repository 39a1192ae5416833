"""Tree-of-Thoughts logs: breadth-first levels ``{ys, new_ys, values, select_new_ys}``.

A thought is what a candidate adds to the candidate of the level before that it goes on from: a line in game24,
a plan or a passage of many lines in creative writing. The tree is in the prefixes. The final candidates have a verdict
(``infos[].r``); a leaf that was cut off has none and carries the mark ``pruned``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import entry, items, mapping, needed, number, string
from xskill.canon.reading.search_leaves import parents
from xskill.records import Parent


def detect(value: Any) -> bool:
    steps = value.get("steps") if isinstance(value, dict) else None
    return isinstance(steps, list) and bool(steps) and isinstance(steps[0], dict) and "new_ys" in steps[0]


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    values: dict[str, float | None] = {}
    order: list[str] = []
    inner: set[str] = {""}
    paths_of: dict[str, tuple[str, ...]] = {}
    task: str | None = None
    for level, step in enumerate(items(needed(record, "steps"), "steps")):
        step = mapping(step, f"steps[{level}]")
        task = task or string(step.get("x"), f"steps[{level}].x")
        scores = items(step.get("values"), f"steps[{level}].values")
        before = [y for y in items(step.get("ys"), f"steps[{level}].ys") if isinstance(y, str) and y]
        inner.update(before)
        for index, candidate in enumerate(items(step.get("new_ys"), f"steps[{level}].new_ys")):
            if isinstance(candidate, str) and candidate not in values:
                order.append(candidate)
                score = scores[index] if index < len(scores) else None
                values[candidate] = number(score, f"steps[{level}].values[{index}]")
                paths_of[candidate] = _path(candidate, before, paths_of)
    finals = [y for y in items(record.get("ys"), "ys") if isinstance(y, str)]
    verdicts = items(record.get("infos"), "infos")
    leaves = list(dict.fromkeys([*finals, *(y for y in order if y not in inner)]))
    paths = [paths_of.get(leaf) or (leaf,) for leaf in leaves]
    question = string(record.get("idx"), "idx") or str(place.number)
    names = [f"{place.stem}-{question}-{index}" for index in range(len(leaves))]
    for index, (leaf, path, shared) in enumerate(zip(leaves, paths, parents(paths), strict=True)):
        grown = itertools.accumulate(path)
        steps = [RawStep(thought.strip("\n"), q=values.get(whole)) for thought, whole in zip(path, grown, strict=True)]
        final = finals.index(leaf) if leaf in finals else None
        verdict = verdicts[final] if final is not None and final < len(verdicts) else None
        reward = verdict.get("r", verdict.get("acc")) if isinstance(verdict, dict) else verdict
        yield RawEpisode(
            steps=steps,
            id=names[index],
            question_id=question,
            task=task,
            reward=number(reward, "infos"),
            parent=Parent(id=names[shared[0]], turn=shared[1]) if shared else None,
            marks=() if final is not None else ("pruned",),
        )


def _path(candidate: str, before: list[str], paths: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The thoughts of a candidate; that of its own level comes last."""
    start = max((y for y in before if candidate.startswith(y)), key=len, default="")
    thought = candidate[len(start) :]
    above = (paths.get(start) or (start,)) if start else ()
    return (*above, thought) if thought.strip() else above or (candidate,)


FORMAT = Format("tree-of-thoughts", "Tree-of-Thoughts logs, as branches of rollouts", "record", detect, read)
