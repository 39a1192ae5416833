"""Harbor's traces export: a row ``{conversations, trial_name, episode, run_id, result}`` for each turn of a trial.

The rows are cumulative: a later one begins with all that an earlier one holds, so only the longest is read. A trial
whose agent began a new conversation (a summary of its own) has several that are no beginnings of another. ``result``
is the verifier's reward as text, or the name of the exception that ended the trial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.formats.terminus_episodes import episode_number, speaks
from xskill.canon.reading.chat import add_messages
from xskill.canon.reading.content_text import as_text, sorted_dumps
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import items, number, string
from xskill.canon.reading.terminus import add_turns

_KEPT = ("agent", "model", "model_provider", "date", "run_id", "trial_name")
_PLACED = frozenset({*_KEPT, "conversations", "task", "episode", "result"})

Row = tuple[int, dict[str, Any]]


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("conversations"), list):
        return False
    return "trial_name" in value and ("episode" in value or "run_id" in value)


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    trials: dict[tuple[str, str], list[Row]] = {}
    for index, value in values:
        if not detect(value):
            place.tally.lose("records of no known kind")
            continue
        items(value["conversations"], "conversations")
        trials.setdefault((str(value.get("run_id")), str(value["trial_name"])), []).append((index, value))
    names = Counter(trial for _, trial in trials)
    for (run, trial), rows in trials.items():
        identity = trial if names[trial] == 1 else f"{run}/{trial}"
        for part, row in enumerate(_longest(rows)):
            yield _episode(row, identity if part == 0 else f"{identity}/{part}", place)


def _longest(rows: list[Row]) -> list[Row]:
    """Rows that are no beginning of another, in the order of their episodes."""
    kept: list[Row] = []
    prefixes: set[int] = set()
    for row in sorted(rows, key=lambda row: len(row[1]["conversations"]), reverse=True):
        marks = [0]
        for message in row[1]["conversations"]:
            marks.append(hash((marks[-1], sorted_dumps(message))))
        if marks[-1] not in prefixes:
            prefixes.update(marks)
            kept.append(row)
    return sorted(kept, key=lambda row: episode_number(row[1].get("episode")) or 0)


def _episode(row: Row, identity: str, place: Place) -> RawEpisode:
    index, value = row
    messages = value["conversations"]
    dialog = Dialog()
    complete = False
    if speaks(messages):
        complete = add_turns(dialog, _turns(messages, place), place.tally)
    else:
        add_messages(dialog, messages, place.tally, "conversations")
    extra = {key: value[key] for key in _KEPT if value.get(key) is not None}
    extra.update({key: more for key, more in value.items() if key not in _PLACED})
    reward = None
    result = value.get("result")
    if isinstance(result, str) and not _is_number(result):
        extra["exception"] = result
    elif not isinstance(result, (dict, list)):
        reward = number(result, "result")
    else:
        extra["result"] = result
    return RawEpisode(
        steps=dialog.steps,
        id=identity,
        question_id=string(value.get("task"), "task"),
        task=dialog.task,
        initial_observation=dialog.initial_observation,
        reward=reward,
        claim=True if complete else None,
        extra=extra,
        record=index,
    )


def _turns(messages: list[Any], place: Place) -> Iterator[tuple[str | None, str | None]]:
    """Messages as pairs of prompt and answer."""
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        text = as_text(message.get("content")) if isinstance(message, dict) else None
        if role == "user":
            yield text, None
        elif role == "assistant":
            yield None, text
        else:
            count = place.tally.skip if role == "system" else place.tally.lose
            count("system message" if role == "system" else "message of another role")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


FORMAT = Format("harbor-traces", "Harbor's traces export: cumulative conversations of trials", "stream", detect, read)
