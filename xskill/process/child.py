"""Child processes: the one way in which work runs beside this process, or where a library that aborts does no harm.

A child runs one generator. What the generator yields, the parent receives, in order; what it raises is raised in the
parent. A child that dies instead is met as :class:`ChildDied`. Its parent kills it when it needs it no longer, and a
child whose parent has died ends by itself. Ctrl-C is the parent's affair.

A child is forked where that is safe: then it starts at once, with all modules loaded, and may be given anything. Else
a new Python is started, and the generator function and its arguments must pickle.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, NoReturn

from xskill.errors import XskillError
from xskill.process.signals import SIGNALS

Task = Callable[..., Iterator[Any]]
"""A generator function. Its first argument iterates over what the parent sends; the others are those of the start."""

_SIGNALS = {signal.SIGINT, *SIGNALS}
_BUFFER = 1 << 18
_PIPE = 1 << 20
"""Bytes that a pipe holds where the system allows: with the usual 64 KiB, large messages take turn upon turn."""
_LOOK_EVERY = 0.2
"""Seconds between two looks at whether the parent still lives."""


class ChildDied(XskillError):
    """A child process ended before it had done its work.

    Attributes:
        code: its exit status; that of a signal is negative.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"was killed by signal {-code}" if code < 0 else f"left with {code}")
        self.code = code


@dataclass(frozen=True, slots=True)
class _Message:
    """What a child sends: a value or an error; the message without either is its last."""

    value: Any = None
    error: Exception | None = None
    last: bool = False


class ChildProcess:
    """The parent's side of a child process. Iterate over it for what the child sends.

    Iterating raises the error with which the child's generator ended, and :class:`ChildDied` when there is none.
    """

    def __init__(self, pid: int, wait: Callable[[], int], write_requests: int, read_answers: int) -> None:
        self.pid = pid
        self._wait = wait
        self._requests: BinaryIO = os.fdopen(write_requests, "wb", _BUFFER)
        self._answers: BinaryIO = os.fdopen(read_answers, "rb", _BUFFER)
        self._ended = False
        self._code: int | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._ended:
            raise StopIteration
        try:
            message: _Message = pickle.load(self._answers)
        except (EOFError, ConnectionError, pickle.UnpicklingError):  # nothing, or a part: it was killed
            raise self._died() from None
        self._ended = message.last
        if message.error is not None:
            raise message.error
        if message.last:
            raise StopIteration
        return message.value

    def send(self, value: object) -> None:
        """Send a value to the child's generator.

        Raises:
            ChildDied: it does not read any more.
        """
        try:
            pickle.dump(value, self._requests, pickle.HIGHEST_PROTOCOL)
            self._requests.flush()
        except ConnectionError:
            raise self._died() from None

    def fileno(self) -> int:
        """The file that is ready to be read when the child has sent something, or has died."""
        return self._answers.fileno()

    def kill(self) -> None:
        """End the child, whatever it is doing, and wait for that."""
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)
            self._code = self._wait()
        for stream in (self._requests, self._answers):
            with contextlib.suppress(OSError):  # a request that was not sent to its end
                stream.close()

    def _died(self) -> ChildDied:
        self._ended = True
        if self._code is None:
            self._code = self._wait()
        return ChildDied(self._code)


@contextlib.contextmanager
def open_child(task: Task, *args: Any) -> Iterator[ChildProcess]:
    """Start a child that runs ``task(requests, *args)``; it is killed when the block ends, be it by an exception."""
    child: ChildProcess | None = None
    try:
        with signals_held():
            child = start(task, *args)
        yield child
    finally:
        if child is not None:
            child.kill()


def may_fork() -> bool:
    """A fork is safe only where no other threads hold locks."""
    return sys.platform == "linux" and threading.active_count() == 1 and "polars" not in sys.modules


def start(task: Task, *args: Any) -> ChildProcess:
    """Start a child that runs ``task(requests, *args)``, for a caller that kills it (:func:`open_child` does both).

    Call it while :func:`signals_held`: a signal must find the child either not started or in the caller's keeping,
    and must not reach the child before it knows to ignore Ctrl-C.
    """
    return _fork(task, args) if may_fork() else _spawn(task, args)


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Signals that end a command wait until the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _fork(task: Task, args: tuple[Any, ...]) -> ChildProcess:
    parent = os.getpid()
    (read_requests, write_requests), (read_answers, write_answers) = _pipe(), _pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(write_requests)
            os.close(read_answers)
            _serve(parent, read_requests, write_answers, (task, args))
        finally:
            os._exit(1)
    os.close(read_requests)
    os.close(write_answers)
    return ChildProcess(pid, partial(_exit_status, pid), write_requests, read_answers)


def _exit_status(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _spawn(task: Task, args: tuple[Any, ...]) -> ChildProcess:
    (read_requests, write_requests), (read_answers, write_answers) = _pipe(), _pipe()
    # With this process's own path the child finds the same modules, and none of the folder in which it happens to be.
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; from xskill.process.child import serve_spawned; "
        f"serve_spawned({os.getpid()}, {read_requests}, {write_answers})"
    )
    passed = (read_requests, write_answers)
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, pass_fds=passed)
    for handle in passed:
        os.close(handle)
    child = ChildProcess(process.pid, process.wait, write_requests, read_answers)
    try:
        child.send((task, args))
    except BaseException:
        child.kill()
        raise
    return child


def _pipe() -> tuple[int, int]:
    read, write = os.pipe()
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):  # a user may have too many large pipes
            fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, _PIPE)
    return read, write


def serve_spawned(parent: int, requests: int, answers: int) -> NoReturn:
    """In a new Python: run the task that comes first through the pipe ``requests``."""
    _serve(parent, requests, answers, None)


def _serve(parent: int, read_requests: int, write_answers: int, work: tuple[Task, tuple[Any, ...]] | None) -> NoReturn:
    """In the child: run the task, send what it yields, and leave without the parent's clean-up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    requests, answers = os.fdopen(read_requests, "rb", _BUFFER), os.fdopen(write_answers, "wb", _BUFFER)
    status = 1
    try:
        task, args = pickle.load(requests) if work is None else work
        try:
            for value in task(_received(requests), *args):
                _send(answers, _Message(value))
            _send(answers, _Message(last=True))
        except Exception as error:
            _send(answers, _Message(error=portable(error), last=True))
        status = 0
    finally:  # a panic of polars is no Exception; and when the parent has ended there is nobody to tell
        os._exit(status)


def _received(requests: BinaryIO) -> Iterator[Any]:
    while True:
        try:
            yield pickle.load(requests)
        except EOFError:
            return


def _send(answers: BinaryIO, message: _Message) -> None:
    pickle.dump(message, answers, pickle.HIGHEST_PROTOCOL)
    answers.flush()


def portable(error: Exception) -> Exception:
    """The error with its traceback as a note, since a traceback does not pickle; one that does not either, as text."""
    error.add_note(traceback.format_exc())
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return XskillError(f"{type(error).__name__}: {error}")
    return error


def _end_with(parent: int) -> None:
    """In a thread of the child: end it when its parent has ended, however that did."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY)
    os._exit(1)
