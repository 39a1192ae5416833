"""The conversion report: per format, what came in, what went out, and what did not."""

from __future__ import annotations

from typing import Any

import msgspec

from xskill.canon.pipeline import Totals


def report_data(totals: Totals) -> dict[str, Any]:
    """The report as one object."""
    formats: dict[str, Any] = {}
    for name in sorted({*totals.tallies, *(totals.losses or {})}):
        tally = totals.tally(name)
        loss = (totals.losses or {}).get(name)
        formats[name] = {
            "records_not_carried": dict(sorted(tally.skipped.items())),
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


def report_text(totals: Totals, *, as_json: bool) -> str:
    """The report for a person, or as JSON."""
    data = report_data(totals)
    if as_json:
        return msgspec.json.format(msgspec.json.encode(data), indent=2).decode()
    lines = [f"{data['trajectories']:,} trajectories, {data['steps']:,} steps from {data['inputs']:,} inputs"]
    for name, told in data["formats"].items():
        lines += ["", name]
        if not told["records_not_carried"] and not told["fields_not_carried"] and not told["numbers_read_as_null"]:
            lines.append(
                "  nothing left out" if told["measured"] else "  no records left out; fields were not measured"
            )
            continue
        lines += [f"  {count:>9,}  {kind} (left out)" for kind, count in told["records_not_carried"].items()]
        if told["numbers_read_as_null"]:
            lines.append(f"  {told['numbers_read_as_null']:>9,}  NaN or infinite numbers (read as null)")
        if told["fields_not_carried"]:
            lines.append("  fields whose values are not in the output (not carried / in the source):")
            lines += [
                f"  {row['not_carried']:>9,} / {row['values']:,}  {row['path']}" for row in told["fields_not_carried"]
            ]
        elif not told["measured"]:
            lines.append("  fields were not measured (a text log, a folder or an archive)")
    return "\n".join(lines)
