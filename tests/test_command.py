"""The command within this process does what it does in one of its own."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from tests.command import ENVIRONMENT, in_text, within, xskill

LINES = "".join(json.dumps({"id": f"e{n}", "actions": ["a", "é", "b"] * n, "success": n > 2}) + "\n" for n in range(6))

SAME = {
    "records on standard output": (("split",), LINES, 0),
    "a table": (("stats",), LINES, 0),
    "help": (("mine", "--help"), "", 0),
    "version": (("--version",), "", 0),
    "no command": ((), "", 2),
    "no such option": (("head", "--nothing"), LINES, 2),
    "empty": (("mine",), "", 66),
    "a missing file": (("check", "nowhere"), "", 66),
    "a bad record": (("split",), LINES + '{"id":3}\n', 65),
    "a binary table": (("filter", "success", "--to", "parquet"), LINES, 0),
    "output under its other name": (("head", "-n", "2", "-o", "/dev/stdout"), LINES, 0),
    "errors under their other name": (("head", "-n", "2", "-o", "/dev/stderr"), LINES, 0),
}


@pytest.mark.parametrize("case", SAME)
def test_the_same_as_in_a_process_of_its_own(case: str, tmp_path: Path) -> None:
    words, given, code = SAME[case]
    ours, theirs = (run(*words, stdin=given, check=code, cwd=tmp_path) for run in (within, xskill))
    assert ours.stdout == theirs.stdout
    assert _untimed(ours.stderr) == _untimed(theirs.stderr)


def _untimed(error: bytes) -> list[bytes]:
    return [line.rsplit(b";", 1)[0] if line.endswith(b" s") else line for line in error.splitlines()]


def test_the_environment_is_that_of_the_caller(tmp_path: Path) -> None:
    xskill("mine", "-o", tmp_path / "tree", stdin=LINES * 3)
    for more in ({"FORCE_COLOR": "1"}, {"FORCE_COLOR": "1", "COLUMNS": "200"}, {}):
        env = {key: value for key, value in ENVIRONMENT.items() if key != "NO_COLOR"} | more
        ours, theirs = (run("tree", "show", tmp_path / "tree", env=env).stdout for run in (within, xskill))
        assert ours == theirs
        assert (b"\x1b[" in ours) == bool(more)


def test_more_than_a_pipe_holds_goes_in_and_out() -> None:
    many = json.dumps({"id": "e", "actions": ["a" * 1000] * 4000}) + "\n"
    assert len(within("head", stdin=many).stdout) > 4_000_000
    within("head", "-n", "1", stdin='{"id":"e","actions":[]}\n' + many * 3)  # nobody reads the rest


def test_nothing_of_it_stays_in_this_process(tmp_path: Path) -> None:
    def state() -> tuple[object, ...]:
        handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
        files = [os.fstat(number)[:3] for number in range(3)]
        streams = sys.stdin, sys.stdout, sys.stderr
        return handlers, files, streams, sys.argv, dict(os.environ), os.getcwd(), gc.get_threshold(), gc.isenabled()

    before, threads = state(), threading.active_count()
    for words in (("stats",), ("head", "--nothing"), ("check", "nowhere")):
        within(*words, stdin=LINES, check=None, cwd=tmp_path)
        assert state() == before
        assert threading.active_count() == threads
    assert os.popen("echo $OPENBLAS_NUM_THREADS").read() == os.environ.get("OPENBLAS_NUM_THREADS", "") + "\n"


def test_output_as_text() -> None:
    done = in_text(within)("split", "nowhere")
    assert done.returncode == 66
    assert "nowhere: no such file" in done.stderr
    assert in_text(xskill)("--version").stdout == in_text(within)("--version").stdout
