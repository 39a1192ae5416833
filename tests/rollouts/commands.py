"""Run the real command, the way a user does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FAULTY = Path(__file__).with_name("faulty_worker.py")


def xskill(*arguments: str | Path, stdin: str | None = None, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "xskill", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=os.environ,  # and not what a command that ran in this very process set for itself
    )


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
