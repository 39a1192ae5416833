"""What a process does before it waits for input, and before it prints.

Before a read that would wait it sends on what it has, so that a live log flows through a pipe. Before text reaches
standard output the progress bars go out of its way. Standard output and the terminal are one for the whole process,
and so are the two lists here.
"""

from __future__ import annotations

import contextlib
import select
from collections.abc import Callable, Iterator

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
