"""A command without input at a terminal says what it wants instead of waiting for a person to type JSON."""

from __future__ import annotations

import pytest

from tests.cli.terminal import with_terminal_on_stdin
from xskill.bank.model import make_bank, write_bank


@pytest.mark.parametrize("words", ["show", "import", "diff --bank BANK", "export --as prompt"])
def test_nobody_types_a_bank(tmp_path, words):
    bank = tmp_path / "b.jsonl"
    write_bank(str(bank), make_bank([]))
    done = with_terminal_on_stdin("bank", *(str(bank) if word == "BANK" else word for word in words.split()))
    assert done.returncode == 2
    assert f"Usage: xskill bank {words.split()[0]}".encode() in done.stdout + done.stderr
