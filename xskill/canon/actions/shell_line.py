"""Split a shell line or script into its simple commands, without running or expanding anything."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""(?P<space>(?:[ \t\r]|\\\n)+)
    |(?P<placeholder><redacted:[a-z-]+>)
    |(?P<heredoc><<-?[ \t]*(?P<quote>['"]?)(?P<end>[\w.-]+)(?P=quote))
    |(?P<herestring><<<)
    |(?P<redirect>(?:\d{0,2}|&)>>?(?:&[\d-])?\|?|\d{0,2}<(?:&[\d-])?)
    |(?P<separator>&&|\|\||\|&?|;;?|&|\n|[()])
    |(?P<single>\$?'[^']*'?)
    |(?P<double>\$?"[^"\\]*(?:\\.[^"\\]*)*"?)
    |(?P<substitution>\$\(|`)
    |(?P<plain>(?:[^\s'"\\|;&<>()`$]|\\.)+|\$|.)""",
    re.X | re.S,
)
_PARENTHESIS = re.compile(r"[()]")

MAX_SCAN = 20_000
"""Characters of a line that are read; here-documents before that end are skipped, not read."""


@dataclass(slots=True)
class Simple:
    """One simple command of a line."""

    words: list[str] = field(default_factory=list)
    pipeline: int = 0
    piped: bool = False
    """Reads what the command before it wrote."""
    heredoc: bool = False
    target: str | None = None
    """File that its output goes to."""


def split_line(text: str) -> list[Simple]:
    """The simple commands of a line, in order, without bodies of here-documents and comments."""
    text = text[:MAX_SCAN]
    commands: list[Simple] = []
    current = Simple()
    word: str | None = None
    ends: list[str] = []
    redirect = ""
    pipeline = 0
    position = 0

    def close_word() -> None:
        nonlocal word, redirect
        if word is None:
            return
        if redirect:
            if ">" in redirect and not redirect.startswith("2") and not word.startswith("/dev/"):
                current.target = word
            redirect = ""
        else:
            current.words.append(word)
        word = None

    while match := _TOKEN.match(text, position):
        position = match.end()
        kind = match.lastgroup
        value = match.group()
        if match["heredoc"]:
            close_word()
            current.heredoc = True
            ends.append(match["end"])
        elif kind == "space":
            close_word()
        elif kind == "herestring":
            close_word()
            current.heredoc, redirect = True, "<"
        elif kind == "redirect":
            close_word()
            redirect = "" if "&" in value[1:] else value
        elif kind == "separator":
            close_word()
            redirect = ""
            if value == "\n":
                position = _after_bodies(text, position, ends)
                ends = []
            if current.words or current.target:
                commands.append(current)
            pipe = value in ("|", "|&")
            pipeline += not pipe
            current = Simple(pipeline=pipeline, piped=pipe)
        elif kind == "single":
            word = (word or "") + value.removeprefix("$")[1:].removesuffix("'")
        elif kind == "double":
            body = value.removeprefix("$")[1:].removesuffix('"')
            word = (word or "") + (re.sub(r'\\(["\\$`])', r"\1", body) if "\\" in body else body)
        elif kind == "substitution":
            position = _after_substitution(text, position, value)
            word = (word or "") + text[match.start() : position]
        elif value.startswith("#") and word is None:  # a comment
            line_end = text.find("\n", position)
            position = len(text) if line_end < 0 else line_end
        else:
            word = (word or "") + (re.sub(r"\\(.)", r"\1", value) if "\\" in value else value)
    close_word()
    if current.words or current.target:
        commands.append(current)
    return commands


def _after_bodies(text: str, position: int, ends: Sequence[str]) -> int:
    """Position after the here-documents that begin at ``position``; the text's end when one never closes."""
    for end in ends:
        match = re.compile(rf"^[ \t]*{re.escape(end)}[ \t]*$", re.M).search(text, position)
        if match is None:
            return len(text)
        position = min(match.end() + 1, len(text))
    return position


def _after_substitution(text: str, position: int, opening: str) -> int:
    if opening == "`":
        close = text.find("`", position)
        return len(text) if close < 0 else close + 1
    depth = 1
    for match in _PARENTHESIS.finditer(text, position):
        depth += 1 if match.group() == "(" else -1
        if depth == 0:
            return match.end()
    return len(text)
