"""A real local model as teacher: whatever it answers is validated, and nothing invalid gets in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.distill.corpora import cleaning
from xskill.records import Edit, decode, encode

pytestmark = pytest.mark.llm


def test_a_small_model_teaches_or_is_rejected(model_url: str, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_bytes(b"".join(encode(record) + b"\n" for record in cleaning(4)))
    (tmp_path / "b.jsonl").write_text('{"schema":"xskill.bank/1","version":"e3b0c44298fc1c14"}\n')
    words = [sys.executable, "-m", "xskill", "distill", "e.jsonl", "--bank", "b.jsonl", "--as", "edits"]
    words += ["--teacher", "openai:smollm2", "--base-url", model_url, "--cache", "cache"]
    words += ["--answer-tokens", "40", "--max-general", "1", "--max-mistakes", "1"]
    environment = {**os.environ, "OPENAI_API_KEY": "none"}
    first = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=170)
    assert first.returncode == 0, first.stderr
    edits = [decode(line.encode(), Edit) for line in first.stdout.splitlines()]
    assert all(edit.skill is None or edit.skill.status == "proposed" for edit in edits)
    assert f"{len(edits)} edits of the teacher" in first.stderr
    assert edits or "rejected: " in first.stderr or "0 rejected" in first.stderr
    (answer,) = (tmp_path / "cache").iterdir()
    assert json.loads(answer.read_bytes())["response"]["body"]["choices"]
    again = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert again.stdout == first.stdout
    assert "1 requests (1 cached)" in again.stderr
