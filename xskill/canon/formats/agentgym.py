"""AgentGym MCP runs: ``{episodes: [{episode_id, transitions}], statistics}``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import boolean, entry, items, mapping, needed, number, string


def detect(value: Any) -> bool:
    episodes = value.get("episodes") if isinstance(value, dict) else None
    return isinstance(episodes, list) and any(isinstance(e, dict) and "transitions" in e for e in episodes[:1])


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    record = entry(record)
    if record.get("statistics"):
        place.tally.skip("statistics of the run")
    for index, episode in enumerate(items(needed(record, "episodes"), "episodes"), 1):
        path = f"episodes[{index - 1}]"
        episode = mapping(episode, path)
        steps = []
        for at, one in enumerate(items(episode.get("transitions"), f"{path}.transitions")):
            one = mapping(one, f"{path}.transitions[{at}]")
            action = string(one.get("action"), f"{path}.transitions[{at}].action")
            reward = number(one.get("reward"), f"{path}.transitions[{at}].reward")
            steps.append(RawStep(action or "", observation=as_text(one.get("observation")), reward=reward))
        identity = string(episode.get("episode_id"), f"{path}.episode_id")
        yield RawEpisode(
            steps=steps,
            id=f"{place.stem}-{identity}" if identity is not None else None,
            question_id=string(episode.get("data_idx"), f"{path}.data_idx"),
            success=boolean(episode.get("success"), f"{path}.success"),
            reward=number(episode.get("total_reward"), f"{path}.total_reward"),
            record=index,
        )


FORMAT = Format("agentgym", "AgentGym MCP episodes with transitions", "record", detect, read)
