"""``--outcomes``: success and reward from a second file, joined by id.

Rows come from JSON lines, a JSON list, an object of rows by id (SWE-bench style reports, with
``resolved_ids`` too), CSV or Parquet.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from xskill.canon.reading.fields import at, boolean, number
from xskill.canon.reading.json_text import parse, parse_many
from xskill.errors import BadData, BadRecord, UsageError
from xskill.streams.source import open_input

_KEYS = (
    "id", "trajectory_id", "question_id", "case_id", "task_id", "instance_id", "trial_name", "session_id", "name",
)  # fmt: skip
_SUCCESS = ("success", "resolved", "is_resolved", "is_success", "passed", "correct", "solved", "label")
_REWARD = ("reward", "score")
_TRUE = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False, "": None, "null": None}
_LIMIT = 1 << 28

Outcome = tuple[bool | None, float | None]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Outcomes by key.

    ``field`` is where the key stands in a trajectory; None = its ``id``, ``question_id``, then any ``extra``
    field of the same name as the outcome file's.
    """

    rows: dict[str, Outcome]
    key: str
    field: str | None

    def find(self, identity: str | None, question: str | None, extra: dict[str, Any]) -> Outcome | None:
        """The outcome of one episode, None when the file has none."""
        if self.field is not None:
            return self.rows.get(_name({"id": identity, "question_id": question, "extra": extra, **extra}, self.field))
        for value in (identity, question):
            if value is not None and value in self.rows:
                return self.rows[value]
        for path in (self.key, f"metadata.{self.key}"):
            if (name := _name(extra, path)) in self.rows:
                return self.rows[name]
        return None


def read_outcomes(name: str, key: str | None = None) -> Outcomes:
    """Read an outcomes file.

    Args:
        key: ``COLUMN`` of the file, or ``FIELD=COLUMN`` when the trajectory's field has another name
            (``metadata.case_id=case_id``); None tries the usual names.

    Raises:
        BadData: no row with a key and an outcome; rows that contradict each other.
        UsageError: the named column is in no row.
    """
    field, _, column = (key or "").rpartition("=")
    rows: dict[str, Outcome] = {}
    used: str | None = column or None
    for row in _rows(name):
        used = used or next((k for k in _KEYS if row.get(k) is not None), None)
        if used is None:
            continue
        identity = _name(row, used)
        outcome = _outcome(row, name)
        if identity and outcome != (None, None):
            rows[identity] = _agreed(rows.get(identity), outcome, f"--outcomes {name}: {used} {identity!r}")
    if not rows:
        if column:
            raise UsageError(f"--outcomes {name}: no row has {column!r} and an outcome ({', '.join(_SUCCESS[:4])} …)")
        raise BadData(f"--outcomes {name}: no row with a key ({', '.join(_KEYS[:4])} …) and an outcome; "
                      "name the key with --outcomes-key")  # fmt: skip
    return Outcomes(rows, used or "id", field or None)


def _agreed(before: Outcome | None, new: Outcome, where: str) -> Outcome:
    if before is None:
        return new
    success = before[0] if new[0] is None else new[0]
    reward = before[1] if new[1] is None else new[1]
    if before[0] not in (None, success) or before[1] not in (None, reward):
        raise BadData(f"{where} stands in several rows with different outcomes; "
                      "name a column that tells them apart with --outcomes-key")  # fmt: skip
    return success, reward


def _name(row: Any, path: str) -> str:
    value = at(row, path)
    return "" if value is None or isinstance(value, (dict, list)) else str(value)


def _outcome(row: dict[str, Any], name: str) -> Outcome:
    try:
        success = next((_flag(row[k], k) for k in _SUCCESS if row.get(k) is not None), None)
        reward = next((number(row[k], k) for k in _REWARD if row.get(k) not in (None, "")), None)
    except BadRecord as error:
        raise error.at(f"--outcomes {name}") from None
    return success, reward


def _flag(value: Any, path: str) -> bool | None:
    if isinstance(value, str) and value.strip().lower() in _TRUE:
        return _TRUE[value.strip().lower()]
    return boolean(value, path)


def _rows(name: str) -> Iterator[dict[str, Any]]:
    source = open_input(name, lambda _: None)
    with source.stream:
        if source.container == "parquet":
            from xskill.canon.reading.tables import read_table

            for row in read_table(source):
                if isinstance(row, BadRecord):
                    raise row
                yield row
            return
        raw = source.stream.read(_LIMIT + 1)
    if len(raw) > _LIMIT:
        raise BadData(f"--outcomes {name}: more than {_LIMIT >> 20} MiB")
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    if raw.lstrip()[:1] in (b"{", b"["):
        try:
            values: Iterable[Any] = [parse(raw)[0]]
        except BadRecord:
            values = (value for value, _ in parse_many(raw))
        try:
            for value in values:
                yield from _from_json(value)
        except BadRecord as error:
            raise error.at(f"--outcomes {name}") from None
        return
    text = raw.decode("utf-8", "replace")
    delimiter = "\t" if "\t" in text.split("\n", 1)[0] else ","
    yield from csv.DictReader(io.StringIO(text), delimiter=delimiter)


def _from_json(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield item
        return
    if not isinstance(value, dict):
        return
    lists = {"resolved_ids": True, "unresolved_ids": False, "resolved": True, "unresolved": False}
    by_verdict = {key: value[key] for key in lists if isinstance(value.get(key), list)}
    if by_verdict:
        for key, identities in by_verdict.items():
            for identity in identities:
                yield {"id": identity, "success": lists[key]}
    elif value and all(isinstance(row, dict) for row in value.values()):
        for identity, row in value.items():
            yield {"id": identity, **row}
    else:
        yield value
