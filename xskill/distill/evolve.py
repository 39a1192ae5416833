"""Recursive evolution (SkillRL): what the present bank does not cover where it still fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xskill.bank.skillbank import Bank
from xskill.distill.edits import best_first, skill_edits
from xskill.distill.evidence import outcome_of
from xskill.distill.experience import Experience
from xskill.distill.routines import enough_types
from xskill.distill.statistical import Limits, distill_experience
from xskill.records import Edit, Trajectory, TreeHeader
from xskill.tree.xtree import XTree


@dataclass(slots=True)
class Rates:
    """Task type → (successes, episodes with an outcome), counted while the episodes pass."""

    counts: dict[str, list[int]] = field(default_factory=dict)

    def watch(self, records: Iterable[Trajectory]) -> Iterator[Trajectory]:
        """Pass the records on."""
        for record in records:
            outcome = outcome_of(record)
            if outcome is not None and record.task_type is not None:
                count = self.counts.setdefault(record.task_type, [0, 0])
                count[0] += outcome
                count[1] += 1
            yield record

    def below(self, rate: float, min_support: int) -> list[str]:
        """Types with a success rate under ``rate``, the worst first; those with too few episodes are no evidence."""
        weak = [(won / n, name) for name, (won, n) in self.counts.items() if n >= min_support and won / n < rate]
        return [name for _, name in sorted(weak)]


def evolve(
    bank: Bank, experience: Experience, tree: XTree | None, weak: list[str], limits: Limits, max_new: int
) -> list[Edit]:
    """Edits for the weak task types: mistakes first, then routines that work; at most ``max_new`` new skills.

    The types take turns, the worst first: a second skill for one comes after a first for all, and what many types share
    after what one has for itself.

    Args:
        experience: the failures, and whatever training episodes may show how it is done.
        tree: routines to look for; None: mined from ``experience`` (when it holds a success).
    """
    if tree is None and not (experience.corpus.outcome == 1).any():
        tree = XTree(TreeHeader(n_nodes=0), ())
    distilled = distill_experience(experience, tree, limits, only=weak)
    edits = skill_edits(distilled.skills, bank)
    families = enough_types(len(experience.corpus.task_type.names), limits.min_families)
    turn = Counter[str | None]()
    order = []
    for edit in edits:
        kind = edit.skill.task_type if edit.skill is not None else None
        using = edit.skill.evidence.get("task_types", ()) if edit.skill is not None else ()
        order.append((len(using) >= families, turn[kind], weak.index(kind) if kind in weak else -1))
        turn[kind] += edit.op == "append"
    return best_first([edits[n] for n in sorted(range(len(edits)), key=order.__getitem__)], max_new)
