"""Nothing from a log steers the terminal."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.command import within
from xskill.text.terminal import clean, clean_line


@given(st.text())
def test_no_control_character_is_left(text: str) -> None:
    for character in clean(text):
        assert (
            character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cf", "Cs"} or ord(character) > 0x2070
        )
    assert "\n" not in clean_line(text)


def test_escapes_are_shown() -> None:
    assert clean("\x1b[2J") == "\\x1b[2J"
    assert clean("a\u202eb") == "a\\u202eb"
    assert clean("\x9b31m") == "\\x9b31m"
    assert clean("hi\U000e0068") == "hi\\U000e0068"
    assert clean("naïve → 日本語 🎉\tx\n") == "naïve → 日本語 🎉\tx\n"
    assert len(clean("Z" + "\u0301" * 300)) == 5


def test_file_names_and_messages_are_cleaned(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[31m\u202etxt.jsonl"
    path.write_bytes(b'{"id":"\\u001b[2J","actions":3}\n')
    error = within("stats", path, check=65).stderr
    assert b"\x1b" not in error
    assert b"\\x1b[31m\\u202etxt.jsonl:1: actions: expected a list, got 3" in error
