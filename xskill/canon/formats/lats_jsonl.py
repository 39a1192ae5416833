"""LATS and Reflexion programming runs: ``{name, prompt, implementations, test_feedback, is_solved}``.

The tree is not in the file: the attempts come in their order. ``acc`` is a running mean over the file, no verdict.
The depth-first runner keeps one list over all problems, so that records hold implementations of the first one: code
that does not define the record's ``entry_point``, whose tests say so, belongs to another problem and is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import boolean, entry, items, string

_DEFINES = re.compile(r"^\s*(?:async )?(?:def|fn|func|class)\s", re.M)
_KEPT = ("entry_point", "language", "acc")


def detect(value: Any) -> bool:
    return isinstance(value, dict) and "prompt" in value and "entry_point" in value and "test" in value


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    feedback = items(record.get("test_feedback"), "test_feedback")
    written = [code for code in items(record.get("implementations"), "implementations") if isinstance(code, str)]
    defines = _definition(record.get("entry_point"))
    steps = []
    for index, code in enumerate(written):
        seen = as_text(feedback[index]) if index < len(feedback) else None
        if defines is not None and _DEFINES.search(code) and not defines.search(code):
            place.tally.skip("implementations of another problem")
            continue
        steps.append(RawStep(kind="call", name="submit_code", arguments={"code": code}, observation=seen))
    solution = record.get("solution")
    if isinstance(solution, str) and solution not in written:
        steps.append(RawStep(kind="call", name="submit_code", arguments={"code": solution}))
    if not steps:
        place.tally.lose("problems without an implementation")
    for key in ("reflections", "test", "original", "stop_tokens"):
        if record.get(key):
            place.tally.skip(f"field {key}")
    name = string(record.get("name", record.get("task_id")), "name")
    yield RawEpisode(
        steps=steps,
        id=f"{place.stem}-{name}" if name else None,
        question_id=name,
        task=string(record.get("prompt"), "prompt"),
        env="humaneval" if name and name.startswith("HumanEval") else None,
        success=boolean(record.get("is_solved"), "is_solved"),
        extra={key: record[key] for key in _KEPT if key in record},
    )


def _definition(entry_point: Any) -> re.Pattern[str] | None:
    """What a solution has to define; None when the record does not name it."""
    if not isinstance(entry_point, str) or not entry_point.isidentifier():
        return None
    return re.compile(rf"\b{entry_point}\b")


FORMAT = Format("lats-code", "LATS and Reflexion programming runs (implementations, test_feedback)", "record",
                detect, read)  # fmt: skip
