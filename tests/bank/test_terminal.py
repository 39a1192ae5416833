"""A command without input at a terminal says what it wants instead of waiting for a person to type JSON."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from xskill.bank.model import make_bank, write_bank


@pytest.mark.parametrize(
    "arguments",
    [("show",), ("import",), ("diff", "--bank", "b.jsonl"), ("export", "--as", "prompt")],
    ids=lambda a: a[0],
)
def test_nobody_types_a_bank(tmp_path, arguments):
    write_bank(str(tmp_path / "b.jsonl"), make_bank([]))
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "xskill.cli", "bank", *arguments],
            stdin=theirs,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=60,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2
    assert f"Usage: xskill bank {arguments[0]}" in done.stdout + done.stderr
