"""Worker processes that end with their parent, however it ends.

``concurrent.futures`` does not promise that: its threads and locks outlive an interrupted parent, and a worker that is
killed while it sends a result leaves a thread waiting for the rest of it. Here the parent has no threads and shares
nothing with a worker but one pipe and some memory, so that workers can be killed at any moment. Ctrl-C is the
parent's affair.
"""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from typing import Any, Generic, TypeVar

from xskill.errors import XskillError
from xskill.process.fork import may_fork

T = TypeVar("T")

_SHARED = 8 << 20
"""Bytes of memory that parent and worker share; pages that nobody writes to do not exist."""


@dataclass(slots=True, eq=False)
class Job(Generic[T]):
    """A call that a worker makes."""

    task: Callable[..., T]
    args: tuple[Any, ...]
    done: bool = False
    value: T | None = None
    error: Exception | None = None


@contextlib.contextmanager
def open_pool(workers: int, begin: Callable[[], object] | None = None) -> Iterator[Pool]:
    """Worker processes, started at once and killed when the block ends, be it by an exception.

    Args:
        begin: what each of them calls first; must pickle.
    """
    pool = Pool()
    _keep_freed_memory()
    try:
        pool.start(workers, begin)
        yield pool
    finally:
        pool.kill()


class Pool:
    """Calls that go to whichever worker is idle; each worker has one at a time."""

    def __init__(self) -> None:
        self._processes: list[Any] = []
        self._links: list[_Link] = []
        self._idle: list[_Link] = []
        self._busy: dict[connection.Connection, tuple[_Link, Job[Any]]] = {}
        self._queued: deque[Job[Any]] = deque()

    def submit(self, task: Callable[..., T], *args: Any) -> Job[T]:
        """Queue ``task(*args)``; all of it, and what it returns, must pickle."""
        job = Job(task, args)
        self._queued.append(job)
        self._move(0)
        return job

    def result(self, job: Job[T]) -> T:
        """What the call returned, waiting for it, or raise what it raised.

        Raises:
            XskillError: the worker died.
        """
        while not job.done:
            self._move(None)
        if job.error is not None:
            raise job.error
        return job.value  # type: ignore[return-value]

    def start(self, workers: int, begin: Callable[[], object] | None) -> None:
        """Start the processes; Ctrl-C waits until they know that it does not concern them."""
        fork = may_fork()
        context: Any = multiprocessing.get_context("fork" if fork else "spawn")
        if not fork:
            resource_tracker.ensure_running()  # starting it later would let signals through
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            for _ in range(workers):
                ours, theirs = context.Pipe()
                shared = mmap.mmap(-1, _SHARED) if fork else None
                self._links.append(_Link(ours, shared))
                process = context.Process(target=_work, args=(_Link(theirs, shared), begin), daemon=True)
                process.start()
                self._processes.append(process)
                theirs.close()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._idle = list(self._links)

    def kill(self) -> None:
        """End all processes, whatever they are doing."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
        for link in self._links:
            link.pipe.close()

    def _move(self, timeout: float | None) -> None:
        """Take what is finished, waiting for it with a timeout of None, and give the idle something to do."""
        try:
            self._hand_out()
            for pipe in connection.wait(list(self._busy), timeout) if self._busy else ():
                assert isinstance(pipe, connection.Connection)
                link, job = self._busy[pipe]
                job.value, job.error = link.receive()
                job.done = True
                del self._busy[pipe]
                self._idle.append(link)
            self._hand_out()
        except (EOFError, ConnectionError):
            raise XskillError("a worker process died (out of memory?); try with -j 1") from None

    def _hand_out(self) -> None:
        while self._idle and self._queued:
            job = self._queued.popleft()
            link = self._idle.pop()
            link.send((job.task, job.args))
            self._busy[link.pipe] = link, job


@dataclass(frozen=True, slots=True)
class _Link:
    """One end of what joins parent and worker; one of them sends, then the other.

    What does not fit into the memory that they share (spawned workers have none) goes through the pipe.
    """

    pipe: connection.Connection
    shared: mmap.mmap | None

    def send(self, value: object) -> None:
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        if self.shared is not None and len(data) <= _SHARED:
            self.shared[: len(data)] = data
            self.pipe.send(len(data))
        else:
            self.pipe.send(data)

    def receive(self) -> Any:
        told = self.pipe.recv()
        if isinstance(told, bytes):
            return pickle.loads(told)
        assert self.shared is not None
        with memoryview(self.shared) as shared:
            return pickle.loads(shared[:told])


def _keep_freed_memory() -> None:
    """Once a block of this size has been freed, glibc gives smaller ones no longer back to the system after each job,
    to ask for them again, page by page, in the next."""
    bytes(_SHARED)


def _work(link: _Link, begin: Callable[[], object] | None) -> None:
    """In the worker: calls from the parent, one after another, until killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin is not None:
        begin()
    with contextlib.suppress(EOFError, ConnectionError):  # the parent has ended
        while True:
            task, args = link.receive()
            link.send(_answer(task, args))


def _answer(task: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, Exception | None]:
    try:
        return task(*args), None
    except Exception as error:
        error.add_note(traceback.format_exc())  # the traceback itself does not pickle
        return None, error


def _end_with_parent() -> None:
    """Wait for the parent to die, in a thread of the worker.

    A forked worker also holds what keeps older ones from noticing, until it ends: the youngest goes first.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
