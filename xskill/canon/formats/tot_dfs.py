"""Tree-of-Thoughts depth-first logs (crosswords): a list of problems, each a list of the states that were visited.

A state is ``{total_step, env_step, actions, info, count}``; ``actions`` is its path from the root. Paths that no other
goes on from are branches of rollouts. ``info`` is the environment's word on the state: ``r_game`` whether it is solved,
``r_word`` the share of right words. The puzzle itself is not in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import as_mapping, boolean, fail, items, mapping, number
from xskill.canon.reading.search_leaves import parents
from xskill.records import Parent

_KEYS = frozenset({"actions", "env_step", "info"})

Path = tuple[str, ...]


def detect(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    return any(map(_is_problem, value[:8])) or _is_problem(value)


def _is_problem(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and value[0].keys() >= _KEYS


def read(record: Any, place: Place) -> Iterator[RawEpisode]:
    if not isinstance(record, list):
        raise fail("", "a list of problems", record)
    first = place.number
    for index, problem in enumerate([record] if _is_problem(record) else record):
        question = f"{place.stem}-{first + index}"
        yield from _problem(items(problem, f"[{index}]"), question, index, place, first + index)


def _problem(states: list[Any], question: str, index: int, place: Place, row: int) -> Iterator[RawEpisode]:
    visited: dict[Path, dict[str, Any]] = {}
    for at, state in enumerate(states):
        state = mapping(state, f"[{index}][{at}]")
        path = tuple(items(state.get("actions"), f"[{index}][{at}].actions"))
        if not all(isinstance(action, str) for action in path):
            raise fail(f"[{index}][{at}].actions", "texts", list(path))
        if not path:
            place.tally.skip("states before the first action")
        elif path in visited:
            place.tally.skip("states visited again")
        else:
            visited[path] = state
    inner = {path[:-1] for path in visited}
    leaves = [path for path in visited if path not in inner]
    for number_, (leaf, shared) in enumerate(zip(leaves, parents(leaves), strict=True)):
        info = as_mapping(visited[leaf].get("info"))
        solved = boolean(info.get("r_game"), f"[{index}].info.r_game")
        yield RawEpisode(
            steps=[_step(action, visited.get(leaf[: depth + 1])) for depth, action in enumerate(leaf)],
            id=f"{question}-{number_}",
            question_id=question,
            success=solved,
            reward=number(info.get("r_word"), f"[{index}].info.r_word"),
            parent=Parent(id=f"{question}-{shared[0]}", turn=shared[1]) if shared else None,
            extra={"info": info} if info else {},
            record=row,
        )


def _step(action: str, state: dict[str, Any] | None) -> RawStep:
    """A word that is filled in; how the values of its state were counted goes to ``extra``."""
    count = as_mapping(state).get("count")
    return RawStep(action, extra={"count": count} if isinstance(count, dict) else None)


FORMAT = Format("tot-dfs", "Tree-of-Thoughts depth-first logs, as branches of rollouts", "record", detect, read,
                whole=True)  # fmt: skip
