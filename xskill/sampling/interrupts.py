"""Ctrl-C (or SIGTERM) during a rollout: first finish what is in flight, at the second time drop it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

from xskill.sampling.drive import Stop

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def stoppable(stop: Stop) -> Iterator[None]:
    """Let the signals act on ``stop`` inside the block. Main thread only."""

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            _say("dropping what is in flight")
            stop.abandon()
        else:
            stop.request()  # first: who reads what is said may send the second signal at once
            _say("finishing the questions in flight; once more drops them")

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(text: str) -> None:
    os.write(2, f"xskill rollout: {text}\n".encode())  # print() is not safe inside a signal handler
