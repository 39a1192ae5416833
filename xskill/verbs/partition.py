"""Parts of a corpus, by a hash: a record's part depends on nothing but its key and the seed."""

from __future__ import annotations

import hashlib
import math
import typing
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import msgspec

from xskill.errors import BadRecord, UsageError
from xskill.records import Split, Trajectory
from xskill.records.links import cycle_error

_NAMES: tuple[str, ...] = typing.get_args(Split)


def parse_parts(text: str) -> dict[str, float]:
    """``train=0.8,test=0.2`` → shares by name.

    Raises:
        UsageError: an unknown or repeated name, a share that is no number in (0, 1], or a sum other than 1.
    """
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.strip().partition("=")
        if name not in _NAMES:
            raise UsageError(f"split: no part {name!r}; one of {', '.join(_NAMES)}")
        if name in shares:
            raise UsageError(f"split: the part {name} is named twice")
        try:
            shares[name] = float(share)
        except ValueError:
            raise UsageError(f"split: the share of {name} is {share!r}; expected a number, as in {name}=0.7") from None
        if not 0 < shares[name] <= 1:
            raise UsageError(f"split: the share of {name} is {share}; expected more than 0, at most 1")
    if not math.isclose(sum(shares.values()), 1, abs_tol=1e-9):
        raise UsageError(f"split: the shares sum to {sum(shares.values()):.12g}, not 1")
    return shares


class Partition:
    """Places trajectories in parts: part k if hash(seed, key) in [sum of shares before k, … up to k).

    The hash is 64 bits of BLAKE2b as a fraction of 1, so that all records of one key are together and
    a record never moves when others come. A branch without a key is where its parent is, and so on to the root: a
    rollout tree never lies in two parts.

    Args:
        by: field whose value is the key: a field of the trajectory, or ``extra.NAME``.
        shares: part → share, from :func:`parse_parts`.
        seed: another seed, another partition.
        keep: leave records alone that carry one of the parts already.
    """

    def __init__(self, by: str, shares: dict[str, float], seed: int, *, keep: bool = False) -> None:
        field = by.removeprefix("extra.")
        if field == by and by not in Trajectory.__struct_fields__:
            raise UsageError(f"split: no field {by!r}; a field of the trajectory, or extra.NAME")
        self._field, self._in_extra = field, field != by
        self._keep = keep
        self._seed = str(seed).encode()
        self.names = list(shares)
        self._bounds = list(accumulate(shares.values()))
        self.counts: Counter[str] = Counter()
        self.replaced = 0
        self.keyed = 0
        """Records that have the field."""
        self._part_of: dict[str, str] = {}
        """Id → part of every record so far."""
        self._waiting: dict[str, list[tuple[Trajectory, tuple[str, int]]]] = {}
        """Id of a parent that did not come yet → branches without a key, and where they stand."""

    def place(self, record: Trajectory, at: tuple[str, int] = ("-", 0)) -> Iterator[Trajectory]:
        """The record with its ``split`` set, and branches that waited for it; none when it waits for its parent.

        Args:
            record: the next one.
            at: its file and line.

        Raises:
            BadRecord: with ``keep``, a record whose split is none of the parts.
        """
        if record.split is not None and self._keep:
            if record.split not in self.names:
                raise BadRecord(f"{record.split!r} is none of the parts {', '.join(self.names)}", path="split")
            yield from self._settle(record, record.split)
            return
        key = self._key(record)
        if key is not None:
            yield from self._settle(record, self._part(key))
        elif record.parent is None:
            yield from self._settle(record, self._part(record.id))
        elif record.parent.id in self._part_of:
            yield from self._settle(record, self._part_of[record.parent.id])
        else:
            self._waiting.setdefault(record.parent.id, []).append((record, at))

    def rest(self) -> Iterator[Trajectory]:
        """At the end, the branches whose parents never came; they go by the id of the oldest ancestor named."""
        waiting = {record.id for records in self._waiting.values() for record, _ in records}
        for name in sorted(self._waiting.keys() - waiting):
            yield from self._release(name, self._part(name))

    def cyclic(self) -> Iterator[BadRecord]:
        """After :meth:`rest`, what is left: branches whose parent links lead into a cycle."""
        for records in self._waiting.values():
            for record, at in records:
                yield cycle_error(record.id).at(*at)

    def _settle(self, record: Trajectory, part: str) -> Iterator[Trajectory]:
        self.replaced += record.split not in (None, part)
        self.counts[part] += 1
        self._part_of.setdefault(record.id, part)
        yield record if record.split == part else msgspec.structs.replace(record, split=part)
        yield from self._release(record.id, part)

    def _release(self, name: str, part: str) -> Iterator[Trajectory]:
        names = [name]
        while names:
            for record, _ in self._waiting.pop(names.pop(), ()):
                names.append(record.id)
                self.replaced += record.split not in (None, part)
                self.counts[part] += 1
                self._part_of.setdefault(record.id, part)
                yield msgspec.structs.replace(record, split=part)

    def _key(self, record: Trajectory) -> str | None:
        value: Any = record.extra.get(self._field) if self._in_extra else getattr(record, self._field)
        if value is None:
            return None
        self.keyed += 1
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()

    def _part(self, key: str) -> str:
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), key=self._seed[:64], digest_size=8).digest()
        point = int.from_bytes(digest, "big") / 2**64
        return next(
            (name for name, bound in zip(self.names, self._bounds, strict=True) if point < bound), self.names[-1]
        )
