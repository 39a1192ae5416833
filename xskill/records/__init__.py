"""The contracts that travel between stages (:mod:`names` lists them), and their JSON (:mod:`codec`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskill.lazy import lazily

if TYPE_CHECKING:
    from xskill.records.base import Kind, Record, Split, Tier
    from xskill.records.codec import (
        check_aligned,
        convert,
        decode,
        encode,
        is_record,
        json_schema,
    )
    from xskill.records.contracts import CONTRACTS
    from xskill.records.instances import Gold, Instance, Message
    from xskill.records.skills import BankHeader, Candidate, Edit, Evidence, Result, Skill, Verdict
    from xskill.records.trajectories import (
        CreditsHeader,
        Episode,
        Parent,
        RolloutNode,
        Source,
        Step,
        Tile,
        Trajectory,
        TurnCredit,
        turns,
    )
    from xskill.records.trees import Corpus, Node, Slot, TreeHeader

__all__ = [
    "CONTRACTS",
    "BankHeader",
    "Candidate",
    "Corpus",
    "CreditsHeader",
    "Edit",
    "Episode",
    "Evidence",
    "Gold",
    "Instance",
    "Kind",
    "Message",
    "Node",
    "Parent",
    "Record",
    "Result",
    "RolloutNode",
    "Skill",
    "Slot",
    "Source",
    "Split",
    "Step",
    "Tier",
    "Tile",
    "Trajectory",
    "TreeHeader",
    "TurnCredit",
    "Verdict",
    "check_aligned",
    "convert",
    "decode",
    "encode",
    "is_record",
    "json_schema",
    "turns",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "xskill.records.base": ("Kind", "Record", "Split", "Tier"),
            "xskill.records.codec": ("check_aligned", "convert", "decode", "encode", "is_record", "json_schema"),
            "xskill.records.contracts": ("CONTRACTS",),
            "xskill.records.instances": ("Gold", "Instance", "Message"),
            "xskill.records.skills": ("BankHeader", "Candidate", "Edit", "Evidence", "Result", "Skill", "Verdict"),
            "xskill.records.trajectories": (
                "CreditsHeader",
                "Episode",
                "Parent",
                "RolloutNode",
                "Source",
                "Step",
                "Tile",
                "Trajectory",
                "TurnCredit",
                "turns",
            ),
            "xskill.records.trees": ("Corpus", "Node", "Slot", "TreeHeader"),
        },
    )
