"""The console blocks of the pages: commands that are run, and what they print.

A block marked ``console`` holds commands (lines that begin with ``$ ``, and ``> `` where they go on) and, below each,
what it writes to stdout. The blocks of one page are one session: they run in order in one folder that holds
``sample_data``. A block marked ``bash`` is shown and not run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CLOSED_PIPE = 141
_FENCE = re.compile(r"(?P<open>^```console\n)(?P<body>.*?)(?P<close>^```$)", re.M | re.S)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One command of a page and what the page says that it prints."""

    command: str
    """As the page shows it, without ``$ `` and ``> ``."""
    output: str


def exchanges(page: str) -> Iterator[Exchange]:
    """The commands of all console blocks of a page, in order."""
    for block in _FENCE.finditer(page):
        yield from _parse(block["body"])


def _parse(body: str) -> Iterator[Exchange]:
    command: list[str] = []
    output: list[str] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            if command:
                yield Exchange("\n".join(command), _joined(output))
            command, output = [line[2:]], []
        elif command and not output and (line == ">" or line.startswith("> ")):
            command.append(line[2:])
        else:
            output.append(line)
    if command:
        yield Exchange("\n".join(command), _joined(output))


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


class Session:
    """A folder in which the commands of one page run, one after the other.

    Args:
        folder: an empty folder; ``sample_data`` is linked into it.
        root: of the repository.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder = folder
        (folder / "sample_data").symlink_to(root / "sample_data")
        tools = folder / ".bin"
        tools.mkdir()
        program = tools / "xskill"
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m xskill "$@"\n')
        program.chmod(0o755)
        python = tools / "python"
        python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
        python.chmod(0o755)
        path = f"{tools}{os.pathsep}{os.environ['PATH']}"
        self._environment = {
            **os.environ,
            "PATH": path,
            "PYTHONPATH": str(root),
            "NO_COLOR": "1",
            "COLUMNS": "100",
            "LC_ALL": "C.UTF-8",
        }

    def run(self, command: str) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of one command; a pipe that a later command closed early is no failure."""
        done = subprocess.run(
            [shutil.which("bash") or "bash", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        code = 0 if done.returncode == CLOSED_PIPE else done.returncode
        return code, _stripped(done.stdout), done.stderr


def _stripped(text: str) -> str:
    """Lines without spaces at their ends, as editors keep a page."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def renewed(page: str, session: Session) -> str:
    """The page with the output of every command as it is now.

    Raises:
        RuntimeError: a command failed; the text holds what it said.
    """

    def run(block: re.Match[str]) -> str:
        body = ""
        for exchange in _parse(block["body"]):
            code, out, err = session.run(exchange.command)
            if code:
                raise RuntimeError(f"$ {exchange.command}\nexit {code}\n{err}")
            lines = exchange.command.split("\n")
            body += (
                "".join(
                    f"{mark} {line}".rstrip() + "\n"
                    for mark, line in zip("$" + ">" * (len(lines) - 1), lines, strict=True)
                )
                + out
            )
        return block["open"] + body + block["close"]

    return _FENCE.sub(run, page)
