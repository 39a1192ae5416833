"""Episodes, what credit adds to them, and the nodes of rollout trees."""

from __future__ import annotations

from typing import Any

import msgspec

from xskill.records.base import Count, Kind, Positive, Record, Share, Split


class Step(Record, frozen=True, kw_only=True):
    """One action of the agent and what came back.

    ``logprob``, ``logprob_new`` and ``n_tokens`` describe the whole turn and sit on its first step.
    """

    action: str
    """Raw text; of a call ``name({json})`` with sorted keys."""
    observation: str | None = None
    thought: str | None = None
    kind: Kind = "action"
    turn: int | None = None
    """Index of the turn that the step belongs to; null = the turn after the previous step's (see :func:`turns`)."""
    error: bool = False
    reward: float | None = None
    logprob: float | list[float] | None = None
    """Log-likelihood of the turn's action tokens under the behaviour policy: their sum, or one value a token."""
    logprob_new: float | list[float] | None = None
    """The same under the current policy."""
    n_tokens: Count | None = None
    """Number of action tokens of the turn; null = 1."""
    q: float | None = None
    visits: Count | None = None
    prior: Positive | None = None
    extra: dict[str, Any] = {}


STEP_FIELDS: tuple[str, ...] = Step.__struct_fields__
"""The fields of a step. What reads or writes steps in a form of its own takes its names from here."""
TURN_FIELDS = ("logprob", "logprob_new", "n_tokens")
"""Those that describe the whole turn, and stand on its first step."""


class Parent(Record, frozen=True, kw_only=True):
    """The trajectory that a branch copied its first turns from."""

    id: str
    turn: Count
    """First turn that the branch generated itself."""
    step: Count | None = None
    """Index of that turn's first step; null = ``turn``."""


class Source(Record, frozen=True, kw_only=True):
    """Where a trajectory was read from."""

    format: str
    file: str | None = None
    record: int | None = None


class Tile(Record, frozen=True, kw_only=True):
    """One top-level piece of a tiled episode."""

    node: str | None = None
    """Node id; null for a left-over primitive."""
    token: str | None = None
    """The primitive's token; null for a node."""
    start: Count
    """Index of the first action that it covers."""
    length: Count = 1
    """Number of actions that it covers."""


class Trajectory(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.trajectory/1"):
    """One episode of one agent. ``actions``, ``args`` and ``steps`` are aligned: one entry an action.

    The columns after ``extra`` are null until a stage adds them (``tree tile``, ``credit``).
    """

    id: str
    question_id: str | None = None
    task: str | None = None
    task_type: str | None = None
    env: str | None = None
    split: Split | None = None
    initial_observation: str | None = None
    success: bool | None = None
    """null = unknown, which is not failure."""
    reward: float | None = None
    actions: list[str]
    """Canonical tokens ``verb<role>``."""
    args: list[list[str]] | None = None
    """Identity-bearing values of each action."""
    steps: list[Step] | None = None
    parent: Parent | None = None
    source: Source | None = None
    extra: dict[str, Any] = {}

    tiles: list[Tile] | None = None
    coverage: Share | None = None
    """Share of the actions that lie in a tile with a node."""
    tokens_per_action: Positive | None = None
    """Tiles / actions."""
    bonus: float | None = None
    """Node bonus b of the tiles, each node once (``tree reward``)."""
    bonus_weight: float | None = None
    """lambda of the rollout's group."""
    shaped_reward: float | None = None
    shaping: list[float | None] | None = None
    """Potential-based term of each turn, on its first step; never part of ``shaped_reward``."""
    advantage: float | None = None
    values: list[float | None] | None = None
    credits: list[float | None] | None = None
    targets: list[float | None] | None = None
    target_ratios: list[float | None] | None = None
    weights: list[float | None] | None = None
    residuals: list[float | None] | None = None
    losses: list[float | None] | None = None
    sequence_ratio: float | None = None
    """GSPO: exp of the mean token log ratio of the whole rollout."""
    skipped: str | None = None


CREDIT_COLUMNS: tuple[str, ...] = Trajectory.__struct_fields__[Trajectory.__struct_fields__.index("advantage") :]
"""Columns of a trajectory that credit adds, and replaces when they are there."""


class Episode(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="xskill.trajectory/1"):
    """The part of a trajectory that mining reads; all other fields are skipped without being built."""

    id: str
    question_id: str | None = None
    task_type: str | None = None
    env: str | None = None
    success: bool | None = None
    actions: list[str]
    args: list[list[str]] | None = None
    parent: Parent | None = None


class RolloutNode(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.rollout/1"):
    """One turn of a question's rollout tree, whatever number of trajectories share it (``rollout build``)."""

    question_id: str
    node: Count
    """Number in its question, parents before children; 0 is the root, which is no turn."""
    parent: int | None = None
    depth: Count = 0
    """Turns up to and with this one."""
    trajectories: list[str]
    """Ids of those that pass through or end here."""
    ended: list[str] = []
    """Ids of those that end here."""
    finished: Count = 0
    """Number of trajectories with a reward among them."""
    reward: float | None = None
    """Mean reward of the finished ones."""
    steps: list[Step] = []
    """Of the first trajectory that generated the turn."""


class CreditsHeader(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.credits/1"):
    """First line of a credit stream: every choice made; credited trajectories follow."""

    method: str
    config: dict[str, Any] = {}
    stats: dict[str, Any] = {}
    extra: dict[str, Any] = {}


class TurnCredit(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.turn/1"):
    """One turn of a credited trajectory (``credit --per-turn``)."""

    id: str
    """Of the trajectory."""
    question_id: str
    turn: Count
    step: Count
    """First step of the turn."""
    n_steps: Count = 1
    action: str
    """Of the first step."""
    advantage: float | None = None
    """Of the trajectory."""
    value: float | None = None
    credit: float | None = None
    target: float | None = None
    target_ratio: float | None = None
    weight: float | None = None
    log_ratio: float | None = None
    residual: float | None = None
    loss: float | None = None
    skipped: str | None = None


def turns(steps: list[Step]) -> list[int]:
    """Dense 0-based turn index of each step.

    Consecutive steps with the same explicit ``turn`` are one turn; a step without one is a turn of its own.
    """
    dense: list[int] = []
    previous: int | None = None
    for position, step in enumerate(steps):
        same = position > 0 and step.turn is not None and step.turn == previous
        dense.append(dense[-1] if same else (dense[-1] + 1 if dense else 0))
        previous = step.turn
    return dense
