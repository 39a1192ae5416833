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

from tests.cli.test_cli import every_command
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

EVERY_COMMAND = """\
canon raw.jsonl
mine
tree show tree
tree stats tree --json
tree diff tree tree
tree tile --tree tree
tree instances --tree tree rollouts.jsonl
tree reward --tree tree rollouts.jsonl
tree context --tree tree rollouts.jsonl
tree explore tree
rollout build rollouts.jsonl --json
rollout show rollouts.jsonl
rollout check rollouts.jsonl
credit rollouts.jsonl
distill rollouts.jsonl
bank show bank
bank retrieve --bank bank --task look
bank export bank --as prompt
bank import empty.json
bank apply --bank bank edits
bank diff --bank bank bank
bank sft --bank bank rollouts.jsonl
gate results results
head -n 1
check
schema trajectory
stats
filter success
split
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with something for every command to read."""
    folder = tmp_path_factory.mktemp("inputs")

    def write(name: str, *records: object) -> None:
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))

    steps = [[{"action": word, "observation": f"saw {word}"} for word in ("look", last)] for last in ("left", "right")]
    write("raw.jsonl", *({"id": f"r{n}", "steps": one, "success": n == 0} for n, one in enumerate(steps)))
    rows = enumerate(steps)
    link = {"question_id": "q", "task": "find it", "task_type": "find"}
    write(
        "rollouts.jsonl",
        *({"id": f"r{n}", **link, "actions": [step["action"] for step in one], "steps": one, "reward": 1.0 - n}
          for n, one in rows),
    )  # fmt: skip
    write("results", *({"task_id": f"t{n}", "metrics": {"success": n > 3}} for n in range(9)))
    skill = {"schema": "xskill.skill/1", "id": "s", "tier": "general", "title": "Look", "principle": "Look first."}
    write("bank", skill)
    write("edits", {"schema": "xskill.edit/1", "op": "delete", "target": "s"})
    write("empty.json", {"general_skills": []})
    within("mine", "-o", folder / "tree", stdin=LINES)
    return folder


@pytest.mark.parametrize("line", EVERY_COMMAND.splitlines())
def test_every_command_is_the_same_in_a_process_of_its_own(line: str, inputs: Path) -> None:
    ours, theirs = (run(*line.split(), stdin=LINES, check=None, cwd=inputs) for run in (within, xskill))
    assert ours.returncode == theirs.returncode == 0, theirs.stderr.decode()
    assert ours.stdout == theirs.stdout
    assert _untimed(ours.stderr) == _untimed(theirs.stderr)


def test_no_command_is_left_out() -> None:
    listed = {" ".join(line.split()[: len(path)]) for path in every_command() for line in EVERY_COMMAND.splitlines()}
    missing = {" ".join(path) for path in every_command() if path[0] != "worker"} - listed
    starting_processes = {"rollout expand", "rollout puct", "bank evaluate", "bank ablate"}
    assert missing == starting_processes  # the user's; tests/rollouts and tests/bank run them


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
