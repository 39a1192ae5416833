"""The registry of contracts: what each is called, who makes it, and what may follow it in a stream.

:mod:`xskill.records.contracts` adds the record types. This half imports nothing heavy, for commands that pass records
on without looking inside. Here too: what a record says it is, and the words for a stream that is another one than was
asked for.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from xskill.errors import BadRecord

_TAG = re.compile(rb'"schema"\s*:\s*"([^"\\]*)"')


class Contract(NamedTuple):
    """One kind of record that travels between stages. (No dataclass: commands that only pass records on make it.)

    Attributes:
        name: short, as in ``xskill schema NAME``.
        one: what one record is called.
        many: what a stream of them is called.
        maker: the command that makes them.
        followers: of a header, the contracts whose records may follow it; without any record, the first is meant.
        repeats: whether such a header may stand in a stream again: credits of several files are one stream, trees not.
        version: the one that this xskill reads.
    """

    name: str
    one: str
    many: str
    maker: str
    followers: tuple[str, ...] = ()
    repeats: bool = False
    version: int = 1

    @property
    def tag(self) -> str:
        """What its records say in ``schema``."""
        return f"xskill.{self.name}/{self.version}"


REGISTRY = {
    contract.name: contract
    for contract in (
        Contract("trajectory", "a trajectory", "trajectories", "xskill canon"),
        Contract("tree", "a tree", "a tree", "xskill mine", followers=("node",)),
        Contract("node", "a node of a tree", "a tree", "xskill mine"),
        Contract("rollout", "a node of a rollout tree", "nodes of rollout trees", "xskill rollout build"),
        Contract(
            "credits",
            "credits",
            "credited trajectories",
            "xskill credit",
            followers=("trajectory", "turn"),
            repeats=True,
        ),
        Contract("turn", "a credited turn", "credited turns", "xskill credit --per-turn"),
        Contract("instance", "an instance", "instances", "xskill tree instances"),
        Contract("evidence", "evidence", "evidence", "xskill distill --as evidence"),
        Contract("skill", "a skill", "a bank", "xskill distill"),
        Contract("edit", "an edit", "edits", "xskill distill --as edits"),
        Contract("bank", "a bank", "a bank", "xskill distill", followers=("skill",)),
        Contract("result", "a result", "results", "xskill bank evaluate"),
        Contract("verdict", "a verdict", "verdicts", "xskill gate --json"),
    )
}
"""Short name → contract."""

BY_TAG = {contract.tag: contract for contract in REGISTRY.values()}
HEADER_TAGS = frozenset(contract.tag for contract in REGISTRY.values() if contract.followers)
TREE = REGISTRY["tree"].tag
NODE = REGISTRY["node"].tag
TRAJECTORY = REGISTRY["trajectory"].tag


def tag_of(kind: Any) -> str:
    """``xskill.<name>/1`` of a record type."""
    return str(kind.__struct_config__.tag)


def has_tag(kind: Any) -> bool:
    """Whether a record type is a contract; what people write themselves has no tag."""
    return isinstance(kind.__struct_config__.tag, str)


def tag_in(line: bytes) -> str | None:
    """The first ``schema`` that a line of JSON names; None when it names none."""
    match = _TAG.search(line)
    return match.group(1).decode("utf-8", "replace") if match else None


def known_tag(tag: str) -> bool:
    """Whether it names a contract that this version reads."""
    return tag in BY_TAG


def unknown_contract(tag: str) -> str:
    """Why a tag for which :func:`known_tag` is False cannot be read, and what to do."""
    match = re.match(r"xskill\.([a-z]+)/(\d+)\Z", tag)
    if match is not None and match.group(1) in REGISTRY:
        contract = REGISTRY[match.group(1)]
        version = contract.version
        return f"{contract.one} of version {match.group(2)} ({tag}); this xskill reads version {version}: upgrade it"
    return f"unknown contract {tag!r}; `xskill schema` lists those there are"


def wrong_stream(tag: str, wanted: str, reader: str | None = None) -> str:
    """Why records of contract ``tag`` are not what ``reader`` needs, which are those of ``wanted``.

    >>> wrong_stream("xskill.tree/1", "xskill.trajectory/1", "mine")
    'a tree (xskill.tree/1); mine reads trajectories (xskill.trajectory/1): make them with `xskill canon`'
    """
    if not known_tag(tag):
        return unknown_contract(tag)
    many, maker = BY_TAG[wanted].many, BY_TAG[wanted].maker
    needs = "expected" if reader is None else f"{reader} reads"
    them = "one" if many.startswith("a ") else "them"
    return f"{BY_TAG[tag].one} ({tag}); {needs} {many} ({wanted}): make {them} with `{maker}`"


def explained(error: BadRecord, line: bytes, kind: Any, reader: str | None = None) -> BadRecord:
    """The error of a line that was read as ``kind``, in better words when the line is another contract's."""
    tag = tag_in(line) if error.path == "schema" else None
    if tag is not None:
        error.reason, error.path = wrong_stream(tag, tag_of(kind), reader), ""
    elif line == b"{":
        error.reason = many_lines(line)
    elif tag_in(line) is None and line.startswith(b"{") and error.reason.startswith("missing"):
        remedy = released_tree(line) or (where_from(kind) if has_tag(kind) else None)
        error.reason += f"; {remedy}" if remedy else ""
    return error


def where_from(kind: Any, what: str = "raw logs") -> str:
    """Where records of a contract come from; ``what`` is what was found instead."""
    many, maker = BY_TAG[tag_of(kind)].many, BY_TAG[tag_of(kind)].maker
    return f"{what} go through `xskill canon` first" if maker == "xskill canon" else f"{many}: made with `{maker}`"


def contract_of(line: bytes) -> str:
    """The tag of a line; one without ``schema`` that has an ``id`` and ``actions`` is a trajectory.

    Raises:
        BadRecord: it is no JSON object, or none of ours.
    """
    import msgspec

    from xskill.records.codec import decode

    tag = tag_in(line)
    if tag is not None and known_tag(tag):
        return tag
    value = decode(line, dict[str, Any])
    if "schema" in value:
        if not isinstance(value["schema"], str):
            raise BadRecord(f"expected a string, got {msgspec.json.encode(value['schema']).decode()}", path="schema")
        if not known_tag(value["schema"]):
            raise BadRecord(unknown_contract(value["schema"]))
        return value["schema"]
    if "id" in value and "actions" in value:
        return TRAJECTORY
    raise BadRecord(
        released_tree(line) or "no `schema` field, so no stream of ours; raw logs go through `xskill canon` first"
    )


def many_lines(head: bytes) -> str:
    """Why a JSON value that begins so, and is spread over lines, is no stream; and what to do."""
    if head.startswith(b"["):
        what, way = "a JSON list", "jq -c '.[]'"
    else:
        what, way = "one JSON object", "jq -c ."
    return released_tree(head) or (
        f"{what} over several lines; a stream has one record a line (`{way}` makes it so), "
        f"and raw logs go through `xskill canon` first"
    )


def released_tree(line: bytes) -> str | None:
    """What to do with a tree in the form in which the X-Tree authors publish theirs; None when it is none."""
    if b'"nodes"' in line and b'"n_primitives"' in line:
        return "a tree in the authors' form, one JSON object; `xskill tree` and every --tree read it, streams do not"
    return None
