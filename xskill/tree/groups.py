"""``tree reward``: shaped rewards for a stream of rollouts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from math import fsum, isnan, nan
from typing import Literal

import msgspec

from xskill.records import Trajectory, encode, turns
from xskill.tree.potential import potentials, shaping_terms
from xskill.tree.reward import Bonus, Shaping, shape_group
from xskill.tree.tile import as_tiles
from xskill.tree.tile import encode as tiling

Outcome = Literal["success", "reward"]
SKIPPED = "no outcome"


def shaped(
    records: Iterable[Trajectory], bonus: Bonus, shaping: Shaping, outcome: Outcome = "success"
) -> Iterator[bytes]:
    """The rollouts as JSON lines, in their order, with ``tiles, bonus, bonus_weight, shaped_reward, advantage``.

    A group is all rollouts of one ``question_id``, wherever they stand, so that nothing comes out before the last one
    was read; until then each is held as the JSON line that it will be. A rollout without a question is a group of its
    own. One without an outcome stays out of its group and is ``skipped``.

    Args:
        outcome: what a rollout got: its ``success`` as 0 or 1, or its graded ``reward``. The success rate of a group
            is that of ``success``; with graded rewards, one that is null counts as a success from a reward of 1 on.
    """
    lines: list[bytes] = []
    bonuses, outcomes, successes = array("d"), array("d"), array("d")
    members: dict[str | int, list[int]] = {}
    for record in records:
        pieces = tiling(bonus.tiler, record.actions)
        value = bonus.of_symbols([symbol for symbol, _ in pieces], len(record.actions))
        got, success = outcomes_of(record, outcome)
        record = msgspec.structs.replace(
            record,
            tiles=as_tiles(bonus.tiler, record.actions, pieces),
            coverage=None,
            tokens_per_action=None,
            bonus=value,
            bonus_weight=None,
            shaped_reward=None,
            advantage=None,
            skipped=SKIPPED if isnan(got) else None,
        )
        place = len(lines)
        members.setdefault(place if record.question_id is None else record.question_id, []).append(place)
        lines.append(encode(record))
        bonuses.append(value)
        outcomes.append(got)
        successes.append(success)
    endings = [b"}"] * len(lines)
    for places in members.values():
        known = [place for place in places if not isnan(outcomes[place])]
        if known:
            rate = fsum(successes[place] for place in known) / len(known)
            group = shape_group([outcomes[i] for i in known], [bonuses[i] for i in known], shaping, success=rate)
            for place, reward, advantage in zip(known, group.rewards, group.advantages, strict=True):
                added = {"bonus_weight": group.weight, "shaped_reward": reward, "advantage": advantage}
                endings[place] = b"," + msgspec.json.encode(added)[1:]
    for line, ending in zip(lines, endings, strict=True):
        yield line[:-1] + ending


def outcomes_of(record: Trajectory, outcome: Outcome) -> tuple[float, float]:
    """What the rollout got, and whether it succeeded; both NaN where the outcome is not known."""
    success, reward = record.success, record.reward
    if success is None and reward in (0, 1):
        success = bool(reward)
    if outcome == "reward":
        if reward is None:
            return nan, nan
        return reward, float(reward >= 1 if success is None else success)
    return (nan, nan) if success is None else (float(success), float(success))


def with_potential(record: Trajectory, bonus: Bonus, scale: float, gamma: float) -> Trajectory:
    """The rollout with ``tiles`` and ``shaping``: the potential-based term of each turn, on the turn's first step."""
    first_steps = turn_starts(record)
    ends = [*first_steps[1:], len(record.actions)] if first_steps else []
    terms = shaping_terms(potentials(bonus, record.actions, ends, scale), gamma)
    on_steps: list[float | None] = [None] * len(record.actions)
    for step, term in zip(first_steps, terms, strict=True):
        on_steps[step] = term
    pieces = tiling(bonus.tiler, record.actions)
    return msgspec.structs.replace(record, tiles=as_tiles(bonus.tiler, record.actions, pieces), shaping=on_steps)


def turn_starts(record: Trajectory) -> list[int]:
    """Index of the first step of each turn; without ``steps`` every action is its own turn."""
    if record.steps is None:
        return list(range(len(record.actions)))
    dense = turns(record.steps)
    return [step for step, turn in enumerate(dense) if step == 0 or turn != dense[step - 1]]
