"""A worker as a co-process: one line to its stdin, one line back from its stdout, or the reason why not."""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from xskill.errors import UsageError, WorkerError

MAX_ANSWER = 64 << 20
"""Longest answer that is held, in bytes."""
TAIL = 4096
"""Bytes of a worker's stderr that are kept for the report of its failure."""
GRACE = 3.0
"""Seconds between the end of a worker's input and its killing."""
_CHUNK = 1 << 16


def parse_command(command: str, option: str = "--worker") -> list[str]:
    """The words of a command, without a shell; ``xskill`` is this very installation.

    Raises:
        UsageError: empty, badly quoted, or no such program.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{option} {command!r}: {error}") from None
    if not words:
        raise UsageError(f"{option}: expected a command")
    if words[0] == "xskill":
        return [sys.executable, "-m", "xskill", *words[1:]]
    if shutil.which(words[0]) is None:
        raise UsageError(f"{option}: no program {words[0]!r} on PATH")
    return words


class CoProcess:
    """One worker process; the first :meth:`ask` starts it, and the next one after it died starts it again.

    It lives in its own session, so that the Ctrl-C of a terminal reaches the driver alone, which lets
    the worker finish what is in flight; killing it kills what it started too.

    Args:
        words: the command.
        timeout: longest wait for an answer, in seconds.
    """

    def __init__(self, words: Sequence[str], timeout: float) -> None:
        self._words = list(words)
        self._timeout = timeout
        self._running: _Running | None = None
        self._lock = threading.RLock()  # a signal handler may retire what its own thread is retiring
        self._retired = False
        self.starts = 0
        """How often a process was started."""
        self.answered = False
        """Whether any process of it has ever spoken the protocol; the driver knows."""

    def ask(self, request: bytes) -> bytes:
        """Send one line and wait for one (both without the newline).

        Raises:
            WorkerError: it died, let the time run out, or sent what was not asked for. The process is dead then.
        """
        with self._lock:
            if self._retired:
                raise WorkerError("was retired")
            if self._running is None:
                self._running = _start(self._words)
                self.starts += 1
            running = self._running
        try:
            return _exchange(running, request, time.monotonic() + self._timeout, self._timeout)
        except WorkerError:
            self.kill()
            raise

    def kill(self) -> None:
        """Kill the process and everything in its session at once. Any thread may call this."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.kill()

    def retire(self) -> None:
        """Kill it and never start it again."""
        with self._lock:
            self._retired = True
        self.kill()

    def close(self) -> None:
        """End its input, give it :data:`GRACE` seconds to leave by itself, and kill what is left."""
        with self._lock:
            running = self._running
        if running is not None:
            running.close_input()
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.process.wait(GRACE)
        self.kill()


@dataclass(slots=True)
class _Running:
    """A live process with what it has said so far."""

    process: subprocess.Popen[bytes]
    stdin: int
    stdout: int
    stderr: int
    selector: selectors.BaseSelector
    said: bytearray = field(default_factory=bytearray)
    """Output that no answer was made from yet."""
    tail: bytes = b""
    """The end of its stderr."""

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close_input(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def last_words(self) -> str:
        """The last line of its stderr that says something, as a suffix."""
        lines = self.tail.decode("utf-8", "replace").strip().splitlines()
        return f": {lines[-1].strip()}" if lines else ""


def _start(words: list[str]) -> _Running:
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=os.environ,  # and not what the command line set for itself
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(f"--worker {words[0]!r}: cannot start: {error.strerror}") from None
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    stdin, stdout, stderr = process.stdin.fileno(), process.stdout.fileno(), process.stderr.fileno()
    selector = selectors.DefaultSelector()
    for pipe in (stdin, stdout, stderr):
        os.set_blocking(pipe, False)
    selector.register(stdout, selectors.EVENT_READ)
    selector.register(stderr, selectors.EVENT_READ)
    return _Running(process, stdin, stdout, stderr, selector)


def _exchange(running: _Running, request: bytes, deadline: float, timeout: float) -> bytes:
    """Write the request and read one line, whichever the process is ready for, until the deadline.

    Neither side can block the other: stdin, stdout and stderr are served together.
    """
    _read(running)
    if running.said:
        raise WorkerError(f"printed what nobody asked for: {_shown(running.said)}")
    left = memoryview(request + b"\n")
    left = left[_write(running, left) :]
    if left:
        running.selector.register(running.stdin, selectors.EVENT_WRITE)
    searched = 0
    while True:
        end = running.said.find(b"\n", searched)
        if end >= 0 and not left:
            answer = bytes(running.said[:end])
            del running.said[: end + 1]
            return answer
        searched = len(running.said)
        if searched > MAX_ANSWER:
            raise WorkerError(f"answered with a line longer than {MAX_ANSWER >> 20} MiB")
        ready = running.selector.select(max(0.0, deadline - time.monotonic()))
        if not ready and time.monotonic() >= deadline:
            raise WorkerError(f"gave no answer within {timeout:g} s{running.last_words()}")
        for key, _ in ready:
            if key.fd == running.stdin:
                left = left[_write(running, left) :]
                if not left:
                    running.selector.unregister(running.stdin)
            elif key.fd == running.stderr:
                _read_stderr(running)
            elif not _read(running):
                raise WorkerError(_obituary(running))


def _write(running: _Running, data: memoryview) -> int:
    """Number of bytes written. All count as written when the process reads no more: its silence shows that soon
    enough."""
    try:
        return os.write(running.stdin, data)
    except BlockingIOError:
        return 0
    except (BrokenPipeError, OSError):
        return len(data)


def _read(running: _Running) -> bool:
    """Take what stdout holds; False at its end."""
    try:
        data = os.read(running.stdout, _CHUNK)
    except BlockingIOError:
        return True
    running.said += data
    return bool(data)


def _read_stderr(running: _Running) -> bool:
    """Take what stderr holds; False when there is nothing more."""
    try:
        data = os.read(running.stderr, _CHUNK)
    except BlockingIOError:
        return False
    if not data:
        running.selector.unregister(running.stderr)
    running.tail = (running.tail + data)[-TAIL:]
    return bool(data)


def _obituary(running: _Running) -> str:
    """How the process ended, with its last words."""
    try:
        status = running.process.wait(GRACE)
    except subprocess.TimeoutExpired:
        return f"closed its output{running.last_words()}"
    while running.stderr in running.selector.get_map() and _read_stderr(running):
        pass
    if status < 0:
        return f"was killed by signal {-status} ({signal.strsignal(-status)}){running.last_words()}"
    return f"died with exit code {status}{running.last_words()}"


def _shown(data: bytes | bytearray, limit: int = 80) -> str:
    text = data[: limit + 1].decode("utf-8", "replace").strip()
    return repr(text if len(text) <= limit else text[:limit] + "…")
