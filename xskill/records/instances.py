"""Offline-RL instances: continue a successful episode from the point where a routine begins (``tree instances``)."""

from __future__ import annotations

from typing import Literal

from xskill.records.base import Count, Kind, Positive, Record

STEP_SHARE = 0.7
COMPLETION_SHARE = 0.3


class Message(Record, frozen=True, kw_only=True):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


class Gold(Record, frozen=True, kw_only=True):
    """What a completion is held against; travels to the trainers as JSON text."""

    actions: list[str]
    """Raw actions of the source episode."""
    tokens: list[str]
    """Their canonical tokens."""
    kinds: list[Kind]
    profile: str | None = None
    """Profile that turns these raw actions into these tokens; null when none does: then the raw text decides."""
    options: dict[str, str] = {}
    """What the goal asks for, where tokens depend on it (WebShop)."""
    step_share: Positive = STEP_SHARE
    """Reward for matching all steps, paid in proportion."""
    completion: Positive = COMPLETION_SHARE
    """Reward on top for matching all of them."""


class Instance(Record, frozen=True, kw_only=True, tag_field="schema", tag="xskill.instance/1"):
    """One prompt with its gold continuation."""

    id: str
    kind: Literal["node", "span", "trajectory"] = "node"
    """``span``: a random span of a node's length (ablation); ``trajectory``: a whole episode (``--mix``)."""
    node: str | None = None
    depth: Count = 0
    length: Count
    episode: str
    question_id: str | None = None
    task_type: str | None = None
    env: str | None = None
    split: str | None = None
    start: Count
    """Index of the first gold action in the episode."""
    turn: Count
    """Index of its turn."""
    prompt: list[Message]
    gold: Gold
