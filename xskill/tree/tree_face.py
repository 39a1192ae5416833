"""``xskill.tree`` in Python: a tree from a file and to one, and what it is used for on trajectories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import get_args

from xskill.bounds import bounded
from xskill.errors import UsageError
from xskill.records import Instance, Trajectory, decode, encode
from xskill.streams.run import PythonRun
from xskill.streams.streams_face import counted
from xskill.tree.context_cards import Card, cards, deck_of, type_cards
from xskill.tree.occurrences import Ablation, Curriculum, InstanceChoices
from xskill.tree.occurrences import instances as build_instances
from xskill.tree.prompts import PromptTemplate, read_template
from xskill.tree.reward_stream import Outcome, RewardRollout, note_lone, shaped, with_potential
from xskill.tree.shaping import Shaping, bonus_of
from xskill.tree.tiles import tile as tile_stream
from xskill.tree.xtree import XTree, read_tree, write_tree


def load(path: str | Path) -> XTree:
    """Read an X-Tree: our stream (JSON lines or Parquet), or the JSON object of the authors' released trees.

    Example::

        best = max(tree.load("tree.jsonl").nodes, key=lambda node: node.episodes or 0)

    Raises:
        BadRecord: it holds no tree, or an inconsistent one.
        NoInput: the file is missing or empty.
    """
    return read_tree(path)


def save(tree: XTree, path: str | Path, *, to: str | None = None) -> None:
    """Write an X-Tree, atomically; ``to`` = ``jsonl`` or ``parquet``, by default by the ending of ``path``.

    Example::

        tree.save(mine.mine(xskill.read("episodes.jsonl")), "tree.jsonl")

    Raises:
        CannotWrite: the file cannot be written.
    """
    write_tree(tree, path, to=to)


def tile(tree: XTree, trajectories: Iterable[Trajectory]) -> Iterator[Trajectory]:
    """Trajectories with their ``tiles``: the routines and single actions that each is made of.

    Of a branch, the part is tiled that it generated itself. ``coverage`` is the share of its actions that routines
    cover, ``tokens_per_action`` its tiles per action.

    Example::

        for trajectory in tree.tile(tree.load("tree.jsonl"), xskill.read("episodes.jsonl")):
            print(trajectory.id, trajectory.coverage)

    Raises:
        BadRecord: (while reading) a branch claims to have copied more actions than it has.
        NoRecord: there is no trajectory.
    """
    run = PythonRun("tree tile")
    return tile_stream(tree, counted(trajectories, run), run)


@bounded(max_per_node=(1, None), mix=(None, None), seed=(0, None))
def instances(
    tree: XTree,
    trajectories: Iterable[Trajectory],
    *,
    curriculum: Curriculum = "none",
    max_per_node: int | None = None,
    dedupe: bool = False,
    ablation: Ablation | None = None,
    mix: float = 0.0,
    template: str | os.PathLike[str] | PromptTemplate | None = None,
    profile: str | None = None,
    seed: int = 0,
) -> Iterator[Instance]:
    """Offline-RL instances: one for each occurrence of a routine in a successful episode, sub-routines too.

    The task and the episode so far are the prompt, the routine's actions the gold continuation;
    :func:`xskill.tree.score` is the reward of a completion.

    Example::

        made = tree.instances(tree.load("tree.jsonl"), xskill.read("episodes.jsonl"), curriculum="depth")
        xskill.write(made, "instances.jsonl")

    Args:
        tree: of successes.
        trajectories: those that are no successes, or have no raw steps, give none.
        curriculum: ``depth`` is shallow routines first.
        max_per_node: at most so many instances of a routine, drawn at random.
        dedupe: leave out equal histories with equal gold.
        ablation: ``random-span`` is same lengths at random places, ``outcome`` pays only full matches.
        mix: share of whole trajectories in the output.
        template: texts of the prompt, or the TOML file with them.
        profile: name of the profile that scores completions; default: the one that gives the tokens.
        seed: of everything random.

    Raises:
        BadData: a tree of failures.
        NoRecord: there is no trajectory.
        UsageError: a value out of range.
    """
    _one_of("curriculum", curriculum, get_args(Curriculum))
    if ablation is not None:
        _one_of("ablation", ablation, get_args(Ablation))
    choices = InstanceChoices(curriculum, max_per_node, dedupe, ablation, mix, seed)
    run = PythonRun("tree instances")
    read = counted(trajectories, run)
    return build_instances(tree, read, choices, template=_template(template), profile=profile, run=run)


@bounded(
    scale=(0, None),
    strength=(0, None),
    threshold=(None, None),
    cap=(0, None),
    gamma=(0, 1),
    potential_scale=(0, 1e6),
)
def reward(
    tree: XTree,
    trajectories: Iterable[Trajectory],
    *,
    outcome: Outcome = "success",
    scale: float = 2.0,
    strength: float = 0.75,
    threshold: float = 0.4,
    cap: float | None = None,
    shaping: str | None = None,
    gamma: float = 1.0,
    potential_scale: float = 0.1,
) -> Iterator[Trajectory]:
    """Rollouts with shaped rewards: a bonus for the routines in each, as long as few of its question succeed.

    Adds ``bonus``, ``bonus_weight``, ``shaped_reward``, ``advantage`` and ``tiles``. A group is all rollouts of one
    ``question_id``, so all are read before the first comes out. With ``shaping="potential"`` each comes out as it is
    read, with ``shaping`` and ``tiles`` alone.

    Example::

        shaped = list(tree.reward(tree.load("tree.jsonl"), xskill.read("rollouts.jsonl"), cap=0.9))

    Args:
        tree: of successes.
        trajectories: the rollouts.
        outcome: what a rollout got: ``success`` (0 or 1), or ``reward`` (graded).
        scale: factor of the bonus.
        strength: lambda of a group without a success.
        threshold: success rate of a group from which on its lambda is 0.
        cap: most that may be added; below 1, no failure can outscore a success.
        shaping: ``potential`` is, instead, a term for each turn that keeps the optimal policy.
        gamma: discount, for ``potential``.
        potential_scale: potential of a unit of bonus, for ``potential``.

    Raises:
        BadData: a tree of failures.
        NoRecord: there is no rollout.
        UsageError: a value out of range.
    """
    _one_of("outcome", outcome, get_args(Outcome))
    if shaping not in (None, "potential"):
        raise UsageError(f"--shaping {shaping}: expected potential")
    choices = Shaping(strength=strength, threshold=threshold, scale=scale, cap=cap)
    bonus = bonus_of(tree)
    run = PythonRun("tree reward")
    rollouts = counted(trajectories, run)
    if shaping is not None:
        return (with_potential(record, bonus, potential_scale, gamma) for record in rollouts)
    lines = ((line, decode(line, RewardRollout)) for line in map(encode, rollouts))
    return (decode(line, Trajectory) for line in shaped(note_lone(lines, run), bonus, choices, outcome))


@bounded(budget=(1, None), routines=(1, None))
def context(
    tree: XTree,
    trajectories: Iterable[Trajectory] = (),
    *,
    task_type: Sequence[str] | None = None,
    by_type: bool = False,
    budget: int | None = None,
    routines: int = 6,
) -> Iterator[Card]:
    """Context cards for self-distillation: what goes into the teacher's prompt, and not into the student's.

    One card for each trajectory, by its task type and its actions so far; or, without any, for task types.

    Example::

        cards = {card.id: card.context for card in tree.context(tree.load("tree.jsonl"), by_type=True)}

    Args:
        tree: of successes.
        trajectories: what to make cards for.
        task_type: a card for each of these task types, instead.
        by_type: a card for every task type of the tree, instead.
        budget: most tokens of a card.
        routines: most routines of a card.

    Raises:
        BadData: a tree of failures; with ``by_type``, one that tells no task types.
        UsageError: trajectories and task types at once, or neither.
    """
    deck_of(tree)  # what is wrong with the tree is said now, not when the first card is asked for
    run = PythonRun("tree context")
    if not task_type and not by_type:
        return cards(tree, counted(trajectories, run), budget=budget, most=routines)
    if not isinstance(trajectories, tuple) or trajectories:
        raise UsageError("--task-type and --by-type read no episodes; leave the files out")
    return type_cards(tree, task_type or (), by_type=by_type, budget=budget, most=routines, run=run)


def _one_of(option: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise UsageError(f"--{option} {value}: expected one of {', '.join(allowed)}")


def _template(template: str | os.PathLike[str] | PromptTemplate | None) -> PromptTemplate:
    if template is None or isinstance(template, PromptTemplate):
        return template or PromptTemplate()
    return read_template(os.fspath(template))
