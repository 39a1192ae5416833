"""The standard streams when they misbehave: closed before we began, or on a full disk."""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
from collections.abc import Callable, Iterator
from typing import Any

from xskill.errors import CannotWrite

_unsent: list[Callable[[], None]] = []
_bars: list[Callable[[], None]] = []


@contextlib.contextmanager
def sending(flush: Callable[[], None]) -> Iterator[None]:
    """While the block runs, ``flush`` is called before a read that would wait."""
    _unsent.append(flush)
    try:
        yield
    finally:
        _unsent.remove(flush)


def before_read(descriptor: int) -> None:
    """Call before reading from a pipe: when nothing is there to read now, what is unsent is sent."""
    if _unsent and not select.select([descriptor], [], [], 0)[0]:
        for flush in _unsent:
            flush()


def show_bar(clear: Callable[[], None]) -> None:
    """A progress bar is on the terminal; ``clear`` takes its line away until it moves again."""
    _bars.append(clear)


def hide_bar(clear: Callable[[], None]) -> None:
    """The bar is gone."""
    if clear in _bars:
        _bars.remove(clear)


def clear_bars() -> None:
    """Call before text goes to standard output."""
    for clear in _bars:
        clear()


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """What is written to standard error while the block runs, be it by a library in C, goes nowhere."""
    before = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)\Z|/(?:dev|proc/self)/fd/(\d+)\Z")
_STANDARD = {"stdout": 1, "stderr": 2}


def reserve() -> None:
    """Put in the place of a closed standard stream one on which every read or write fails.

    Else the next file that is opened would get its number, and what is printed would land in that file.
    """
    for number, flag in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flag), True)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def descriptor_of(path: str) -> int | None:
    """The open file that a name such as ``/dev/stderr`` or ``/dev/fd/3`` stands for; None for every other name.

    Whoever opens the name itself may get another open file, at its beginning.
    """
    match = _DESCRIPTOR.match(path)
    return None if match is None else int(match[2] or _STANDARD[match[1]])


def to_stdout(data: Any) -> None:
    """Write bytes to standard output, at once and all of them.

    Beneath Python's buffer, which may be off (``PYTHONUNBUFFERED``), a write may take a part of the bytes, or none
    when the pipe is full and does not block.

    Raises:
        BrokenPipeError: nobody reads any more.
        CannotWrite: the disk is full, standard output is closed.
    """
    clear_bars()
    try:
        sys.stdout.flush()
        stream: Any = sys.stdout.buffer
        stream = getattr(stream, "raw", stream)
        rest = memoryview(data).cast("B")
        while rest:
            written = stream.write(rest)
            if written is None:
                select.select([], [stream], [])
            rest = rest[written or 0 :]
    except BrokenPipeError:
        raise
    except OSError as error:
        abandon()
        raise cannot_write(error) from None


def abandon() -> None:
    """Send what is still buffered nowhere: Python would complain when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def cannot_write(error: OSError) -> CannotWrite:
    """The error of a write to standard output."""
    return CannotWrite(f"standard output: cannot write: {error.strerror}")
