"""Worker processes: no trace of them, in memory or on stderr, however the parent ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO

import pytest

from tests.command import ENVIRONMENT, xskill
from xskill.errors import BadRecord, XskillError
from xskill.process.pool import open_pool

LINE = '{"steps": [{"action": "go to fridge 1", "observation": "You arrive at fridge 1."}]}'

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture(params=["fork", "spawn"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """With another thread in the process workers are spawned."""
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    if request.param == "spawn":
        thread.start()
    yield request.param
    end.set()


def test_results_are_those_of_their_calls(way: str) -> None:
    with open_pool(3) as pool:
        jobs = [pool.submit(divmod, number, 7) for number in range(50)]
        assert [pool.result(job) for job in reversed(jobs)] == [divmod(number, 7) for number in reversed(range(50))]


def test_results_larger_than_a_pipe_holds(way: str) -> None:
    with open_pool(2) as pool:
        jobs = [pool.submit(bytes.replace, b"a" * 300_000, b"a", b"bcd") for _ in range(6)]
        assert all(pool.result(job) == b"bcd" * 300_000 for job in jobs)


def test_an_error_comes_back_and_the_worker_goes_on(way: str) -> None:
    with open_pool(1) as pool:
        failing = pool.submit(_refuse)
        following = pool.submit(len, "abc")
        with pytest.raises(BadRecord) as told:
            pool.result(failing)
        assert (told.value.reason, told.value.line) == ("no", 3)
        assert pool.result(following) == 3


def _refuse() -> None:
    raise BadRecord("no", line=3)


def test_a_dead_worker_is_told(way: str) -> None:
    with open_pool(2) as pool, pytest.raises(XskillError, match="worker process died"):
        pool.result(pool.submit(os._exit, 1))


def test_what_a_worker_begins_with(way: str) -> None:
    with open_pool(1, _begin) as pool:
        assert pool.result(pool.submit(os.getenv, "XSKILL_TEST_BEGUN")) == "yes"
    assert "XSKILL_TEST_BEGUN" not in os.environ


def _begin() -> None:
    os.environ["XSKILL_TEST_BEGUN"] = "yes"


ENDS = [(signal.SIGINT, 130, "xskill: interrupted\n"), (signal.SIGTERM, -15, ""), (signal.SIGKILL, -9, "")]


@linux
@pytest.mark.parametrize("at_work", [False, True])
@pytest.mark.parametrize(("how", "code", "told"), ENDS)
def test_canon_leaves_nothing_behind(how: signal.Signals, code: int, told: str, at_work: bool) -> None:
    endless = subprocess.Popen(["yes", LINE], stdout=subprocess.PIPE)
    running = _Running("canon", "-j", "3", stdin=endless.stdout)
    try:
        running.wait_for_processes(4)
        if at_work:
            assert running.process.stdout is not None
            assert len(running.process.stdout.read(1 << 20)) == 1 << 20
        running.end(how, code, told)
    finally:
        endless.kill()
        endless.communicate()


@linux
@pytest.mark.parametrize(("how", "code", "told"), ENDS)
def test_mine_leaves_nothing_behind(
    how: signal.Signals, code: int, told: str, tmp_path: Path, sample_data: Path
) -> None:
    xskill("canon", sample_data / "alfworld.jsonl.gz", "-o", tmp_path / "x")
    running = _Running("mine", str(tmp_path / "x"), "--permutations", "100000000", "-j", "2")
    running.wait_for_processes(3)
    running.end(how, code, told)


class _Running:
    """A command in a session of its own; its processes, also orphans, are known by a word in their environment."""

    def __init__(self, *args: str, stdin: IO[bytes] | None = None) -> None:
        self.word = uuid.uuid4().hex.encode()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "xskill", *args],
            stdin=stdin if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**ENVIRONMENT, "XSKILL_TEST_RUN": self.word.decode()},
            start_new_session=True,
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
        )

    def alive(self) -> int:
        found = 0
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                found += self.word in environ.read_bytes()
            except OSError:
                continue
        return found

    def wait_for_processes(self, n: int) -> None:
        """Wait until there are just so many, the command included."""
        deadline = time.monotonic() + 60
        while self.alive() != n:
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def end(self, how: signal.Signals, code: int, told: str) -> None:
        """Ctrl-C goes to all processes of a terminal, the others to one."""
        if how == signal.SIGINT:
            os.killpg(self.process.pid, how)
        else:
            self.process.send_signal(how)
        _, stderr = self.process.communicate(timeout=60)
        assert (self.process.returncode, stderr.decode()) == (code, told)
        self.wait_for_processes(0)
