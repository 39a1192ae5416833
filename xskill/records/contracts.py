"""The table of contracts: every record that travels between stages.

One JSON object a line, ``schema`` first; null and default fields are left out and filled in on reading.
"""

from __future__ import annotations

from xskill.records.base import Record
from xskill.records.instances import Instance
from xskill.records.skills import BankHeader, Edit, Evidence, Result, Skill, Verdict
from xskill.records.trajectories import CreditsHeader, RolloutNode, Trajectory, TurnCredit
from xskill.records.trees import Node, TreeHeader

CONTRACTS: dict[str, type[Record]] = {
    "trajectory": Trajectory,
    "tree": TreeHeader,
    "node": Node,
    "rollout": RolloutNode,
    "credits": CreditsHeader,
    "turn": TurnCredit,
    "instance": Instance,
    "evidence": Evidence,
    "skill": Skill,
    "edit": Edit,
    "bank": BankHeader,
    "result": Result,
    "verdict": Verdict,
}
"""Short name → record type; the tag of each is ``xskill.<name>/1``."""
