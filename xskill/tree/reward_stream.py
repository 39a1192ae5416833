"""``tree reward``: shaped rewards for a stream of rollouts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from math import fsum, isnan, nan
from operator import attrgetter
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec.structs import force_setattr

from xskill.errors import BadRecord
from xskill.records import Parent, Trajectory, check_aligned, decode, turns
from xskill.records.names import explained
from xskill.records.question_codes import QuestionCodes
from xskill.streams.raw import iter_raw
from xskill.streams.run import Run
from xskill.tree.many_episodes import as_json, encode_all
from xskill.tree.potential import potentials, shaping_terms
from xskill.tree.replay import encode
from xskill.tree.shaping import Bonus, Shaping, shape_group, succeeded
from xskill.tree.tiles import as_tiles

Outcome = Literal["success", "reward"]
SKIPPED = "no outcome"


class RewardRollout(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag_field="schema", tag="xskill.trajectory/1"):
    """What the reward of a rollout depends on; the rest of its line is passed on as it is."""

    id: str
    question_id: str | None = None
    env: str | None = None
    task: str | None = None
    success: bool | None = None
    reward: float | None = None
    actions: tuple[str, ...]
    args: tuple[msgspec.Raw, ...] | None = None
    steps: tuple[msgspec.Raw, ...] | None = None
    parent: Parent | None = None
    tiles: Any = None
    coverage: Any = None
    tokens_per_action: Any = None
    bonus: Any = None
    bonus_weight: Any = None
    shaped_reward: Any = None
    advantage: Any = None
    skipped: Any = None


COUNTED = ("args", "steps")
"""Fields of which only the length matters: forgotten once it is known to be right, for many rollouts wait together."""
ADDED = RewardRollout.__struct_fields__[10:]
"""Fields that ``tree reward`` writes anew."""
_added, _NOTHING = attrgetter(*ADDED), (None,) * len(ADDED)
BLOCK = 1 << 18
"""Actions that are tiled together."""


def read_rollouts(files: Sequence[str], run: Run) -> Iterator[tuple[bytes, RewardRollout]]:
    """The rollouts of all inputs, each as its line and what matters of it.

    Raises:
        BadRecord: the first bad one, unless ``run`` keeps rejects.
        NoInput: no record in any input.
    """
    return note_lone(_read(files, run), run)


def _read(files: Sequence[str], run: Run) -> Iterator[tuple[bytes, RewardRollout]]:
    for raw in iter_raw(files, run.note, run.unreadable if run.keeps_rejects else None):
        if raw.is_header:
            continue
        run.read += 1
        try:
            rollout = decode(raw.data, RewardRollout)
            check_aligned(rollout)
            for field in COUNTED:
                force_setattr(rollout, field, None)
        except BadRecord as error:
            run.bad(explained(error, raw.data, RewardRollout, run.command).at(raw.file, raw.line, raw=raw.data))
            continue
        run.kept += 1
        yield raw.data, rollout
    run.check_input(files)


def note_lone(rollouts: Iterable[tuple[bytes, RewardRollout]], run: Run) -> Iterator[tuple[bytes, RewardRollout]]:
    """Pass rollouts on; at the end the run is told how many have no question."""
    lone = 0
    for line, rollout in rollouts:
        lone += rollout.question_id is None
        yield line, rollout
    if lone:
        run.note(f"{lone:,} rollouts have no question_id: each is a group of its own, so its advantage is 0")


def shaped(
    rollouts: Iterable[tuple[bytes, RewardRollout]], bonus: Bonus, shaping: Shaping, outcome: Outcome = "success"
) -> Iterator[bytes]:
    """The rollouts as JSON lines, in their order, with ``tiles, bonus, bonus_weight, shaped_reward, advantage``.

    A group is all rollouts of one ``question_id`` (in one environment, with one task text), wherever they stand, so
    that nothing comes out before the last one
    was read; until then each is held as the line that it came in. A rollout without a question is a group of its
    own. One without an outcome stays out of its group and is ``skipped``.

    Args:
        rollouts: each line with what it says.
        outcome: what a rollout got: its ``success`` as 0 or 1, or its graded ``reward``. The success rate of a group
            is that of ``success``; with graded rewards, a null ``success`` counts as one if the reward is at least 1.
    """
    blocks: list[tuple[tuple[bytes, ...], tuple[bytes, ...]]] = []  # lines, and what tiling adds to each
    bonuses, outcomes, successes = array("d"), array("d"), array("d")
    first_of: dict[int, int] = {}
    questions = QuestionCodes()
    group_of = array("q")
    for block in _blocks(rollouts):
        added, values = _tiled([rollout.actions for _, rollout in block], bonus)
        blocks.append((tuple(_without_added(line, rollout) for line, rollout in block), added))
        bonuses.extend(values)
        for place, (_, rollout) in enumerate(block, start=len(group_of)):
            got, success = outcomes_of(rollout, outcome)
            outcomes.append(got)
            successes.append(success)
            question = rollout.question_id
            code = None if question is None else questions.code(question, rollout.env, rollout.task)
            group_of.append(place if code is None else first_of.setdefault(code, place))
    endings = [b',"skipped":"%b"}' % SKIPPED.encode()] * len(group_of)
    pack = msgspec.json.Encoder().encode
    for places in _members(group_of):
        rated = [place for place in places if not isnan(outcomes[place])]
        if rated:
            rate = fsum(successes[place] for place in rated) / len(rated)
            group = shape_group([outcomes[i] for i in rated], [bonuses[i] for i in rated], shaping, success=rate)
            for place, reward, advantage in zip(rated, group.rewards, group.advantages, strict=True):
                more = {"bonus_weight": group.weight, "shaped_reward": reward, "advantage": advantage}
                endings[place] = b"," + pack(more)[1:]
    ending = iter(endings)
    for lines, added in blocks:
        for line, tiles in zip(lines, added, strict=True):
            yield b"".join((memoryview(line)[:-1], tiles, next(ending)))  # the brace at its end left out, no copy made


def _blocks(rollouts: Iterable[tuple[bytes, RewardRollout]]) -> Iterator[list[tuple[bytes, RewardRollout]]]:
    """Runs of rollouts with about :data:`BLOCK` actions."""
    block: list[tuple[bytes, RewardRollout]] = []
    size = 0
    for pair in rollouts:
        block.append(pair)
        size += len(pair[1].actions) + 1
        if size > BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def _tiled(episodes: Sequence[Sequence[str]], bonus: Bonus) -> tuple[tuple[bytes, ...], list[float]]:
    """Of each list of actions ``,"tiles":[…],"bonus":…``, and the bonus."""
    tilings = encode_all(bonus.tiler, episodes)
    n_nodes = len(bonus.worth)
    node = tilings.symbol - bonus.tiler.n_primitives
    episode = np.repeat(np.arange(len(episodes)), np.diff(tilings.start))
    held = np.unique((episode * n_nodes + node)[(node >= 0) & (node < n_nodes)])  # each node of an episode once
    worths = np.array(bonus.worth)[held % n_nodes].tolist() if n_nodes else []
    first = np.searchsorted(held, np.arange(len(episodes) + 1) * n_nodes).tolist()
    values = [bonus.of_worths(worths[first[i] : first[i + 1]], len(actions)) for i, actions in enumerate(episodes)]
    texts, start, pack = as_json(bonus.tiler, tilings), tilings.start.tolist(), msgspec.json.Encoder().encode
    added = (
        b',"tiles":[%b],"bonus":%b' % (b",".join(texts[start[i] : start[i + 1]]), pack(value))
        for i, value in enumerate(values)
    )
    return tuple(added), values


def _members(group_of: Sequence[int]) -> Iterator[list[int]]:
    """The places of each group, ascending."""
    code = np.array(group_of, np.int64)
    order = np.argsort(code, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        yield places.tolist()


def _without_added(line: bytes, rollout: RewardRollout) -> bytes:
    """The line without the fields that are written anew."""
    if _added(rollout) != _NOTHING:
        value = msgspec.json.decode(line)
        return msgspec.json.encode({key: item for key, item in value.items() if key not in ADDED})
    return line.rstrip()


def outcomes_of(record: RewardRollout, outcome: Outcome) -> tuple[float, float]:
    """What the rollout got, and whether it succeeded; both NaN where the outcome is not known."""
    success, reward = record.success, record.reward
    if success is None and reward in (0, 1):
        success = bool(reward)
    if outcome == "reward":
        if reward is None:
            return nan, nan
        return reward, float(succeeded(reward) if success is None else success)
    return (nan, nan) if success is None else (float(success), float(success))


def with_potential(record: Trajectory, bonus: Bonus, scale: float, gamma: float) -> Trajectory:
    """The rollout with ``tiles`` and ``shaping``: the potential-based term of each turn, on the turn's first step."""
    first_steps = turn_starts(record)
    ends = [*first_steps[1:], len(record.actions)] if first_steps else []
    terms = shaping_terms(potentials(bonus, record.actions, ends, scale), gamma)
    on_steps: list[float | None] = [None] * len(record.actions)
    for step, term in zip(first_steps, terms, strict=True):
        on_steps[step] = term
    pieces = encode(bonus.tiler, record.actions)
    return msgspec.structs.replace(record, tiles=as_tiles(bonus.tiler, record.actions, pieces), shaping=on_steps)


def turn_starts(record: Trajectory) -> list[int]:
    """Index of the first step of each turn; without ``steps`` every action is its own turn."""
    if record.steps is None:
        return list(range(len(record.actions)))
    dense = turns(record.steps)
    return [step for step, turn in enumerate(dense) if step == 0 or turn != dense[step - 1]]
