"""Read logs in this process, as the command does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from xskill.canon.accounts.conservation import Claim
from xskill.canon.accounts.totals import Totals
from xskill.canon.canon_options import CanonOptions
from xskill.canon.pipeline import Begin, Missing, open_items
from xskill.errors import BadRecord

LOGS = Path(__file__).resolve().parent.parent / "data" / "canon"


def canon(
    *paths: Path | str,
    format: str | None = None,
    map: str | None = None,
    bad: list[BadRecord] | None = None,
    totals: Totals | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Trajectories of the files; a bad record is appended to ``bad``, or raised without it."""
    made = []
    chosen = CanonOptions(format, map, **options)
    names = [str(path) for path in paths]
    with open_items(names, chosen, totals or Totals(), note=lambda _: None) as items:
        for item in items:
            if isinstance(item, BadRecord):
                if bad is None:
                    raise item
                bad.append(item)
            elif isinstance(item, Missing):
                raise item.error
            elif isinstance(item, bytes):
                made.append(json.loads(item))
            else:
                assert isinstance(item, (Begin, Claim))
    return made


def log(name: str) -> Path:
    """A file or folder of the test data; compressed where it is large."""
    path = LOGS / name
    return path if path.exists() else LOGS / f"{name}.gz"


def write_lines(path: Path, *records: Any) -> Path:
    """Write records as JSON lines."""
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path
