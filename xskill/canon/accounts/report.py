"""``canon --report``: per format, what came in, what went out, and what did not.

What of a record is lost is measured on the values themselves. A text of the source is carried over when the output
holds it, whole or inside a longer text; a text that is JSON counts by its parts; one that was taken apart
(``Thought: … Action: …``) when pieces of it make up most of it. Numbers and flags count when the output has the same
value, small ones only under the same key. So the report does not depend on what a reader claims to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from xskill.canon.accounts.conservation import all_lost
from xskill.canon.reading.content_text import loads_maybe

if TYPE_CHECKING:
    from xskill.canon.accounts.totals import Totals
    from xskill.canon.pipeline import Conversion

MAX_PATHS = 2000
"""Distinct paths that are listed a format; more are counted together."""

_OUTCOME_KEYS = frozenset({
    "success", "reward", "score", "is_success", "resolved", "is_resolved", "label", "total_reward", "value", "r",
    "isCompleted", "done", "error", "is_error",
})  # fmt: skip
_PIECE = 12
_MOSTLY = 0.6


@dataclass(slots=True)
class FieldCount:
    """How often a path held a value, and how often that value is not in the output."""

    values: int = 0
    lost: int = 0


@dataclass(slots=True)
class Loss:
    """What the records of one format lost; counts of worker processes are added up."""

    fields: dict[str, FieldCount] = field(default_factory=dict)
    measured: int = 0
    """Records or files that were compared."""

    def compare(self, source: Any, output: list[bytes]) -> None:
        """Compare one parsed record (or all records of a file) with the trajectories that were made of it."""
        self.measured += 1
        carried = _Carried(output)
        for path, key, value in _leaves(source):
            if path not in self.fields and len(self.fields) >= MAX_PATHS:
                path = "(more paths)"
            count = self.fields.setdefault(path, FieldCount())
            count.values += 1
            if not carried.holds(key, value):
                count.lost += 1

    def add(self, other: Loss) -> None:
        """Add another's counts."""
        self.measured += other.measured
        for path, count in other.fields.items():
            mine = self.fields.setdefault(path, FieldCount())
            mine.values += count.values
            mine.lost += count.lost

    def rows(self) -> list[dict[str, Any]]:
        """Paths that lost something, the most frequent first."""
        lost = [(path, count) for path, count in self.fields.items() if count.lost]
        return [
            {"path": path, "values": count.values, "not_carried": count.lost}
            for path, count in sorted(lost, key=lambda item: (-item[1].lost, item[0]))
        ]


class _Carried:
    """The values of the output, for look-up."""

    def __init__(self, output: list[bytes]) -> None:
        self.texts: set[str] = set()
        self.numbers: set[float] = set()
        self.pairs: set[tuple[str, Any]] = set()
        for line in output:
            for _, key, value in _leaves(msgspec.json.decode(line)):
                if isinstance(value, str):
                    self.texts.add(value)
                elif isinstance(value, bool) or value is None:
                    self.pairs.add((key, value))
                else:
                    self.numbers.add(float(value))
                    self.pairs.add((key, float(value)))
        self.whole = "\0".join(self.texts)
        self.pieces = sorted((text for text in self.texts if len(text) >= _PIECE), key=len, reverse=True)

    def holds(self, key: str, value: Any) -> bool:
        if value is None or value == "" or (key in _OUTCOME_KEYS and not isinstance(value, str)):
            return True
        if isinstance(value, bool):
            return (key, value) in self.pairs
        if isinstance(value, (int, float)):
            small = float(value).is_integer() and abs(value) < 10
            same = (key, float(value)) in self.pairs if small else float(value) in self.numbers
            return same or str(value) in self.texts
        return self._text(value)

    def _text(self, text: str) -> bool:
        if text in self.texts or text.strip() in self.whole:
            return True
        inner = loads_maybe(text)
        if isinstance(inner, (dict, list)):
            return all(self.holds(key, value) for _, key, value in _leaves(inner))
        covered = 0
        for piece in self.pieces:
            if len(piece) <= len(text) and piece in text:
                covered += len(piece)
                if covered >= _MOSTLY * len(text):
                    return True
        return False


def _is_attribute(item: Any) -> bool:
    """An entry of OpenTelemetry's attribute lists: they are shown by their names."""
    return isinstance(item, dict) and item.keys() == {"key", "value"}


def _leaves(value: Any, limit: int = 200_000) -> Iterator[tuple[str, str, Any]]:
    """(path, key, scalar) of every scalar; list indices are ``[]``, numeric keys ``*``."""
    waiting: list[tuple[str, str, Any]] = [("", "", value)]
    while waiting and limit:
        path, key, item = waiting.pop()
        if isinstance(item, dict):
            for name, inner in item.items():
                shown = "*" if name.lstrip("-").isdigit() else name
                waiting.append((f"{path}.{shown}" if path else shown, name, inner))
        elif isinstance(item, list) and item and all(_is_attribute(inner) for inner in item):
            waiting.extend((f"{path}.{inner['key']}", str(inner["key"]), inner["value"]) for inner in item)
        elif isinstance(item, list):
            waiting.extend((f"{path}[]", key, inner) for inner in item)
        else:
            limit -= 1
            yield path, key, item


def report_data(totals: Totals) -> dict[str, Any]:
    """The report as one object."""
    formats: dict[str, Any] = {}
    for name in sorted({*totals.tallies, *(totals.losses or {})}):
        tally = totals.tally(name)
        loss = (totals.losses or {}).get(name)
        formats[name] = {
            "records_not_carried": dict(sorted(tally.skipped.items())),
            "content_lost": dict(sorted(tally.lost.items())),
            "numbers_read_as_null": tally.numbers,
            "measured": loss.measured if loss is not None else 0,
            "fields_not_carried": loss.rows() if loss is not None else [],
        }
    return {
        "inputs": totals.files,
        "trajectories": totals.counts.trajectories,
        "steps": totals.counts.steps,
        "redacted": dict(sorted(totals.redacted.items())),
        "dropped": dict(sorted(totals.counts.dropped.items())),
        "formats": formats,
    }


def summary_json(conversion: Conversion) -> str:
    """All counts of a run, for machines."""
    run, totals = conversion.run, conversion.totals
    data = {
        "read": run.read,
        "kept": run.kept,
        "rejected": run.rejected,
        "inputs": totals.files,
        "inputs_unclaimed": totals.unclaimed,
        "trajectories": totals.counts.trajectories,
        "steps": totals.counts.steps,
        "unmatched": totals.unmatched.total,
        "redacted": dict(sorted(totals.redacted.items())),
        "dropped": dict(sorted(totals.counts.dropped.items())),
        "lost": dict(sorted(all_lost(totals.tallies.values()).items())),
        "formats": {
            name: {
                "records_not_carried": dict(sorted(tally.skipped.items())),
                "content_lost": dict(sorted(tally.lost.items())),
                "numbers_read_as_null": tally.numbers,
            }
            for name, tally in sorted(totals.tallies.items())
        },
    }
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode()


def report_text(totals: Totals, *, as_json: bool) -> str:
    """The report for a person, or as JSON."""
    data = report_data(totals)
    if as_json:
        return msgspec.json.format(msgspec.json.encode(data), indent=2).decode()
    lines = [f"{data['trajectories']:,} trajectories, {data['steps']:,} steps from {data['inputs']:,} inputs"]
    for name, counts in data["formats"].items():
        lines += ["", name]
        if (
            not counts["records_not_carried"]
            and not counts["fields_not_carried"]
            and not counts["numbers_read_as_null"]
        ):
            lines.append(
                "  nothing left out" if counts["measured"] else "  no records left out; fields were not measured"
            )
            continue
        lines += [
            f"  {count:>9,}  {kind} ({'lost' if kind in counts['content_lost'] else 'left out'})"
            for kind, count in counts["records_not_carried"].items()
        ]
        if counts["numbers_read_as_null"]:
            lines.append(f"  {counts['numbers_read_as_null']:>9,}  NaN or infinite numbers (read as null)")
        if counts["fields_not_carried"]:
            lines.append("  fields whose values are not in the output (not carried / in the source):")
            lines += [
                f"  {row['not_carried']:>9,} / {row['values']:,}  {row['path']}" for row in counts["fields_not_carried"]
            ]
        elif not counts["measured"]:
            lines.append("  fields were not measured (a text log, a folder or an archive)")
    return "\n".join(lines)
