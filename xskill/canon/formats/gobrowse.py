"""Go-Browse: trajectory folders (``traj_info.json``, ``step_N/step_info.json``), and the data set's rows, a step each.

``parsed_action`` is null where the action could not be read. Steps of a prefix led to the page on which the goal was
given; they are steps of the trajectory and carry the mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.formats.harbor import load
from xskill.canon.reading.content_text import as_text, sorted_dumps
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import as_mapping, boolean, integer, mapping, number, string
from xskill.canon.reading.web_page import Page
from xskill.canon.reading.web_steps import Turn, web_steps
from xskill.errors import BadRecord

_STEP = re.compile(r"step_(\d{1,9})\Z")
_INFO, _STEP_INFO = "traj_info.json", "step_info.json"


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("traj_data"), dict):
        return False
    step = value.get("step_data")
    return isinstance(step, dict) and "action" in step and "obs" in step


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    """Rows in any order; one trajectory is what its number, its page and its goal name together."""
    trajectories: dict[str, tuple[int, dict[int, dict[str, Any]]]] = {}
    for index, value in values:
        if not detect(value):
            place.tally.lose("records of no known kind")
            continue
        trajectory = value["traj_data"]
        url = as_mapping(value.get("node_data")).get("node_url")
        key = sorted_dumps([trajectory.get("traj_num"), trajectory.get("goal"), url, trajectory.get("reward")])
        _, rows = trajectories.setdefault(key, (index, {}))
        step = integer(value["step_data"].get("step_number"), "step_data.step_number")
        step = len(rows) if step is None else step
        if step in rows:
            place.tally.skip("repeated records")
        rows.setdefault(step, value)
    for first, rows in trajectories.values():
        row = next(iter(rows.values()))
        trajectory = row["traj_data"]
        turns = [_turn(rows[step]["step_data"], "obs") for step in sorted(rows)]
        named = string(trajectory.get("traj_num"), "traj_data.traj_num")
        length = integer(trajectory.get("traj_length"), "traj_data.traj_length")
        if length is not None and length > len(rows):
            place.tally.lose("steps that a trajectory counts and the file does not hold", length - len(rows))
        extra = {"node": row.get("node_data"), "graph": row.get("graph_data"), "traj_num": named}
        yield _episode(trajectory, turns, {key: value for key, value in extra.items() if value}, first)


def _episode(trajectory: dict[str, Any], turns: list[Turn], extra: dict[str, Any], record: int) -> RawEpisode:
    return RawEpisode(
        steps=web_steps(turns),
        task=as_text(trajectory.get("goal")),
        env="webarena",
        initial_observation=turns[0].page.text if turns else None,
        success=boolean(trajectory.get("success"), "success"),
        reward=number(trajectory.get("reward"), "reward"),
        claim=as_text(trajectory.get("response")),
        extra=extra,
        record=record,
    )


def _turn(step: dict[str, Any], seen: str) -> Turn:
    observed = as_mapping(step.get(seen))
    parsed = step.get("parsed_action", step.get("action"))
    url, misc = observed.get("url"), as_mapping(step.get("misc"))
    extra: dict[str, Any] = {"url": url} if isinstance(url, str) else {}
    if misc.get("is_prefix_step"):
        extra["is_prefix_step"] = True
    return Turn(
        Page(observed),
        as_text(parsed if parsed is not None else step.get("action")),
        thought=as_text(step.get("thought")),
        unread=parsed is None and step.get("action") is not None,
        error_before=as_text(observed.get("last_action_error")),
        extra=extra or None,
    )


def detect_folder(path: Any) -> bool:
    return (path / _INFO).is_file() or next(path.glob(f"*/{_INFO}"), None) is not None


def read_folder(path: Path, place: Place) -> Iterator[RawEpisode]:
    folders = [path] if (path / _INFO).is_file() else sorted(file.parent for file in path.glob(f"*/{_INFO}"))
    for index, folder in enumerate(folders, 1):
        try:
            yield _trajectory(folder, place, index)
        except BadRecord as error:
            place.bad.append(error.at(str(folder)))


def _trajectory(folder: Path, place: Place, index: int) -> RawEpisode:
    info = mapping(load(folder / _INFO), _INFO)
    numbered = [(int(name.group(1)), child) for child in folder.iterdir() if (name := _STEP.match(child.name))]
    turns = []
    for _, child in sorted(numbered):
        if (child / _STEP_INFO).is_file():
            turns.append(_turn(mapping(load(child / _STEP_INFO), _STEP_INFO), "observation"))
        else:
            place.tally.lose("steps without step_info.json")
    episode = _episode(info, turns, {"agent": info["agent_info"]} if info.get("agent_info") else {}, index)
    episode.id = folder.name
    return episode


FORMAT = Format("gobrowse-steps", "Go-Browse's data set: a step a row", "stream", detect, read)
FOLDER = Format("gobrowse", "a Go-Browse trajectory folder, or a folder of them", "folder", detect_folder, read_folder)
