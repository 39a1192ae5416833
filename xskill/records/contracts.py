"""The types of the contracts in :mod:`xskill.records.names`: every record that travels between stages.

One JSON object a line, ``schema`` first; null and default fields are left out and filled in on reading.
"""

from __future__ import annotations

from typing import Any

from xskill.records.base import Record
from xskill.records.instances import Instance
from xskill.records.names import BY_TAG, REGISTRY, tag_of
from xskill.records.skills import BankHeader, Edit, Evidence, Result, Skill, Verdict
from xskill.records.trajectories import CreditsHeader, RolloutNode, Trajectory, TurnCredit
from xskill.records.trees import Node, TreeHeader

_TYPES: tuple[type[Record], ...] = (
    *(Trajectory, RolloutNode, CreditsHeader, TurnCredit),
    *(TreeHeader, Node, Instance),
    *(Evidence, Skill, Edit, BankHeader, Result, Verdict),
)
_BY_TAG: dict[str, type[Record]] = {tag_of(kind): kind for kind in _TYPES}

CONTRACTS: dict[str, type[Record]] = {name: _BY_TAG[contract.tag] for name, contract in REGISTRY.items()}
"""Short name → record type."""


def type_of(tag: str) -> type[Record]:
    """The record type of a tag that :func:`xskill.records.names.known_tag` knows."""
    return _BY_TAG[tag]


def following(header: type[Record]) -> type[Record]:
    """The records that are meant by a header behind which none stand."""
    return CONTRACTS[BY_TAG[tag_of(header)].followers[0]]


def may_follow(kind: Any, header: type[Record]) -> bool:
    """Whether records of type ``kind`` may stand behind such a header; a part of a contract's type counts as it."""
    contract = BY_TAG.get(tag_of(kind))
    return contract is not None and contract.name in BY_TAG[tag_of(header)].followers


HEADERS: tuple[type[Record], ...] = tuple(_BY_TAG[contract.tag] for contract in REGISTRY.values() if contract.followers)
"""The record types that are headers."""
