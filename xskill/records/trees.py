"""X-Trees: the header and the nodes."""

from __future__ import annotations

from typing import Any, Literal

from xskill.records.base import Count, Positive, Record, Share


class Corpus(Record, frozen=True, kw_only=True):
    """What a tree was mined from."""

    name: str | None = None
    n_trajectories: Count | None = None
    successful_only: bool = False


class TreeHeader(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.tree/1"):
    """First line of a tree stream; its nodes follow."""

    environment: str | None = None
    corpus: Corpus = Corpus()
    n_primitives: Count | None = None
    n_nodes: Count
    outcome: Literal["success", "failure"] = "success"
    """What ``score`` rewarded. A failure tree holds lessons: instances, rewards and cards refuse it."""
    config: dict[str, Any] = {}
    stats: dict[str, Any] = {}
    extra: dict[str, Any] = {}


class Slot(Record, frozen=True, kw_only=True):
    """One slot position of a node's pattern."""

    step: Count
    """Index in the expansion."""
    index: Count
    """Index in that action's args."""
    variable: str | None = None
    """Name shared by all slots that carry the same value (``a``, ``b`` …); null for a constant that stands alone."""
    constant: str | None = None
    """The value, when there is one in (nearly) all occurrences."""
    values: list[tuple[str, int]] = []
    """Most frequent values with their counts."""


class Node(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.node/1"):
    """One merge of an X-Tree; a superset of the authors' released node."""

    id: str
    children: tuple[str, str]
    depth: Count
    length: Count
    expansion: list[str]
    count: Count
    """Replacements made (disjoint)."""
    success: Share | None = None
    """Share of those in successful episodes; null when no outcome told (or the corpus holds successes only)."""
    example: list[str] | None = None
    frequency: Count | None = None
    """f: adjacent occurrences of the pair when it merged; what the score used."""
    score: float | None = None
    outcome_rate: Share | None = None
    """What was scored, in a failure tree: share of the occurrences in failures."""
    episodes: Count | None = None
    episodes_known: Count | None = None
    episodes_success: Count | None = None
    task_types: list[str | None] | None = None
    """Distinct task types of the episodes that hold it (mined with ``--successes-only``: of the successful ones),
    sorted; null is none."""
    task_type_episodes: list[Count] | None = None
    """Distinct episodes that hold it, of each entry of ``task_types``."""
    tiles: Count | None = None
    tiles_success: Count | None = None
    lift: Positive | None = None
    p_value: Share | None = None
    q_value: Share | None = None
    p_adjusted: Share | None = None
    success_low: Share | None = None
    success_high: Share | None = None
    """95% Wilson interval of episodes_success / episodes_known."""
    stability: Share | None = None
    pattern: str | None = None
    slots: list[Slot] | None = None
    extra: dict[str, Any] = {}
