"""Validation of a stream: every record against the contract that it names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xskill.errors import BadRecord, UsageError
from xskill.records import CONTRACTS, Node, Record, Trajectory, TreeHeader, decode
from xskill.streams.raw import RawRecord, iter_raw


@dataclass(slots=True)
class Report:
    """What a check found."""

    counts: Counter[str] = field(default_factory=Counter)
    """Contract → number of good records."""
    bad: int = 0
    repeated_ids: int = 0
    """Trajectories and nodes whose id stood before in the stream: legal for trajectories, an error for nodes."""

    @property
    def records(self) -> int:
        """All records, good and bad."""
        return sum(self.counts.values()) + self.bad

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "records": self.records,
            "good": dict(sorted(self.counts.items())),
            "bad": self.bad,
            "repeated_ids": self.repeated_ids,
        }

    def as_text(self) -> str:
        """For people."""
        good = ", ".join(f"{name} {n:,}" for name, n in sorted(self.counts.items())) or "none"
        repeated = f"; {self.repeated_ids:,} trajectory ids stand more than once" if self.repeated_ids else ""
        return f"{self.records:,} records; good: {good}; bad: {self.bad:,}{repeated}"


def check_stream(files: Sequence[str], contract: str | None, tell: Callable[[str], None], max_errors: int) -> Report:
    """Decode every record as what its ``schema`` says, or as ``contract`` when it says nothing.

    Beyond the types: aligned lists, children of a tree's nodes before their parents, the number of nodes
    that the header promises.

    Raises:
        NoInput: no record at all.
        UsageError: ``contract`` is no contract.
    """
    if contract is not None and contract not in CONTRACTS:
        raise UsageError(f"check: no contract {contract!r}; one of {', '.join(CONTRACTS)}")
    report = Report()
    trajectories: set[str] = set()
    tree = _TreeOrder()
    for raw in iter_raw(files, tell, on_bad=lambda error: _count_bad(error, report, tell, max_errors)):
        try:
            record = _decode(raw, contract)
            tree.check(record)
        except BadRecord as error:
            _count_bad(error.at(raw.file, raw.line), report, tell, max_errors)
            continue
        report.counts[_name(record)] += 1
        if isinstance(record, Trajectory):
            report.repeated_ids += record.id in trajectories
            trajectories.add(record.id)
    for problem in tree.open_promises():
        _count_bad(BadRecord(problem), report, tell, max_errors)
    return report


class _TreeOrder:
    """Checks that the nodes of a stream stand in merge order and are as many as their header says."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._promised: int | None = None

    def check(self, record: Record) -> None:
        if isinstance(record, TreeHeader):
            self._promised = record.n_nodes
            self._seen = set()
        elif isinstance(record, Node):
            if record.id in self._seen:
                raise BadRecord(f"node {record.id!r} stands twice", path="id")
            for place, child in enumerate(record.children):
                if self._promised is not None and _looks_like_id(child) and child not in self._seen:
                    raise BadRecord(f"node {child!r} does not stand before its parent", path=f"children[{place}]")
            self._seen.add(record.id)

    def open_promises(self) -> list[str]:
        if self._promised is None or self._promised == len(self._seen):
            return []
        return [f"the tree's header promises {self._promised:,} nodes, {len(self._seen):,} follow (cut short?)"]


def _looks_like_id(child: str) -> bool:
    return child[:1] == "S" and child[1:].isdigit()


def _decode(raw: RawRecord, contract: str | None) -> Record:
    name = raw.tag.removeprefix("xskill.").split("/", 1)[0] if raw.tag is not None else contract
    if name is None:
        raise BadRecord("no `schema` field; name the contract with --as")
    if name not in CONTRACTS:
        raise BadRecord(f"unknown contract {raw.tag!r}", path="schema")
    return decode(raw.data, CONTRACTS[name])


def _name(record: Record) -> str:
    return next(name for name, kind in CONTRACTS.items() if isinstance(record, kind))


def _count_bad(error: BadRecord, report: Report, tell: Callable[[str], None], max_errors: int) -> None:
    report.bad += 1
    if report.bad <= max_errors:
        tell(str(error))
    elif report.bad == max_errors + 1:
        tell(f"more than {max_errors} bad records; the rest is only counted")
