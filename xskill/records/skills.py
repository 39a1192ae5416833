"""SkillBanks, what they are learned from, and what gates decide about them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from xskill.records.base import Record, Tier


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
