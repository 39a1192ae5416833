"""Harbor trial folders (``config.json``, ``result.json``, ``agent/``, ``verifier/``), and job folders of them.

The steps are in ``agent/trajectory.json`` (ATIF), else in ``agent/episode-N/{prompt,response}.txt`` (Terminus); the
verifier's word is ``verifier_result.rewards`` of ``result.json``, else ``verifier/reward.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xskill.canon.formats.atif import read_trajectory, single_reward
from xskill.canon.formats.format import Format
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import at, mapping, number, string
from xskill.canon.reading.json_text import parse
from xskill.canon.reading.terminus import add_turns
from xskill.errors import BadRecord

_MAX = 1 << 29
_EPISODE = re.compile(r"episode-\d{1,9}\Z")


def detect(path: Any) -> bool:
    return is_trial(path) or any(is_trial(child) for child in _children(path))


def is_trial(path: Path) -> bool:
    """Whether a folder is one trial."""
    return (path / "result.json").is_file() and ((path / "agent").is_dir() or (path / "verifier").is_dir())


def read(path: Path, place: Place) -> Iterator[RawEpisode]:
    for trial in [path] if is_trial(path) else [child for child in _children(path) if is_trial(child)]:
        try:
            yield from _trial(trial, place)
        except BadRecord as error:
            place.bad.append(error.at(str(trial)))


def _children(path: Path) -> list[Path]:
    return sorted(child for child in path.iterdir() if child.is_dir())


def _trial(path: Path, place: Place) -> Iterator[RawEpisode]:
    result = mapping(load(path / "result.json"), "result.json")
    rewards = at(result, "verifier_result.rewards")
    reward = single_reward(rewards) if isinstance(rewards, dict) else None
    if reward is None and (path / "verifier" / "reward.txt").is_file():
        reward = number((path / "verifier" / "reward.txt").read_text("utf-8", "replace").strip() or None, "reward.txt")
    task = string(result.get("task_name"), "task_name")
    name = string(result.get("trial_name"), "trial_name") or path.name
    extra: dict[str, Any] = {}
    if isinstance(rewards, dict) and set(rewards) != {"reward"}:
        extra["rewards"] = rewards
    if result.get("exception_info"):
        extra["exception"] = result["exception_info"]
    tests = _tests(path / "verifier" / "ctrf.json")
    if tests:
        extra["tests"] = tests
    log = path / "agent" / "trajectory.json"
    episodes: Iterator[RawEpisode] = iter([RawEpisode(steps=[])])
    if log.is_file():
        episodes = read_trajectory(load(log), place)
    elif turns := _turns(path / "agent"):
        episodes = iter([_terminus(turns, place)])
    else:
        place.tally.lose("trial without agent/trajectory.json")
    for index, episode in enumerate(episodes):
        if index == 0:
            episode.id, episode.question_id = name, task
            episode.reward = reward if reward is not None else episode.reward
        elif episode.id is not None:
            episode.id = f"{name}/{episode.id}"
        episode.extra = {**episode.extra, **extra}
        yield episode


def _turns(agent: Path) -> list[Path]:
    """Folders ``episode-0``, ``episode-1`` … in their order."""
    if not agent.is_dir():
        return []
    numbered = [(int(child.name[8:]), child) for child in _children(agent) if _EPISODE.match(child.name)]
    return [child for _, child in sorted(numbered)]


def _terminus(turns: list[Path], place: Place) -> RawEpisode:
    dialog = Dialog()
    pairs = ((_text(turn / "prompt.txt"), _text(turn / "response.txt")) for turn in turns)
    complete = add_turns(dialog, pairs, place.tally)
    return RawEpisode(steps=dialog.steps, task=dialog.task, claim=True if complete else None)


def _text(path: Path) -> str | None:
    if not path.is_file():
        return None
    if path.stat().st_size > _MAX:
        raise BadRecord(f"more than {_MAX >> 20} MiB", file=str(path))
    return path.read_text("utf-8", "replace")


def _tests(path: Path) -> dict[str, str] | None:
    """Status of every test in a CTRF report."""
    if not path.is_file():
        return None
    tests = at(load(path), "results.tests")
    if not isinstance(tests, list):
        return None
    return {str(test.get("name")): str(test.get("status")) for test in tests if isinstance(test, dict)}


def load(path: Path) -> Any:
    """A JSON file of bounded size."""
    if path.stat().st_size > _MAX:
        raise BadRecord(f"more than {_MAX >> 20} MiB", file=str(path))
    try:
        return parse(path.read_bytes())[0]
    except BadRecord as error:
        raise error.at(str(path)) from None


FORMAT = Format("harbor", "a Harbor trial folder, or a job folder of trials", "folder", detect, read)
