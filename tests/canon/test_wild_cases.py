"""Small logs that once went wrong, with their right values; each stands for a kind."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.canon.case_form import DEFAULTS, made, outcome_fault
from tests.command import within

FOLDER = Path(__file__).resolve().parent.parent / "data" / "cases" / "canon"
CASES = json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_case(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    for one in case.get("make", []):
        (tmp_path / one["to"]).write_bytes(made(os.path.join(FOLDER, one["base"]), one["ops"]))
    stdin = Path(case["stdin"].replace("$TMP", str(tmp_path))).read_bytes() if "stdin" in case else b""
    done = within(*(word.replace("$TMP", str(tmp_path)) for word in case["run"]), stdin=stdin, check=None)
    run: dict[str, Any] = {"exit": done.returncode, "stdout": done.stdout.decode(), "stderr": done.stderr.decode()}
    run["records"] = [{**DEFAULTS, **json.loads(line)} for line in run["stdout"].splitlines() if line]
    rejects = Path(case["rejects"]["file"].replace("$TMP", str(tmp_path))) if "rejects" in case else None
    run["rejects"] = len(rejects.read_bytes().splitlines()) if rejects is not None and rejects.exists() else None
    faults = [outcome_fault({**case, **one}, run) for one in case.get("either", [{}])]
    assert not all(faults), faults[0]
