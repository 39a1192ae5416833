"""The command with its output as text, and workers that go wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from tests import command

FAULTY = Path(__file__).with_name("faulty_worker.py")

xskill = command.in_text(partial(command.xskill, env=os.environ))
within = command.in_text(partial(command.within, env=os.environ))


def write_tasks(path: Path, n: int) -> Path:
    path.write_text("".join(json.dumps({"id": f"q{i}", "task": f"number {i}"}) + "\n" for i in range(n)))
    return path


def faulty(*fault: str | Path) -> str:
    """The worker command of ``faulty_worker.py``."""
    return " ".join([sys.executable, str(FAULTY), *map(str, fault)])


def assert_ended(mark: str) -> None:
    """No process with ``mark`` in its command line is left, be it after a while."""
    for _ in range(600):
        running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        if mark not in running:
            return
        time.sleep(0.1)
    raise AssertionError(f"still running: {mark}")


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]
