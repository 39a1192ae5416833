"""LATS and Reflexion programming runs: ``{name, prompt, implementations, test_feedback, is_solved}``.

The tree is not in the file: the attempts come in their order. ``acc`` is a running mean over the file, no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import boolean, entry, items, string

_KEPT = ("entry_point", "language", "acc")


def detect(value: Any) -> bool:
    return isinstance(value, dict) and "prompt" in value and "entry_point" in value and "test" in value


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    feedback = items(record.get("test_feedback"), "test_feedback")
    written = [code for code in items(record.get("implementations"), "implementations") if isinstance(code, str)]
    steps = []
    for index, code in enumerate(written):
        seen = as_text(feedback[index]) if index < len(feedback) else None
        steps.append(RawStep(kind="call", name="submit_code", arguments={"code": code}, observation=seen))
    solution = record.get("solution")
    if isinstance(solution, str) and solution not in written:
        steps.append(RawStep(kind="call", name="submit_code", arguments={"code": solution}))
    for key in ("reflections", "test", "original", "stop_tokens"):
        if record.get(key):
            place.tally.skip(f"field {key}")
    name = string(record.get("name"), "name")
    yield RawEpisode(
        steps=steps,
        id=f"{place.stem}-{name}" if name else None,
        question_id=name,
        task=string(record.get("prompt"), "prompt"),
        env="humaneval" if name and name.startswith("HumanEval") else None,
        success=boolean(record.get("is_solved"), "is_solved"),
        extra={key: record[key] for key in _KEPT if key in record},
    )


FORMAT = Format("lats-code", "LATS and Reflexion programming runs (implementations, test_feedback)", "record",
                detect, read)  # fmt: skip
