"""The table of log formats that ``xskill canon`` reads, with what the reader of each says about its logs."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

from generator.markdown import code, docstring, escape, table

ROOT = Path(__file__).resolve().parents[2]


def listed() -> list[tuple[str, str]]:
    """Name and description of every format, as ``xskill canon --list-formats`` prints them."""
    command = [sys.executable, "-m", "xskill", "canon", "--list-formats"]
    rows = []
    for line in subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines():
        name, _, description = line.partition(" ")
        rows.append((name, description.strip()))
    return rows


def overview() -> str:
    """All formats in a table, in the order of detection."""
    units = {name: _UNITS.get(getattr(fmt, "unit", ""), "") for name, fmt in _formats().items()}
    return table(
        ["`--from`", "reads", "one input is"],
        ([code(name), escape(text), units.get(name, "")] for name, text in listed()),
    )


_UNITS = {
    "record": "JSON records, one or many",
    "stream": "a stream of JSON lines that belong together",
    "text": "text",
    "folder": "a folder",
    "archive": "an archive",
}


def notes() -> str:
    """What each reader's own docstring says: the shape, and the traps of real logs."""
    modules: dict[str, list[str]] = {}
    for name, fmt in _formats().items():
        modules.setdefault(fmt.read.__module__ if hasattr(fmt, "read") else "", []).append(name)
    out = []
    for module, names in modules.items():
        text = inspect.getdoc(importlib.import_module(module)) if module else None
        if text:
            out.append(f"### {', '.join(names)}\n\n{docstring(text)}")
    return "\n".join(out)


def _formats() -> dict[str, Any]:
    for place in ("xskill.canon.formats", "xskill.canon.formats.table"):
        formats = getattr(importlib.import_module(place), "FORMATS", None)
        if formats:
            return {fmt.name: fmt for fmt in formats}
    return {}
