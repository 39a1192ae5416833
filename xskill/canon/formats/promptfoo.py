"""promptfoo results: ``{evalId, results: {results: […]}}``, or one result a line.

``success`` and ``score`` are the assertions' word; a result whose ``failureReason`` is 2 failed to run and has no
verdict. The values of the assertions may hold the gold answer, so of the test case only the variables are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.chat import AGENT, add_messages
from xskill.canon.reading.content_text import as_text, loads_maybe
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import as_mapping, boolean, entry, integer, items, mapping, number, string

_ERROR = 2
_CALL_KEYS = frozenset({"function", "name"})


def detect(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if _is_result(value):
        return True
    listed = _results(value)
    return isinstance(listed, list) and bool(listed) and _is_result(listed[0])


def _is_result(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("prompt"), dict) or "vars" not in value:
        return False
    return "success" in value and ("testIdx" in value or "failureReason" in value or "gradingResult" in value)


def _results(value: dict[str, Any]) -> Any:
    inner = value.get("results")
    return inner.get("results") if isinstance(inner, dict) else inner


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    run = string(record.get("evalId"), "evalId") or place.stem
    if _is_result(record):
        yield _episode(record, run, place.number, place)
        return
    seen: dict[str, int] = {}
    for index, result in enumerate(items(_results(record), "results.results"), 1):
        episode = _episode(mapping(result, f"results.results[{index - 1}]"), run, index, place)
        name = episode.id or ""
        seen[name] = seen.get(name, 0) + 1
        episode.id = name if seen[name] == 1 else f"{name}-{seen[name]}"
        yield episode


def _episode(result: dict[str, Any], run: str, index: int, place: Place) -> RawEpisode:
    dialog = Dialog()
    raw = as_mapping(result.get("prompt")).get("raw")
    chat = loads_maybe(raw)
    if isinstance(chat, list) and chat and all(isinstance(m, dict) and "role" in m for m in chat):
        spoken = [m for m in chat if m["role"] in AGENT or m["role"] in ("tool", "function")]
        if spoken:
            place.tally.lose("message of the prompt", len(spoken))
        add_messages(dialog, [m for m in chat if m not in spoken], place.tally, "prompt.raw")
    else:
        dialog.user(as_text(raw))
    response = as_mapping(result.get("response"))
    _answer(dialog, response.get("output"), place)
    failed = integer(result.get("failureReason"), "failureReason") == _ERROR or (
        result.get("error") is not None and response.get("output") is None
    )
    grading = as_mapping(result.get("gradingResult"))
    extra: dict[str, Any] = {
        key: result[key] for key in ("vars", "namedScores", "failureReason") if result.get(key) not in (None, {}, "")
    }
    provider = result.get("provider")
    extra["provider"] = provider.get("id") if isinstance(provider, dict) else provider
    error = result.get("error", response.get("error"))
    if error is not None:
        extra["error" if failed else "failure"] = error
    if grading.get("reason") is not None:
        extra["grading"] = grading["reason"]
    numbers = [result.get(key) for key in ("promptIdx", "testIdx", "repeatIndex")]
    where = "-".join(str(part) for part in numbers if part is not None) or string(result.get("id"), "id") or str(index)
    return RawEpisode(
        steps=dialog.steps,
        id=f"{run}-{where}",
        question_id=f"{run}-{result['testIdx']}" if result.get("testIdx") is not None else None,
        task=dialog.task,
        initial_observation=dialog.initial_observation,
        success=None if failed else boolean(result.get("success"), "success"),
        reward=None if failed else number(result.get("score"), "score"),
        extra={key: value for key, value in extra.items() if value is not None},
        record=index,
    )


def _answer(dialog: Dialog, output: Any, place: Place) -> None:
    """The model's answer: a text, calls, a message, or an object."""
    output = loads_maybe(output) if isinstance(output, str) and output[:2] in ("[{", '{"') else output
    if isinstance(output, dict) and isinstance(output.get("tool_calls"), list):
        add_messages(dialog, [{**output, "role": "assistant"}], place.tally, "response.output")
    elif isinstance(output, list) and output and all(isinstance(o, dict) and o.keys() & _CALL_KEYS for o in output):
        add_messages(dialog, [{"role": "assistant", "tool_calls": output}], place.tally, "response.output")
    else:
        dialog.agent(as_text(output))


FORMAT = Format("promptfoo", "promptfoo results, with the assertions' verdicts", "record", detect, read)
