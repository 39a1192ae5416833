"""The contracts: every record that travels between stages, as frozen typed records.

One JSON object a line, ``schema`` first; null and default fields are left out and filled in on reading.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Kind = Literal["action", "call", "command", "respond"]
Split = Literal["train", "evolve", "validation", "test"]
Tier = Literal["general", "task", "mistake"]


class Record(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of all contracts: frozen, slotted, default fields left out of the JSON."""


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
    n_tokens: int | None = None
    """Number of action tokens of the turn; null = 1."""
    q: float | None = None
    visits: int | None = None
    prior: float | None = None
    extra: dict[str, Any] = {}


class Parent(Record, frozen=True, kw_only=True):
    """The trajectory that a branch copied its first turns from."""

    id: str
    turn: int
    """First turn that the branch generated itself."""
    step: int | None = None
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
    start: int
    """Index of the first action that it covers."""
    length: int = 1
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
    coverage: float | None = None
    """Share of the actions that lie in a tile with a node."""
    tokens_per_action: float | None = None
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


class Corpus(Record, frozen=True, kw_only=True):
    """What a tree was mined from."""

    name: str | None = None
    n_trajectories: int | None = None
    successful_only: bool = False


class TreeHeader(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.tree/1"):
    """First line of a tree stream; its nodes follow."""

    environment: str | None = None
    corpus: Corpus = Corpus()
    n_primitives: int | None = None
    n_nodes: int
    outcome: Literal["success", "failure"] = "success"
    """What ``score`` rewarded. A failure tree holds lessons: instances, rewards and cards refuse it."""
    config: dict[str, Any] = {}
    stats: dict[str, Any] = {}
    extra: dict[str, Any] = {}


class Slot(Record, frozen=True, kw_only=True):
    """One slot position of a node's pattern."""

    step: int
    """Index in the expansion."""
    index: int
    """Index in that action's args."""
    variable: str | None = None
    """Name shared by all slots that carry the same value (``a``, ``b`` …); null for a constant that stands alone."""
    constant: str | None = None
    """The value, when there is one in (nearly) all occurrences."""
    values: list[tuple[str, int]] = []
    """Most frequent values with their counts."""


class Node(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.node/1"):
    """One merge of an X-Tree (ALGORITHMS section 2); a superset of the authors' released node."""

    id: str
    children: tuple[str, str]
    depth: int
    length: int
    expansion: list[str]
    count: int
    """Replacements made (disjoint)."""
    success: float | None = None
    """Share of those in successful episodes; null when no outcome told (or the corpus holds successes only)."""
    example: list[str] | None = None
    frequency: int | None = None
    """f: adjacent occurrences of the pair when it merged; what the score used."""
    score: float | None = None
    outcome_rate: float | None = None
    """What was scored, in a failure tree: share of the occurrences in failures."""
    episodes: int | None = None
    episodes_known: int | None = None
    episodes_success: int | None = None
    task_types: list[str | None] | None = None
    """Distinct task types of the episodes that hold it (mined with ``--successes-only``: of the successful ones),
    sorted; null is none."""
    task_type_episodes: list[int] | None = None
    """Distinct episodes that hold it, of each entry of ``task_types``."""
    tiles: int | None = None
    tiles_success: int | None = None
    lift: float | None = None
    p_value: float | None = None
    q_value: float | None = None
    p_adjusted: float | None = None
    success_low: float | None = None
    success_high: float | None = None
    """95% Wilson interval of episodes_success / episodes_known."""
    stability: float | None = None
    pattern: str | None = None
    slots: list[Slot] | None = None
    extra: dict[str, Any] = {}


class RolloutNode(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.rollout/1"):
    """One turn of a question's rollout tree, whatever number of trajectories share it (``rollout build``)."""

    question_id: str
    node: int
    """Number in its question, parents before children; 0 is the root, which is no turn."""
    parent: int | None = None
    depth: int = 0
    """Turns up to and with this one."""
    trajectories: list[str]
    """Ids of those that pass through or end here."""
    ended: list[str] = []
    """Ids of those that end here."""
    finished: int = 0
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
    turn: int
    step: int
    """First step of the turn."""
    n_steps: int = 1
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


class Skill(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.skill/1"):
    """One skill, or one mistake to avoid, with the evidence it stands on."""

    id: str
    tier: Tier
    task_type: str | None = None
    title: str
    principle: str
    when_to_apply: str | None = None
    when_not: str | None = None
    steps: list[str] = []
    evidence: dict[str, Any] = {}
    """nodes, episodes, successes, base_rate, sources, split."""
    status: str | None = None
    extra: dict[str, Any] = {}


class BankHeader(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.bank/1"):
    """First line of a SkillBank; its skills follow."""

    version: str
    """Content hash over the skills."""
    parent: str | None = None
    decision: dict[str, Any] | None = None
    extra: dict[str, Any] = {}


class Candidate(Record, frozen=True, kw_only=True):
    """One action at one node of a rollout tree, as evidence shows it."""

    action: str
    q: float | None = msgspec.field(name="Q", default=None)
    n: int | None = msgspec.field(name="N", default=None)
    outcome: bool | float | None = None
    completed_by: str | None = None


class Evidence(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.evidence/1"):
    """Elite action and its siblings under the same parent (Branch2Skill)."""

    task_id: str
    depth: int
    prefix: list[str]
    elite: Candidate
    siblings: list[Candidate]
    verdict: Literal["avoid", "equivalent", "revise"]
    extra: dict[str, Any] = {}


class Edit(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.edit/1"):
    """One change of a SkillBank."""

    op: Literal["append", "replace", "delete"]
    target: str | None = None
    skill: Skill | None = None
    rationale: str | None = None
    support: int | None = None
    source: Literal["success", "failure"] | None = None
    evidence: dict[str, Any] = {}
    extra: dict[str, Any] = {}


class Result(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.result/1"):
    """Metrics of one evaluated task under one bank."""

    task_id: str
    metrics: dict[str, float | bool]
    repeat: int | None = None
    extra: dict[str, Any] = {}


class Verdict(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.verdict/1"):
    """What a gate decided, and every number it stood on."""

    decision: Literal["accept", "reject", "inconclusive"]
    policy: str
    metrics: list[dict[str, Any]] = []
    regressions: list[dict[str, Any]] = []
    current_bank: str | None = None
    candidate_bank: str | None = None
    reasons: list[str] = []
    extra: dict[str, Any] = {}


CONTRACTS: dict[str, type[Record]] = {
    "trajectory": Trajectory,
    "tree": TreeHeader,
    "node": Node,
    "rollout": RolloutNode,
    "credits": CreditsHeader,
    "turn": TurnCredit,
    "evidence": Evidence,
    "skill": Skill,
    "edit": Edit,
    "bank": BankHeader,
    "result": Result,
    "verdict": Verdict,
}
"""Short name → record type; the tag of each is ``xskill.<name>/1``."""


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
