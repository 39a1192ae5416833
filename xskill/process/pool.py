"""A pool of worker processes: calls go to whichever is idle, and each result comes back to the call that asked for it.

``concurrent.futures`` does not promise that its workers end with their parent: its threads and locks outlive an
interrupted parent, and a worker that is killed while it sends a result leaves a thread waiting for the rest of it.
Here the parent has no threads and shares nothing with a worker but two pipes and some memory, so that workers can be
killed at any moment.
"""

from __future__ import annotations

import contextlib
import mmap
import pickle
import select
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from xskill.errors import XskillError
from xskill.process.child import ChildDied, ChildProcess, may_fork, portable, signals_held, start

T = TypeVar("T")

_SHARED = 8 << 20
"""Bytes of memory that parent and worker share; pages that nobody writes to do not exist."""


@dataclass(slots=True, eq=False)
class Call(Generic[T]):
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
        workers: how many.
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
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._busy: dict[int, tuple[_Worker, Call[Any]]] = {}
        """By the file that is ready to be read when the worker has answered."""
        self._queued: deque[Call[Any]] = deque()

    def submit(self, task: Callable[..., T], *args: Any) -> Call[T]:
        """Queue ``task(*args)``; all of it, and what it returns, must pickle."""
        call = Call(task, args)
        self._queued.append(call)
        self._move(0)
        return call

    def result(self, call: Call[T]) -> T:
        """What the call returned, waiting for it, or raise what it raised.

        Raises:
            XskillError: the worker died.
        """
        while not call.done:
            self._move(None)
        if call.error is not None:
            raise call.error
        return call.value  # type: ignore[return-value]

    def start(self, workers: int, begin: Callable[[], object] | None) -> None:
        """Start the processes."""
        with signals_held():
            for _ in range(workers):
                shared = mmap.mmap(-1, _SHARED) if may_fork() else None
                self._workers.append(_Worker(start(_work, shared, begin), shared))
        self._idle = list(self._workers)

    def kill(self) -> None:
        """End all processes, whatever they are doing."""
        for worker in self._workers:
            worker.child.kill()

    def _move(self, timeout: float | None) -> None:
        """Take what is finished, waiting for it with a timeout of None, and give the idle something to do."""
        try:
            self._hand_out()
            for file in _ready(list(self._busy), timeout):
                worker, call = self._busy.pop(file)
                call.value, call.error = _unpacked(next(worker.child), worker.shared)
                call.done = True
                self._idle.append(worker)
            self._hand_out()
        except ChildDied:
            raise XskillError("a worker process died (out of memory?); try with -j 1") from None

    def _hand_out(self) -> None:
        while self._idle and self._queued:
            call = self._queued.popleft()
            worker = self._idle.pop()
            worker.child.send(_packed((call.task, call.args), worker.shared))
            self._busy[worker.child.fileno()] = worker, call


@dataclass(frozen=True, slots=True)
class _Worker:
    """A child, and the memory that parent and child share: one of them writes there, then the other.

    A child that was not forked has none.
    """

    child: ChildProcess
    shared: mmap.mmap | None


def _ready(files: list[int], timeout: float | None) -> list[int]:
    """Those of the files that can be read now; with a timeout of None, wait for the first."""
    if not files:
        return []
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    return [file for file, _ in poll.poll(timeout)]


def _packed(value: object, shared: mmap.mmap | None) -> bytes | int:
    """The value as a message: its length in the shared memory, or, where it does not fit, all of it."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    if shared is None or len(data) > _SHARED:
        return data
    shared[: len(data)] = data
    return len(data)


def _unpacked(message: bytes | int, shared: mmap.mmap | None) -> Any:
    if isinstance(message, bytes):
        return pickle.loads(message)
    assert shared is not None
    with memoryview(shared) as memory:
        return pickle.loads(memory[:message])


def _keep_freed_memory() -> None:
    """Free one large block. From then on glibc keeps freed blocks of up to this size; before, it gave them back to the
    system after each call and asked for them again, page by page, in the next."""
    bytes(_SHARED)


def _work(
    requests: Iterator[bytes | int], shared: mmap.mmap | None, begin: Callable[[], object] | None
) -> Iterator[bytes | int]:
    """In the worker: calls from the parent, one after another, until killed."""
    if begin is not None:
        begin()
    for message in requests:
        task, args = _unpacked(message, shared)
        yield _packed(_answer(task, args), shared)


def _answer(task: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, Exception | None]:
    try:
        return task(*args), None
    except Exception as error:
        return None, portable(error)
