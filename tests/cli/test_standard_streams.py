"""Standard streams that are full, closed, or a terminal: one line and an exit code, never a traceback or a wait."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import on_terminal, with_terminal_on_stdin
from tests.command import ENVIRONMENT

LINE = json.dumps(
    {
        "schema": "xskill.trajectory/1",
        "id": "a",
        "question_id": "q",
        "task": "t",
        "reward": 1.0,
        "actions": ["x"],
        "steps": [{"action": "x"}],
    }
)
WORDS = [
    *("--help", "--version", "split --help", "schema", "canon --list-formats"),
    *("split F", "split F --to parquet", "stats F", "check F", "head F", "filter true F", "canon F", "mine F"),
    *("credit F", "credit F --to parquet", "rollout show F", "rollout build F --json", "tree show T"),
]


def shell(words: str, redirection: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    line = words.replace(" F", f" {folder}/in.jsonl").replace(" T", f" {folder}/tree.jsonl")
    command = f"{sys.executable} -m xskill {line} {redirection}"
    return subprocess.run(["bash", "-c", command], capture_output=True, env=ENVIRONMENT, cwd=folder, timeout=120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("streams")
    (path / "in.jsonl").write_text(LINE + "\n")
    (path / "tree.jsonl").write_text('{"schema":"xskill.tree/1","n_nodes":0}\n')
    return path


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_output_that_cannot_be_written_is_74(words: str, redirection: str, folder: Path) -> None:
    done = shell(words, redirection, folder)
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("xskill: ")
    assert "write" in line
    assert done.returncode == 74


@pytest.mark.parametrize("words", ["split F -o out.jsonl", "stats F"])
def test_nothing_is_lost_when_stderr_is_closed(words: str, folder: Path) -> None:
    """What would go there must not land in the next file that is opened, nor among the data."""
    done = shell(words, "2>&-", folder)
    assert done.returncode == 0
    assert b"xskill" not in done.stdout
    if "-o" in words:
        assert [json.loads(line)["id"] for line in (folder / "out.jsonl").read_text().splitlines()] == ["a"]


@pytest.mark.parametrize("words", ["split", "mine -", "tree show", "bank show", "bank import", "rollout show", "check"])
def test_closed_input_is_no_input(words: str, folder: Path) -> None:
    done = shell(words, "<&-", folder)
    assert done.returncode == 66
    assert done.stderr.decode() == "xskill: -: standard input is closed\n"


@pytest.mark.parametrize(
    "words",
    [
        *("stats -", "filter true -", "check -", "canon -j 2 -", "tree show -", "tree diff - T", "gate - F"),
        *("bank show", "bank import", "bank diff --bank F", "rollout expand -w true -"),
    ],
)
def test_a_terminal_on_stdin_is_no_input_even_when_named(words: str, folder: Path) -> None:
    line = words.replace(" F", f" {folder}/bank.jsonl").replace(" T", f" {folder}/tree.jsonl")
    (folder / "bank.jsonl").write_text('{"schema":"xskill.bank/1","version":"v"}\n')
    done = with_terminal_on_stdin(*line.split())
    assert done.returncode == 2
    assert done.stdout.startswith(b"Usage: xskill " + words.split()[0].encode())


@pytest.mark.parametrize("words", ["stats", "rollout build --json", "split"])
def test_the_bar_is_gone_before_text_comes(words: str, folder: Path) -> None:
    """The last thing on the line before the report is a return to its start, after blanks over the bar."""
    code, got = on_terminal(*words.split(), folder / "in.jsonl")
    assert code == 0
    bar, blank, text = got.split("\r")[1:4]
    assert "in.jsonl:   0%|" in bar
    assert blank.isspace()
    assert len(blank) >= len(bar.rstrip())
    assert text.startswith(("episodes", "{"))


def test_a_pipe_by_its_device_name(folder: Path) -> None:
    """`-o /dev/stdout` into a pipe: a link to what has no name, written straight."""
    assert shell("split F -q -o /dev/stdout", "| cat", folder).stdout.count(b"\n") == 1
    assert shell("split F -q --to parquet -o /dev/stdout", "| cat", folder).stdout[:4] == b"PAR1"
    assert shell("split F -q -o /dev/full", "", folder).returncode == 74
    assert shell("split F -q --to parquet -o /dev/full", "", folder).returncode == 74


UNBUFFERED = {**ENVIRONMENT, "PYTHONUNBUFFERED": "1"}


def long_output(folder: Path) -> Path:
    """A file whose records are 4 MB, more than a pipe holds."""
    path = folder / "long.jsonl"
    texts = [random.Random(i).randbytes(2000).hex() for i in range(1000)]
    path.write_text("".join(LINE.replace('"t"', f'"{text}"') + "\n" for text in texts))
    return path


@pytest.mark.parametrize("words", ["filter true F --to parquet", "filter true F"])
def test_all_is_written_without_a_buffer_to_a_pipe_that_does_not_block(words: str, tmp_path: Path) -> None:
    """As node.js and ssh give their children."""
    command = [sys.executable, "-m", "xskill", *words.replace("F", str(long_output(tmp_path))).split()]
    expected = subprocess.run(command, capture_output=True, env=ENVIRONMENT, check=True).stdout
    read, write = os.pipe()
    os.set_blocking(write, False)
    with (
        subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, env=UNBUFFERED) as process,
        open(read, "rb") as out,
    ):
        os.close(write)
        assert out.read() == expected
    assert process.returncode == 0


def test_an_early_end_of_the_reader_is_seen_without_a_buffer(tmp_path: Path) -> None:
    command = f"{sys.executable} -m xskill filter true --to parquet {long_output(tmp_path)} | head -c 10 | wc -c"
    done = subprocess.run(["bash", "-c", command + "; echo ${PIPESTATUS[0]}"], capture_output=True, env=UNBUFFERED)
    assert done.stdout.split() == [b"10", b"141"]
