"""Validation of a stream: every record against the contract that it names."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xskill.errors import BadRecord, UsageError
from xskill.records import CONTRACTS, Node, Record, Trajectory, TreeHeader, decode
from xskill.records.contracts import type_of
from xskill.records.links import Key, cycle_error, cyclic
from xskill.records.names import BY_TAG, NODE, TREE, contract_of, tag_of, wrong_stream
from xskill.records.question_codes import QuestionCodes
from xskill.records.tree_rules import faults
from xskill.streams.raw import RawRecord, iter_raw
from xskill.streams.run import Run


@dataclass(slots=True)
class CheckReport:
    """What a check found."""

    counts: Counter[str] = field(default_factory=Counter)
    """Contract → number of good records."""
    bad: int = 0
    repeated_ids: int = 0
    """Trajectories and nodes whose id stood before in the stream: legal for trajectories, an error for nodes."""
    shared_question_ids: int = 0
    """Ids of questions that stand for several environments or task texts, which are never one group."""

    @property
    def records(self) -> int:
        """All records, good and bad."""
        return sum(self.counts.values()) + self.bad

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "records": self.records,
            "good": dict(sorted((+self.counts).items())),
            "bad": self.bad,
            "repeated_ids": self.repeated_ids,
            "shared_question_ids": self.shared_question_ids,
        }

    def as_text(self) -> str:
        """For people."""
        good = ", ".join(f"{name} {n:,}" for name, n in sorted((+self.counts).items())) or "none"
        repeated = f"; {self.repeated_ids:,} trajectory ids stand more than once" if self.repeated_ids else ""
        n = self.shared_question_ids
        shared = (
            f"; {n:,} question_ids stand for several environments or task texts, each a question of its own"
            if n
            else ""
        )
        return f"{self.records:,} records; good: {good}; bad: {self.bad:,}{repeated}{shared}"


def check_stream(
    files: Sequence[str], contract: str | None, run: Run, tell: Callable[[BadRecord], None]
) -> CheckReport:
    """Decode every record as what its ``schema`` says, or as ``contract`` when it says nothing.

    Beyond the types: that a tree's nodes have a header, how many it promises, and what they must be to each other, and
    that parent links form no cycle. Without ``schema`` and ``contract``, a record with an id and actions is a
    trajectory.

    Raises:
        NoRecord: no record at all.
        UsageError: ``contract`` is no contract.
    """
    if contract is not None and contract not in CONTRACTS:
        raise UsageError(f"check: no contract {contract!r}; one of {', '.join(CONTRACTS)}")
    report = CheckReport()
    trajectories: set[str] = set()
    questions = QuestionCodes()
    links: list[tuple[Key, Key]] = []
    places: list[tuple[str, int]] = []
    tree = _Tree()

    def bad(error: BadRecord) -> None:
        report.bad += 1
        run.read += 1
        tell(error)

    def end_tree() -> None:
        nonlocal tree
        for error in tree.faults():
            good_as_record = error.line is not None
            report.counts["node"] -= good_as_record
            bad(error)
        tree = _Tree()

    for raw in iter_raw(files, run.note, on_bad=bad):
        again = raw.tag == TREE and tree.goes_on_in(raw)
        if again or not tree.goes_on_in(raw):
            end_tree()
        if raw.tag == TREE:
            tree.begin(raw)
        try:
            record = _decode(raw, contract)
            if again:
                raise BadRecord("a second tree begins; a stream holds one")
        except BadRecord as error:
            bad(error.at(raw.file, raw.line, raw=raw.data))
            continue
        run.read += 1
        run.kept += 1
        report.counts[BY_TAG[tag_of(record)].name] += 1
        if isinstance(record, (TreeHeader, Node)):
            tree.add(record, raw)
        if isinstance(record, Trajectory):
            report.repeated_ids += record.id in trajectories
            trajectories.add(record.id)
            if record.question_id is not None:
                questions.code(record.question_id, record.env, record.task)
            if record.parent is not None:
                links.append(((record.question_id, record.id), (record.question_id, record.parent.id)))
                places.append((raw.file, raw.line))
    end_tree()
    report.shared_question_ids = questions.shared_ids
    for index in cyclic(links):
        report.counts["trajectory"] -= 1
        bad(cycle_error(links[index][0][1]).at(*places[index]))
    return report


class _Tree:
    """The nodes that belong together: those of one file, with their header and where they stand."""

    def __init__(self) -> None:
        self._file: str | None = None
        self._line = 0
        self._headed = False
        self._header: TreeHeader | None = None
        self._nodes: list[Node] = []
        self._places: list[RawRecord] = []

    def goes_on_in(self, raw: RawRecord) -> bool:
        """Whether the record stands behind these in the same file."""
        return raw.file == self._file and raw.line > self._line

    def begin(self, raw: RawRecord) -> None:
        """A header stands here, be it a bad one."""
        self._file, self._line, self._headed = raw.file, raw.line, True

    def add(self, record: TreeHeader | Node, raw: RawRecord) -> None:
        self._file, self._line = raw.file, raw.line
        if isinstance(record, TreeHeader):
            self._header = record
        else:
            self._nodes.append(record)
            self._places.append(raw)

    def faults(self) -> Iterator[BadRecord]:
        """What is wrong with them as a tree; that their number is wrong has no line."""
        wrong = faults(self._nodes)
        if self._nodes and not self._headed and self._places[0].tag is not None:  # with --as node, nodes are enough
            alone = BadRecord(wrong_stream(NODE, TREE))
            wrong = itertools.chain([(0, alone)], (fault for fault in wrong if fault[0] > 0))
        for index, error in wrong:
            place = self._places[index]
            yield error.at(place.file, place.line, raw=place.data)
        promised = len(self._nodes) if self._header is None else self._header.n_nodes
        if promised != len(self._nodes):
            reason = f"the tree's header promises {promised:,} nodes, {len(self._nodes):,} follow (cut short?)"
            yield BadRecord(reason, file=self._file)


def _decode(raw: RawRecord, contract: str | None) -> Record:
    if raw.tag is None and contract is not None:
        return decode(raw.data, CONTRACTS[contract])
    try:
        tag = contract_of(raw.data)
    except BadRecord as error:
        if "no `schema` field" in error.reason:
            error.reason = "no `schema` field; name the contract with --as"
        raise
    return decode(raw.data, type_of(tag))
