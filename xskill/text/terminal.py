"""Text from logs, made harmless for a terminal."""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls but tab and newline
    "\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible and bidirectional
    "\ud800-\udfff\U000e0000-\U000e007f]"  # surrogates, tag characters
)
_MARKS = re.compile(
    "([\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{4})[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)


def clean(text: str) -> str:
    r"""Show control, invisible and bidirectional characters as escapes, so that none reaches the terminal.

    Tab and newline stay. More than four combining marks in a row are cut.

    >>> clean("a\x1b[2Jb\u202ec")
    'a\\x1b[2Jb\\u202ec'
    """
    return _MARKS.sub(r"\1", _UNSAFE.sub(_escape, text))


def clean_line(text: str) -> str:
    """The same on one line: newlines and tabs become spaces too."""
    return clean(text.replace("\n", " ").replace("\t", " "))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
