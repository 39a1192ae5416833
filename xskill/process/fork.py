"""Forked processes: when they are possible, their end with their parent, and one that goes on in its parent's place.

polars can abort on a crafted Parquet file, so whoever reads one reads it in a process that may fall. :func:`attempt`
forks one that does the whole work of a command; where the file is odd, or kills it, the caller takes the careful way.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import NoReturn, TypeVar

from xskill.errors import XskillError

T = TypeVar("T")

_GAVE_UP = 117
"""Exit status that none of our commands has."""


def may_fork() -> bool:
    """A fork starts at once, with all modules loaded, but is safe only where no other threads hold locks."""
    return sys.platform == "linux" and threading.active_count() == 1 and "polars" not in sys.modules


def end_with(parent: int) -> None:
    """Called in a forked process: end it when its parent has ended, however that did."""
    threading.Thread(target=_wait_for_end, args=(parent,), daemon=True).start()


def _wait_for_end(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


class Attempt:
    """What the forked process of :func:`attempt` may say to its parent."""

    def __init__(self, writes: mmap.mmap) -> None:
        self._writes = writes

    def get(self, make: Callable[[], T | None]) -> T:
        """What ``make`` gives. Where that is None, or it raises or panics, this process ends without a word."""
        kept = os.dup(2)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)  # what a library prints as it falls is not for the user
        os.close(nowhere)
        try:
            made = make()
        except SystemExit:
            raise
        except BaseException:  # a panic of polars is no Exception
            made = None
        if made is None:
            os._exit(_GAVE_UP)
        os.dup2(kept, 2)
        os.close(kept)
        return made

    def begin_output(self) -> None:
        """From here on the parent cannot begin again."""
        self._writes[0] = 1


def attempt() -> Attempt | None:
    """Fork a process that goes on in the caller's place; call it where :func:`may_fork` holds.

    Returns:
        In the forked process, an :class:`Attempt`. In the parent None, once the other gave up or died before it
        wrote anything; when it came to an end, the parent ends too, with its exit status.

    Raises:
        XskillError: the process died after it had begun to write.
    """
    writes = mmap.mmap(-1, 1)
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's affair
        signal.signal(signal.SIGTERM, _leave)
        end_with(parent)
        return Attempt(writes)
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except BaseException:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
        raise
    if code == _GAVE_UP or (code < 0 and not writes[0]):
        return None
    if code < 0:
        raise XskillError(f"the process that wrote the output was killed by signal {-code}")
    raise SystemExit(code)


def _leave(*_: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: nothing may break into the clean-up
    raise SystemExit(128 + signal.SIGTERM)
