"""SIGTERM and SIGHUP: a run that they end cleans up as one that Ctrl-C ends, and then dies of the signal."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGTERM, signal.SIGHUP)

_SAME = 1.0
"""Seconds within which a second signal says nothing new: `timeout` sends one to the command and one to its group."""


class Terminated(BaseException):
    """Raised wherever the run is when a signal arrives."""


def unwound(run: Callable[[], None]) -> None:
    """Call ``run``; when a signal ends it, die of that signal once everything is closed and removed.

    A later signal no longer waits for that. A forked process, which has nothing of its own to remove, dies at once.
    A signal that is ignored already (`nohup`) stays so.
    """
    owner, reason, since = os.getpid(), 0, 0.0

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal reason, since
        if os.getpid() != owner or (reason and time.monotonic() - since > _SAME):
            _die(number)
        if not reason:
            reason, since = number, time.monotonic()
            raise Terminated

    handled = []
    with contextlib.suppress(ValueError):  # not the main thread
        for number in SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, handle)
                handled.append(number)
    try:
        run()
    except BaseException:  # a clean-up may have failed, too: on a terminal that is gone
        if not reason:
            raise
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
    if reason:  # here: all that the frames of the run held has been let go
        _die(reason)


def _die(number: int) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)
