"""Read a shell line as ONE action: the principal command of a compound line, its subcommand and operands.

One step keeps one token, so a compound line is represented by its principal command: commands are
ranked ``setup < look < act`` (word lists of the profile; ``cd``, ``export`` · ``cat``, ``ls`` · all
others); the principal is the last one of the highest rank, and of a pipeline the first of the highest,
text filters after a ``|`` counting as setup. So ``cd repo && pip install -e . && pytest -q | tail`` is
``pytest``, and ``sed -i s/a/b/ f.py && cat f.py`` is ``sed``.

Inline code never reaches the vocabulary: a here-document, ``python -c`` and a code block are the kind
``inline``, and output redirected into a file by ``cat``, ``echo``, ``printf`` or ``tee`` is ``write``.
Nothing is run or expanded: a scanner reads the text, which is a stranger's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from xskill.canon.actions.shell_line import Simple, split_line

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_PROGRAM = re.compile(r"\[{1,2}$|[A-Za-z_][\w.+-]{0,39}$")
_LOCAL = re.compile(r"(\.{1,2}|~|\$\w+|/(?!(?:usr/|bin/|sbin/|opt/\w+/bin/)).*)/")
_VERSION = re.compile(r"[\d.]+$")
_NUMBER = re.compile(r"[-+]?\d[\d.,:]*$")
_LETTER_OPTION = re.compile(r"-[A-Za-z]$")
_PYTHON = re.compile(
    r"(?:[ \t]*(?:\#[^\n]*)?\n)*"
    r"(?:from\s+[\w.]+\s+import\b|import\s+\w|(?:async\s+)?def\s+\w+\(|class\s+\w+[:(]|print\(|@\w+|with\s+\w+\(|%\w+|"
    r"(?:for|while|if)\b[^\n;]*:\s*\n|[A-Za-z_][\w.\[\]'\"]*(?:,\s*\w+)*\s*=\s\S|\w+\s=\S)"
)
_KEYWORDS = frozenset(["if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"])
_CLOSERS = frozenset(["fi", "done", "esac", "}", "for", "case", "select", "function", "in"])


@dataclass(frozen=True, slots=True)
class ShellWords:
    """Word lists of a profile's ``[shell]`` table."""

    setup: frozenset[str] = frozenset()
    look: frozenset[str] = frozenset()
    filters: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    shells: frozenset[str] = frozenset()
    interpreters: frozenset[str] = frozenset()
    writers: frozenset[str] = frozenset()
    subcommands: frozenset[str] = frozenset()
    """Programs whose first operand is a subcommand."""
    valued: frozenset[str] = frozenset()
    """Options before a subcommand that take the next word as their value (``git -C repo``)."""
    pattern_first: frozenset[str] = frozenset()
    """Programs whose first operand is a pattern, the next one the object."""
    versioned: frozenset[str] = frozenset()
    """Programs known under numbered names (``python3.11``)."""
    terminators: frozenset[str] = frozenset()
    """Lines that close text given after the first line (``end_of_edit``)."""

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> ShellWords:
        """From the TOML table.

        Raises:
            ValueError: an unknown list.
        """
        unknown = sorted(set(table) - set(cls.__dataclass_fields__))
        if unknown:
            raise ValueError(f"unknown list shell.{unknown[0]}; there are {', '.join(cls.__dataclass_fields__)}")
        return cls(**{name: frozenset(words) for name, words in table.items()})


@dataclass(frozen=True, slots=True)
class ShellAction:
    """What a line does: ``program [subcommand]`` on ``operands``; ``main`` decides the role."""

    program: str
    subcommand: str = ""
    main: str | None = None
    operands: tuple[str, ...] = ()
    inline: bool = False


def read_command(text: str, words: ShellWords) -> ShellAction:
    """The principal command of a line, a script or a code block.

    >>> words = ShellWords(setup=frozenset(["cd"]), subcommands=frozenset(["git"]))
    >>> read_command("cd /app && git commit -m 'fix it'", words)
    ShellAction(program='git', subcommand='commit', main='fix it', operands=('fix it',), inline=False)
    """
    if text.startswith('["'):
        text = _join_list(text)
    if any(end in text for end in words.terminators):
        text = text.split("\n", 1)[0]
    if _PYTHON.match(text):
        return ShellAction("python", inline=True)
    best: tuple[int, int] = (-1, -1)
    principal: ShellAction | None = None
    for simple in split_line(text):
        action = _describe(simple, words)
        if action is None:
            continue
        rank = (_rank(action, simple, words), simple.pipeline)
        if rank[0] > best[0] or (rank[0] == best[0] and rank[1] > best[1]):
            best, principal = rank, action
    if principal is None:
        return ShellAction("shell", inline=bool(text.strip()))
    if principal.program in words.shells and principal.main and principal.inline:
        return read_command(principal.main, words)
    return principal


def _join_list(text: str) -> str:
    """A command that was logged as an argument list, as one line."""
    try:
        parts = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        return text
    if len(parts) >= 3 and parts[-2] in ("-c", "-lc", "-ic"):
        return str(parts[-1])
    return " ".join(
        "'" + part.replace("'", "'\"'\"'") + "'" if re.search(r"[\s'\"|;&<>$]", part) else part for part in parts
    )


def _rank(action: ShellAction, simple: Simple, words: ShellWords) -> int:
    names = (action.program, f"{action.program} {action.subcommand}")
    if any(name in words.setup for name in names) or (simple.piped and action.program in words.filters):
        return 0
    return 1 if any(name in words.look for name in names) else 2


def _describe(simple: Simple, words: ShellWords) -> ShellAction | None:
    """One simple command as an action; None for a keyword that does nothing itself."""
    rest = list(simple.words)
    while rest and (rest[0] in _KEYWORDS or _ASSIGNMENT.match(rest[0])):
        rest.pop(0)
    rest = _unwrapped(rest, words)
    if not rest:
        return ShellAction("write", main=simple.target, operands=(simple.target,)) if simple.target else None
    program = rest.pop(0)
    if program in _CLOSERS:
        return None
    if _LOCAL.match(program):
        return ShellAction("run", main=program, operands=(program, *_operands(rest)))
    program = program.rsplit("/", 1)[-1].lower()
    stem = _VERSION.sub("", program)
    if stem in words.versioned:
        program = stem
    if not _PROGRAM.match(program):
        return ShellAction("shell", inline=True)
    if program in words.writers and (simple.target or (program == "tee" and _operands(rest))):
        target = simple.target or _operands(rest)[0]
        return ShellAction("write", main=target, operands=(target,))
    if program in words.shells or program in words.interpreters:
        return _interpreter(program, rest, simple, words)
    if program in words.subcommands:
        rest = _from_subcommand(rest, words)
    operands = _operands(rest)
    subcommand = ""
    if program in words.subcommands and operands and re.match(r"[A-Za-z][\w-]{0,24}$", operands[0]):
        subcommand, operands = operands[0].lower(), operands[1:]
    named = [operand for operand in operands if not _NUMBER.match(operand)]
    skip = program in words.pattern_first and not any(word in ("-e", "-f", "--regexp", "--file") for word in rest)
    if skip:
        named = named[1:]
    return ShellAction(program, subcommand, named[0] if named else None, operands)


def _unwrapped(words_of_line: list[str], words: ShellWords) -> list[str]:
    """Without ``sudo``, ``timeout 10`` and their like before the program."""
    rest = words_of_line
    while rest and rest[0].rsplit("/", 1)[-1] in words.wrappers:
        position = 1
        while position < len(rest) and (
            rest[position].startswith("-")
            or _ASSIGNMENT.match(rest[position])
            or re.match(r"[\d.]+[smhd]?$", rest[position])
        ):
            position += 1
        if position == len(rest):
            return rest
        rest = rest[position:]
    return rest


def _from_subcommand(rest: Sequence[str], words: ShellWords) -> list[str]:
    position = 0
    while position < len(rest) and rest[position].startswith("-"):
        position += 2 if rest[position] in words.valued else 1
    return list(rest[position:])


def _operands(rest: Sequence[str]) -> tuple[str, ...]:
    """Words that are no options; a number right after a one-letter option is that option's value."""
    return tuple(
        word
        for before, word in zip(("", *rest), rest, strict=False)
        if word
        and not word.startswith("-")
        and word != "\\"
        and not (_NUMBER.match(word) and _LETTER_OPTION.match(before))
    )


def _interpreter(program: str, rest: list[str], simple: Simple, words: ShellWords) -> ShellAction:
    """``python -m pytest x`` is ``pytest``; ``python x.py`` keeps the file; code given inline is ``inline``."""
    for position, word in enumerate(rest):
        if not word.startswith("-"):
            script = tuple(word for word in rest[position:] if word)
            return ShellAction(program, main=word, operands=script)
        following = rest[position + 1 : position + 2]
        if word in ("-m", "--module") and following and program in words.interpreters:
            module = Simple([following[0].split(".")[0], *rest[position + 2 :]])
            return _describe(module, words) or ShellAction(program)
        if following and re.match(r"-[a-z]*c$|-e$|--eval$", word):
            return ShellAction(program, main=following[0] if program in words.shells else None, inline=True)
    return ShellAction(program, inline=simple.heredoc or simple.piped)
