"""Banks and terminals: nobody waits for a person to type JSON, and no text of a bank forges a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.terminal import with_terminal_on_stdin
from tests.command import within
from xskill.bank.skillbank import make_bank, write_bank
from xskill.records import Skill


@pytest.mark.parametrize("words", ["show", "import", "diff --bank BANK", "export --as prompt"])
def test_nobody_types_a_bank(tmp_path, words):
    bank = tmp_path / "b.jsonl"
    write_bank(str(bank), make_bank([]))
    done = with_terminal_on_stdin("bank", *(str(bank) if word == "BANK" else word for word in words.split()))
    assert done.returncode == 2
    assert f"Usage: xskill bank {words.split()[0]}".encode() in done.stdout + done.stderr


HOSTILE = {
    "tier": "task",
    "task_type": "kitchen\nFORGED",
    "title": "t\nFORGED\x1b[2J",
    "principle": "p\nFORGED\u202e",
    "when_to_apply": "w\nFORGED",
    "when_not": "n\r\nFORGED",
    "steps": ["s\nFORGED"],
    "extra": {"note": "x\nFORGED"},
}


def test_text_of_a_bank_begins_no_line_of_its_own(tmp_path: Path) -> None:
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    write_bank(str(old), make_bank([Skill(id="a", tier="task", task_type="kitchen", title="t", principle="p")]))
    write_bank(str(new), make_bank([Skill(id=name, **HOSTILE) for name in "ab"]))
    for words in (("show", new), ("show", new, "--skill", "a"), ("diff", new, "--bank", old)):
        text = within("bank", *words).stdout.decode()
        assert "FORGED" in text
        assert not any(line.lstrip().startswith("FORGED") for line in text.splitlines())
        assert not set("\x1b\u202e\r") & set(text)
