"""Codex: the exit code that stands in the head of a result, and nowhere else."""

from __future__ import annotations

import pytest

from xskill.canon.reading.responses import output_text

HEAD = "Chunk ID: 4a3a57\nWall time: 0.1 seconds\nProcess exited with code {}\nOriginal token count: 2\nOutput:\n"


@pytest.mark.parametrize("before", ["", "Command: /bin/zsh -lc 'ls\nfoo'\n", "[Command: ls\n]"])
@pytest.mark.parametrize("code", [0, 1, 127, -1])
def test_the_head_says_how_a_command_ended(before: str, code: int) -> None:
    text = before + HEAD.format(code) + "what it printed\n"
    assert output_text(text) == (text, code != 0)


@pytest.mark.parametrize(
    "text",
    [
        HEAD.format(0) + "Process exited with code 1\nOutput:\n",
        "Wall time: 0.1 seconds\nOutput:\nProcess exited with code 1\n",
        "Command: cat log\nOutput:\nChunk ID: x\nProcess exited with code 1\n",
        "a page that says: Process exited with code 1",
    ],
)
def test_what_a_command_printed_is_not_read(text: str) -> None:
    assert output_text(text) == (text, False)
