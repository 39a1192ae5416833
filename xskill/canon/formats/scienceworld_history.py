"""ScienceWorld run histories (``saveRunHistories``; SwiftSage): an object of episodes, scores and flags as strings.

``score`` is cumulative, from 0 to 1; ``isCompleted`` is true after a fatal error too, so success is a score of 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import at, entry, items, mapping, needed, number, string


def detect(value: Any) -> bool:
    if not isinstance(value, dict) or not value:
        return False
    first = next(iter(value.values()))
    return isinstance(first, dict) and "episodeIdx" in first and isinstance(at(first, "history.history"), list)


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    for index, (key, episode) in enumerate(entry(record).items(), 1):
        episode = mapping(episode, key)
        run = mapping(needed(episode, "history"), f"{key}.history")
        steps: list[RawStep] = []
        score = 0.0
        for position, one in enumerate(items(run.get("history"), f"{key}.history.history")):
            path = f"{key}.history.history[{position}]"
            one = mapping(one, path)
            before, now = score, number(one.get("score"), f"{path}.score")
            score = score if now is None else now
            steps.append(
                RawStep(
                    string(one.get("action"), f"{path}.action") or "",
                    observation=as_text(one.get("observation")),
                    reward=round(score - before, 9),
                    extra={"score": score},
                )
            )
            place.tally.skip("free look and inventory of a step")
        variation = run.get("variationIdx")
        yield RawEpisode(
            steps=steps,
            id=f"{place.stem}-{episode.get('episodeIdx', key)}",
            question_id=f"{run.get('task_id')}-{variation}",
            task=string(run.get("taskDescription"), f"{key}.history.taskDescription"),
            task_type=string(run.get("taskName"), f"{key}.history.taskName"),
            env="scienceworld",
            split=string(run.get("fold"), f"{key}.history.fold"),
            success=score >= 1.0 if steps else None,
            reward=score if steps else None,
            extra={"variation": variation, **mapping(episode.get("notes"), f"{key}.notes")},
            record=index,
        )


FORMAT = Format("scienceworld-history", "ScienceWorld run histories (saveRunHistories)", "record", detect, read)
