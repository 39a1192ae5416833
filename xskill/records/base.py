"""What all contracts share: the base of records, and the ranges of their numbers."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec

Kind = Literal["action", "call", "command", "respond"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Split = Literal["train", "evolve", "validation", "test"]
Tier = Literal["general", "task", "mistake"]

Count = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""A rate, a probability, a share of a whole."""
Positive = Annotated[float, msgspec.Meta(ge=0)]


class Record(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of all contracts: frozen, slotted, default fields left out of the JSON."""
