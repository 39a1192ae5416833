"""Terminal-Bench 1 ``results.json``: the verdict of a trial (or of a run of trials), and trial folders.

The steps are only in the terminal recording, which does not tell the agent's keys from the harness's, so
the trajectories are empty; the outcomes join with the agent's own log (``--outcomes``).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.formats.harbor import load
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import boolean, entry, items, mapping, string

_KEPT = ("failure_mode", "parser_results", "total_input_tokens", "total_output_tokens")


def detect(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if "is_resolved" in value and "parser_results" in value:
        return True
    results = value.get("results")
    first = results[0] if isinstance(results, list) and results else None
    return isinstance(first, dict) and "is_resolved" in first


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    listed = items(record["results"], "results") if "results" in record else [record]
    for index, trial in enumerate(listed):
        trial = mapping(trial, f"results[{index}]")
        place.tally.skip("terminal recording")
        yield RawEpisode(
            steps=[],
            id=string(trial.get("trial_name"), "trial_name"),
            question_id=string(trial.get("task_id"), "task_id"),
            task=string(trial.get("instruction"), "instruction"),
            success=boolean(trial.get("is_resolved"), "is_resolved"),
            extra={key: trial[key] for key in _KEPT if trial.get(key) not in (None, "unset")},
            suffix=str(index) if len(listed) > 1 else None,
        )


def detect_folder(path: Path) -> bool:
    beside = (path / "sessions").is_dir() or (path / "commands.txt").is_file()
    return beside and (path / "results.json").is_file()


def read_folder(path: Path, place: Place) -> Iterator[RawEpisode]:
    yield from read(mapping(load(path / "results.json"), ""), place)


FORMAT = Format("terminal-bench", "Terminal-Bench results.json (outcomes; no steps)", "record", detect, read)
FOLDER = Format("terminal-bench-trial", "a Terminal-Bench trial folder", "folder", detect_folder, read_folder)
