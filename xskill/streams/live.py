"""What a process does before it waits for input: send on what it has, so that a live log flows through a pipe.

Standard output is one for the whole process, and so is this list of what is still to be sent there.
"""

from __future__ import annotations

import contextlib
import select
from collections.abc import Callable, Iterator

_unsent: list[Callable[[], None]] = []


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
