"""The names that a user gave → the inputs: patterns, lists of names, and folders that are walked."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xskill.canon.detect import Log, open_log
from xskill.canon.formats.format import Format
from xskill.canon.formats.table import FORMATS
from xskill.errors import BadRecord, NoInput
from xskill.streams.source import Input

if TYPE_CHECKING:
    from xskill.canon.accounts.totals import Totals

STDIN = "stdin"
"""What ``-`` is called in messages."""


class Walked(str):
    """Name of a file that was met in a folder: nobody said that it is a log."""

    __slots__ = ()


def names_in(file: str) -> list[str]:
    """The names that stand in a file, one a line.

    Raises:
        NoInput: the file cannot be read, or names nothing.
    """
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as lines:
            names = [name for line in lines if (name := line.rstrip("\r\n"))]
    except OSError as error:
        raise NoInput(f"{file}: cannot read the names: {error.strerror}") from None
    if not names:
        raise NoInput(f"{file}: names no file")
    return names


def expanded(names: Sequence[str], forced: Format | None) -> Iterator[str]:
    """The inputs behind the names, in order.

    Raises:
        NoInput: a pattern that matches nothing.
    """
    for name in names:
        if name == "-" or os.path.exists(name) or not glob.has_magic(name):
            matches = [name]
        else:
            matches = sorted(glob.glob(name, recursive=True))
            if not matches:
                raise NoInput(f"{name}: no file matches this pattern")
        for match in matches:
            if match != "-" and os.path.isdir(match):
                inner = _walked(match, forced)
                yield next(inner, match)  # of an empty folder itself: reading it says what is wrong
                yield from inner
            else:
                yield match


def claimed(source: Input, forced: Format | None, totals: Totals) -> Log | None:
    """The log in a file that was met in a folder; None, which is counted, for one that no format claims."""
    try:
        log = open_log(source, forced)
    except BadRecord:
        log = None
    if log is None or not log.is_claimed:
        totals.unclaimed += 1
        return None
    return log


def _walked(folder: str, forced: Format | None) -> Iterator[str]:
    """A folder of a format that reads folders; else the files in it and in the folders below."""
    if forced is not None and forced.unit == "folder":
        yield folder
        return
    path = Path(folder)
    if forced is None and any(fmt.detect(path) for fmt in FORMATS.of_folders()):
        yield folder
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise NoInput(f"{folder}: cannot read: {error.strerror}") from None
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walked(entry.path, forced)
        elif entry.is_file():
            yield Walked(entry.path)
