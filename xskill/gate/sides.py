"""What a side of the gate may be given as: results, or the trajectories that they would be measured from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import isfinite

from xskill.records import Result, Trajectory

Record = Result | Trajectory
_Question = tuple[str, str | None, str | None]


def as_results(current: Iterable[Record], candidate: Iterable[Record]) -> tuple[list[Result], list[Result], list[str]]:
    """Both sides as results.

    A trajectory becomes a result of its question (of its id, without one) with ``success`` as 0 or 1, ``reward``, the
    number of ``steps``, and the numbers in ``extra.scores``. Trajectories of one question are its repeats. A
    ``question_id`` with several environments or task texts, on both sides together, is as many tasks.

    Returns:
        The two sides, and what to decide on unasked: ``success`` where a trajectory has it, else ``reward``; nothing
        when there is no trajectory.
    """
    sides = list(current), list(candidate)
    episodes = [record for side in sides for record in side if isinstance(record, Trajectory)]
    names = _task_names(episodes)
    old, new = (_results(side, names) for side in sides)
    if not episodes:
        return old, new, []
    return old, new, ["success" if any(episode.success is not None for episode in episodes) else "reward"]


def _results(records: list[Record], names: dict[_Question, str]) -> list[Result]:
    runs: dict[str, int] = defaultdict(int)
    results: list[Result] = []
    for record in records:
        if isinstance(record, Result):
            results.append(record)
            continue
        task = names[_question(record)]
        results.append(Result(task_id=task, metrics=_metrics(record), repeat=runs[task]))
        runs[task] += 1
    return results


def _metrics(episode: Trajectory) -> dict[str, float | bool]:
    scores = episode.extra.get("scores")
    metrics: dict[str, float | bool] = {}
    if isinstance(scores, dict):
        metrics |= {str(k): float(v) for k, v in scores.items() if isinstance(v, (int, float)) and isfinite(v)}
    metrics["steps"] = float(len(episode.actions))
    if episode.success is not None:
        metrics["success"] = float(episode.success)
    if episode.reward is not None:
        metrics["reward"] = episode.reward
    return metrics


def _question(episode: Trajectory) -> _Question:
    return episode.question_id or episode.id, episode.env, episode.task


def _task_names(episodes: list[Trajectory]) -> dict[_Question, str]:
    """The name of each question: its id, and what tells it from others of that id. Null fits any text."""
    kinds: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for episode in episodes:
        name, env, task = _question(episode)
        for values, value in zip(kinds[name], (env, task), strict=True):
            if value is not None:
                values.add(value)

    def named(question: _Question) -> str:
        name, *texts = question
        more = (text or "" for text, values in zip(texts, kinds[name], strict=True) if len(values) > 1)
        return " · ".join((name, *more))

    return {question: named(question) for question in map(_question, episodes)}
