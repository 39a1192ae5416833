"""The command as a whole: help, exit codes, pipes, start-up."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from tests.command import ENVIRONMENT, pipeline, xskill
from xskill import __version__
from xskill.cli import COMMANDS, app

LINE = json.dumps({"id": "a", "actions": ["x"]}).encode() + b"\n"


def every_command() -> list[tuple[str, ...]]:
    """Paths of all commands and subcommands."""
    group = typer.main.get_command(app)
    paths: list[tuple[str, ...]] = []
    for name in COMMANDS:
        command = group.get_command(None, name)
        inner = getattr(command, "commands", None)
        paths += [(name, sub) for sub in inner] if inner else [(name,)]
    return paths


@pytest.mark.parametrize("path", every_command(), ids=" ".join)
def test_every_help_starts_with_an_example(path: tuple[str, ...]) -> None:
    text = xskill(*path, "--help").stdout.decode()
    body = text.split("\n\n", 1)[1]
    assert body.strip().startswith("Example: "), text
    assert f"xskill {' '.join(path)}" in " ".join(body.split()), "the example shows another command"


@pytest.mark.parametrize("path", every_command(), ids=" ".join)
def test_every_command_is_in_the_readme(path: tuple[str, ...]) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    assert re.search(rf"`xskill {' '.join(path)}[ `]", readme), f"README.md lacks {' '.join(path)}"


def test_version_and_help() -> None:
    assert xskill("--version").stdout.decode() == f"xskill {__version__}\n"
    text = xskill("--help").stdout.decode()
    assert text.split("\n\n")[1].strip().startswith("Example: xskill canon")
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", text, re.M)


def test_unknown_command_is_usage() -> None:
    assert b"No such command 'minne'" in xskill("minne", check=2).stderr


def test_a_pipe_ends_with_its_reader_and_quietly() -> None:
    """The input has no end, so that only a command that stops with its reader ends at all."""
    done = pipeline(f"yes '{LINE.decode().strip()}' | xskill split | head -n 1")
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == b""
    assert done.returncode == 141


def test_a_live_log_flows_through_a_pipe() -> None:
    """Each record comes out before the next one goes in, however long the log is silent."""
    command = [sys.executable, "-m", "xskill", "split"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdin is not None
    assert child.stdout is not None
    for name in ("first", "second", "third"):
        child.stdin.write(LINE.replace(b'"a"', f'"{name}"'.encode()))
        child.stdin.flush()
        assert json.loads(child.stdout.readline())["id"] == name
    child.stdin.close()
    child.wait()
    child.stdout.close()


def test_interrupt_is_130() -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "xskill", "split"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(LINE)
    child.stdin.flush()
    child.stdout.readline()  # now it waits for more
    child.send_signal(2)
    _, error = child.communicate(timeout=60)
    assert child.returncode == 130
    assert b"Traceback" not in error


def test_quiet_says_nothing() -> None:
    assert xskill("stats", "--quiet", stdin=LINE).stderr == b""
    assert len(xskill("stats", stdin=LINE).stderr.splitlines()) == 1


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv=['xskill','--help']\nfrom xskill.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    )
    code += "print([m for m in ('numpy','polars','orjson','msgspec','xskill.records') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.decode().splitlines()[-1] == "[]"


def cpu_seconds(command: list[str]) -> float:
    """Processor time of one run: what else the machine does hardly shows in it."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return used.ru_utime + used.ru_stime


def median_ratio(command: list[str], base: list[str], runs: int = 9) -> float:
    """Median over pairs of runs of processor time(command) / processor time(base)."""
    return statistics.median(cpu_seconds(command) / cpu_seconds(base) for _ in range(runs))


def test_start_up_costs_what_typer_costs(tmp_path: Path) -> None:
    """Bars of the design: 1.3x of a two-command typer app, 1.5x of the bare imports."""
    small, two = tmp_path / "small.jsonl", tmp_path / "two.py"
    small.write_bytes(LINE)
    two.write_text(
        "import typer\napp = typer.Typer()\n"
        "@app.command()\ndef one(n: int = 1): 'First.'\n@app.command()\ndef two(s: str = ''): 'Second.'\napp()\n"
    )
    run = [sys.executable, "-m", "xskill"]
    assert median_ratio([*run, "--help"], [sys.executable, str(two), "--help"]) < 1.3
    assert median_ratio([*run, "head", "-n", "1", str(small)], [sys.executable, "-c", "import typer, rich"]) < 1.5
