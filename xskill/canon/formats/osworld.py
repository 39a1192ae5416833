"""OSWorld ``traj.jsonl``: a line ``{step_num, action, response, reward, done, info, screenshot_file}`` for each action.

Several actions of one answer repeat its ``response``. The reward of a line is always 0; the verdict is the number in
``result.txt`` beside the file. The folder's name is the task's id. A last line ``{"Error": …}`` tells how it ended.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import boolean, integer, number, string
from xskill.canon.reading.json_text import parse
from xskill.errors import BadRecord

_ERROR = re.compile(r"\w+/[\w-]+")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
_STEP = frozenset({"step_num", "action", "response", "reward", "done"})
_FILE, _RESULT = "traj.jsonl", "result.txt"
_MAX = 1 << 28

Row = tuple[int, dict[str, Any]]


def detect(value: Any) -> bool:
    return _is_step(value) or _is_error(value)


def _is_step(value: Any) -> bool:
    if not isinstance(value, dict) or not {"step_num", "action", "done"} <= value.keys():
        return False
    return "screenshot_file" in value or "action_timestamp" in value


def _is_error(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() != {"Error"}:
        return False
    return isinstance(value["Error"], str) and _ERROR.search(value["Error"]) is not None


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    folder = place.path.parent if place.path is not None else None
    beside = folder is not None and place.file == _FILE and (folder / _RESULT).is_file()
    named = folder is not None and (beside or _UUID.fullmatch(folder.name) is not None)
    yield from _episodes(values, place, folder.name if named and folder else None, folder if beside else None)


def _episodes(
    values: Iterable[tuple[int, Any]], place: Place, name: str | None, folder: Path | None
) -> Iterator[RawEpisode]:
    runs = list(_runs(values, place))
    for index, (rows, error) in enumerate(runs):
        last = index == len(runs) - 1
        extra: dict[str, Any] = {"error": error} if error is not None else {}
        if not rows:
            place.tally.lose("runs that failed before the first action")
        ends = [row.get("action") for _, row in rows[-1:] if row.get("action") in ("DONE", "FAIL")]
        task = next((row["instruction"] for _, row in rows if isinstance(row.get("instruction"), str)), None)
        yield RawEpisode(
            steps=_steps(rows, place),
            id=name if last else None,
            question_id=name,
            task=task,
            env="osworld",
            reward=_result(folder, place) if last else None,
            claim=ends[0] if ends else None,
            extra=extra,
            record=rows[0][0] if rows else None,
            suffix=str(index) if index else None,
        )


def _runs(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[tuple[list[Row], str | None]]:
    """Lines of each run in the order of their steps: a file may be written to again after a run has ended."""
    rows: list[Row] = []
    ended = False
    for index, value in values:
        if _is_error(value):
            yield _sorted(rows, place), value["Error"]
            rows, ended = [], False
            continue
        if not _is_step(value):
            place.tally.lose("records of no known kind")
            continue
        number_ = integer(value["step_num"], "step_num") or 0
        if ended and number_ <= 1 and (integer(rows[-1][1]["step_num"], "step_num") or 0) > 1:
            yield _sorted(rows, place), None
            rows = []
        rows.append((index, value))
        ended = boolean(value.get("done"), "done") is True
    if rows:
        yield _sorted(rows, place), None


def _sorted(rows: list[Row], place: Place) -> list[Row]:
    kept: list[Row] = []
    for row in sorted(rows, key=lambda row: integer(row[1]["step_num"], "step_num") or 0):
        if any(row[1] == other[1] for other in kept[-8:]):
            place.tally.skip("repeated records")
        else:
            kept.append(row)
    return kept


def _steps(rows: list[Row], place: Place) -> list[RawStep]:
    steps: list[RawStep] = []
    before: Any = None
    for _, row in rows:
        turn = integer(row["step_num"], "step_num")
        step = _step(row, turn)
        if turn == before:
            step.thought = None  # the answer is repeated with each of its actions
        before = turn
        steps.append(step)
    return steps


def _step(row: dict[str, Any], turn: int | None) -> RawStep:
    response = row.get("response")
    thought = as_text(response.get("thought") or response) if isinstance(response, dict) else as_text(response)
    extra = {key: value for key, value in row.items() if key not in _STEP and value not in (None, "", {}, [])}
    reward = number(row.get("reward"), "reward")
    step = RawStep(thought=thought or None, turn=turn, extra=extra or None, reward=reward or None)
    action = row["action"]
    if isinstance(action, dict):
        name = action.get("action_type") or action.get("name") or action.get("action")
        step.kind, step.name = "call", string(name, "action.action_type") or "unknown"
        step.arguments = {key: value for key, value in action.items() if value is not name}
    else:
        step.action = as_text(action) or ""
    return step


def _result(folder: Path | None, place: Place) -> float | None:
    if folder is None or not (folder / _RESULT).is_file():
        return None
    text = (folder / _RESULT).read_text("utf-8", "replace").strip()[:100]
    try:
        return number(text or None, _RESULT)
    except BadRecord:
        place.tally.lose("results that are no number")
        return None


def detect_folder(path: Any) -> bool:
    return (path / _FILE).is_file() or next(_trajectories(path), None) is not None


def read_folder(path: Path, place: Place) -> Iterator[RawEpisode]:
    files = [path / _FILE] if (path / _FILE).is_file() else sorted(_trajectories(path))
    names = Counter(file.parent.name for file in files)
    for file in files:
        folder = file.parent
        name = folder.name if names[folder.name] == 1 else f"{folder.parent.name}/{folder.name}"
        yield from _episodes(_lines(file, place), place, name, folder)


def _trajectories(path: Path) -> Iterator[Path]:
    """``ID/traj.jsonl``, or ``DOMAIN/ID/traj.jsonl``."""
    for pattern in (f"*/{_FILE}", f"*/*/{_FILE}"):
        yield from (file for file in path.glob(pattern) if file.is_file())


def _lines(file: Path, place: Place) -> Iterator[tuple[int, Any]]:
    if file.stat().st_size > _MAX:
        raise BadRecord(f"more than {_MAX >> 20} MiB", file=str(file))
    for index, line in enumerate(file.read_bytes().split(b"\n"), 1):
        if line.strip():
            try:
                yield index, parse(line)[0]
            except BadRecord as error:
                place.bad.append(error.at(str(file), index, raw=line))


FORMAT = Format("osworld", "OSWorld traj.jsonl: a line for each action", "stream", detect, read)
FOLDER = Format("osworld-results", "an OSWorld result folder (traj.jsonl, result.txt), or one of them", "folder",
                detect_folder, read_folder)  # fmt: skip
