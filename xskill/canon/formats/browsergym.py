"""BrowserGym steps as JSON (AgentLab's step records), and the summary that AgentLab leaves beside pickled ones.

A step is ``{step, obs, action, reward, terminated, truncated, agent_info}``; the last one has no action and tells what
came of the one before. ``summary_info.json`` alone holds an outcome without steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.formats.harbor import load
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import as_mapping, integer, mapping, number, string
from xskill.canon.reading.web_page import Page
from xskill.canon.reading.web_steps import Turn, web_steps
from xskill.errors import BadRecord

_RUN = ("exp_id", "episode_id", "traj_id", "task_name", "task_id", "task_seed", "seed")
_ENDS = ("terminated", "truncated", "done")
_SUMMARY = "summary_info.json"

Row = tuple[int, dict[str, Any]]


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("obs"), dict) or "action" not in value:
        return False
    return "reward" in value and any(key in value for key in _ENDS)


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    runs: dict[Any, dict[int, Row]] = {}
    for index, value in values:
        if not detect(value):
            place.tally.lose("records of no known kind")
            continue
        step = integer(value.get("step"), "step")
        step = index if step is None else step
        name, copy = tuple(str(value.get(key)) for key in _RUN), 0
        while step in (rows := runs.setdefault((name, copy), {})) and rows[step][1] != value:
            copy += 1
        if step in rows:
            place.tally.skip("repeated records")
        rows.setdefault(step, (index, value))
    for number_, rows in enumerate(runs.values()):
        yield _episode([rows[step] for step in sorted(rows)], number_)


def _episode(rows: list[Row], index: int) -> RawEpisode:
    turns = [_turn(row) for _, row in rows]
    rewards = [number(row.get("reward"), "reward") or 0.0 for _, row in rows]
    ended = any(row.get(key) is True for _, row in rows[-1:] for key in _ENDS)
    total = sum(rewards)
    last = rows[-1][1]
    names = {key: last[key] for key in _RUN if isinstance(last.get(key), (str, int))}
    return RawEpisode(
        steps=web_steps(turns),
        question_id=string(names.get("task_name", names.get("task_id")), "task_name"),
        task=next((goal for _, row in rows if (goal := _goal(row["obs"]))), None),
        env="browsergym",
        initial_observation=turns[0].page.text,
        reward=total if ended or total else None,
        extra={**names, **{key: last[key] for key in _ENDS if key in last}},
        record=rows[0][0],
        suffix=str(index) if index else None,
    )


def _turn(row: dict[str, Any]) -> Turn:
    info = as_mapping(row.get("agent_info"))
    action = row.get("action")
    url = row["obs"].get("url")
    return Turn(
        Page(row["obs"]),
        as_text(action) if action is not None else None,
        thought=as_text(info.get("think") or info.get("thought")),
        error_before=as_text(row["obs"].get("last_action_error")),
        reward_before=number(row.get("reward"), "reward"),
        extra={"url": url} if isinstance(url, str) else None,
    )


def _goal(seen: dict[str, Any]) -> str | None:
    """The goal as text, or as parts of a message."""
    goal = seen.get("goal") or seen.get("goal_object")
    return as_text(goal) if goal else None


def is_summary(value: Any) -> bool:
    """Whether it is what AgentLab sums an episode up to."""
    return isinstance(value, dict) and {"n_steps", "cum_reward", "terminated", "truncated"} <= value.keys()


def read_summary(record: Any, place: Place) -> Iterator[RawEpisode]:
    yield _summary(mapping(record, ""), place)


def _summary(record: dict[str, Any], place: Place) -> RawEpisode:
    steps = integer(record.get("n_steps"), "n_steps") or 0
    if steps:
        place.tally.lose("steps that a summary counts and does not hold", steps)
    kept = ("n_steps", "terminated", "truncated", "err_msg", "stack_trace", "cum_raw_reward")
    failed = record.get("err_msg") is not None
    return RawEpisode(
        steps=[],
        env="browsergym",
        reward=None if failed else number(record.get("cum_reward"), "cum_reward"),
        extra={key: record[key] for key in kept if record.get(key) is not None},
    )


def detect_folder(path: Any) -> bool:
    return (path / _SUMMARY).is_file() or next(path.glob(f"*/{_SUMMARY}"), None) is not None


def read_folder(path: Path, place: Place) -> Iterator[RawEpisode]:
    """The outcomes of a study; the pickles beside them are never opened."""
    folders = [path] if (path / _SUMMARY).is_file() else sorted(file.parent for file in path.glob(f"*/{_SUMMARY}"))
    for index, folder in enumerate(folders, 1):
        try:
            summary = load(folder / _SUMMARY)
            if not is_summary(summary):
                raise BadRecord("not a summary of an episode", path=_SUMMARY)
            episode = _summary(summary, place)
        except BadRecord as error:
            place.bad.append(error.at(str(folder)))
            continue
        if pickles := sum(1 for _ in folder.glob("*.pkl*")):
            place.tally.lose("pickled files, which are not opened", pickles)
        episode.id, episode.record = folder.name, index
        yield episode


FORMAT = Format("browsergym", "BrowserGym and AgentLab steps with obs and action", "stream", detect, read)
SUMMARY = Format("agentlab-summary", "AgentLab's summary_info.json: an outcome without steps", "record", is_summary,
                 read_summary)  # fmt: skip
FOLDER = Format("agentlab-results", "an AgentLab experiment or study folder: outcomes without steps", "folder",
                detect_folder, read_folder)  # fmt: skip
