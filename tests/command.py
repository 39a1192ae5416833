"""The command: in a process of its own, in this one, or in a line of the shell.

A process of its own shows what only it has: pipes that close, signals, forks, what start-up imports. Everything else,
tables of cases above all, runs :func:`within` this process, which spares the second or so that a start costs.
"""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from multiprocessing import resource_tracker
from pathlib import Path
from unittest import mock

SAID_BY_A_WORKER = "Traceback: out of luck"
"""What ``tests/rollouts/faulty_worker.py`` prints before it dies; the command repeats it as the reason."""

ENVIRONMENT = {**os.environ, "NO_COLOR": "1", "PYTHONWARNINGS": "error::ResourceWarning"}

Done = subprocess.CompletedProcess[bytes]


def xskill(
    *args: str | Path,
    stdin: bytes | str | None = None,
    check: int | None = 0,
    cwd: Path | None = None,
    env: Mapping[str, str] = ENVIRONMENT,
    timeout: float = 120,
) -> Done:
    """Run ``xskill ARGS``; ``check`` is the exit code that is expected (None = any)."""
    done = subprocess.run(
        [sys.executable, "-m", "xskill", *map(str, args)],
        input=_encoded(stdin),
        capture_output=True,
        env=env,
        cwd=cwd,
        timeout=timeout,
    )
    return _checked(done, check)


def within(
    *args: str | Path,
    stdin: bytes | str | None = None,
    check: int | None = 0,
    cwd: Path | None = None,
    env: Mapping[str, str] = ENVIRONMENT,
) -> Done:
    """The same in this process: no second Python starts, so that a table of cases costs little.

    The command gets pipes as descriptors 0 to 2, the environment and the warnings of a process of its own, and what
    it changes in this one is put back. It sees other threads and therefore never forks. Not for ``xskill worker``,
    which takes over the standard streams and Ctrl-C for good.
    """
    from xskill.cli import main

    words = ["xskill", *map(str, args)]
    code = 0
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, dict(env), clear=True))
        stack.enter_context(mock.patch.object(sys, "argv", words))
        stack.enter_context(contextlib.chdir(cwd or os.getcwd()))
        stack.enter_context(_own_collector())
        output = stack.enter_context(_own_streams(_encoded(stdin)))
        stack.enter_context(_own_warnings())
        try:
            main()
        except SystemExit as leaving:
            code = int(str(leaving.code or 0))
        gc.collect()  # as at the end of a process: what was never closed is told now
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        os.unsetenv("OPENBLAS_NUM_THREADS")  # main sets it behind the back of os.environ
    return _checked(subprocess.CompletedProcess(words, code, *output), check)


def pipeline(command: str, cwd: Path | None = None) -> Done:
    """Run a shell line in which ``xskill`` is the command of this checkout, with ``pipefail``."""
    text = command.replace("xskill ", f"{sys.executable} -m xskill ")
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", text], capture_output=True, env=ENVIRONMENT, cwd=cwd, timeout=120
    )


def run_with(jobs: str) -> Callable[..., Done]:
    """:func:`within` for ``-j 1``; more jobs need a process of its own, which has no threads and forks them."""
    return within if jobs == "1" else xskill


def in_text(run: Callable[..., Done]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """:func:`xskill` or :func:`within` with its output as text; any exit code is expected."""

    def run_in_text(*args: object, **choices: object) -> subprocess.CompletedProcess[str]:
        done = run(*args, **{"check": None, **choices})
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run_in_text


def _encoded(text: bytes | str | None) -> bytes:
    return text.encode() if isinstance(text, str) else text or b""


def _checked(done: Done, check: int | None) -> Done:
    error = done.stderr.decode()
    assert "Traceback" not in error.replace(SAID_BY_A_WORKER, ""), error
    if check is not None:
        assert done.returncode == check, f"exit {done.returncode}: {error}"
    return done


@contextlib.contextmanager
def _own_collector() -> Iterator[None]:
    """What this process holds already is no garbage of the command's, and the command's choice of threshold ends."""
    threshold = gc.get_threshold()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*threshold)


@contextlib.contextmanager
def _own_warnings() -> Iterator[None]:
    """Warnings as Python's own defaults and the environment have them, on standard error and not in pytest's list."""

    def show(message: Warning | str, category: type[Warning], name: str, line: int, *_: object) -> None:
        sys.stderr.write(warnings.formatwarning(message, category, name, line))

    with warnings.catch_warnings(), mock.patch.object(sys, "unraisablehook", sys.__unraisablehook__):
        warnings.resetwarnings()
        for ignored in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", ignored)
        if os.environ.get("PYTHONWARNINGS") == ENVIRONMENT["PYTHONWARNINGS"]:
            warnings.simplefilter("error", ResourceWarning)
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def _own_streams(given: bytes) -> Iterator[list[bytes]]:
    """Pipes as the standard streams; in the list, after the block, is what came out of the two."""
    resource_tracker.ensure_running()  # started by the command it would outlive it, and keep the pipes open
    output = [b"", b""]
    before = [os.dup(number) for number in range(3)]
    read, write = os.pipe()
    threads = [threading.Thread(target=_feed, args=(write, given))]
    _become(read, 0)
    for index, number in enumerate((1, 2)):
        read, write = os.pipe()
        threads.append(threading.Thread(target=_drain, args=(read, output, index)))
        _become(write, number)
    for thread in threads:
        thread.start()
    out, err = sys.__stdout__, sys.__stderr__
    assert out is not None
    assert err is not None
    try:
        with (
            open(0, encoding=out.encoding, errors=out.errors, closefd=False) as stdin,
            open(1, "w", encoding=out.encoding, errors=out.errors, closefd=False) as stdout,
            open(2, "w", 1, encoding=err.encoding, errors="backslashreplace", closefd=False) as stderr,
            mock.patch.multiple(sys, stdin=stdin, stdout=stdout, stderr=stderr),
        ):
            yield output
    finally:
        for number, descriptor in enumerate(before):
            _become(descriptor, number)
        for thread in threads:
            thread.join()


def _become(descriptor: int, number: int) -> None:
    os.dup2(descriptor, number)
    os.close(descriptor)


def _feed(descriptor: int, given: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(descriptor, "wb", buffering=0) as pipe:
        rest = memoryview(given)
        while rest:
            rest = rest[pipe.write(rest) :]


def _drain(descriptor: int, output: list[bytes], index: int) -> None:
    with open(descriptor, "rb") as pipe:
        output[index] = pipe.read()
