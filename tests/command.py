"""The real command in a subprocess."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ENVIRONMENT = {**os.environ, "NO_COLOR": "1", "PYTHONWARNINGS": "error::ResourceWarning"}


def xskill(
    *args: str | Path, stdin: bytes | str | None = None, check: int | None = 0, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run ``xskill ARGS``; ``check`` is the exit code that is expected (None = any)."""
    done = subprocess.run(
        [sys.executable, "-m", "xskill", *map(str, args)],
        input=stdin.encode() if isinstance(stdin, str) else stdin or b"",
        capture_output=True,
        env=ENVIRONMENT,
        cwd=cwd,
        timeout=120,
    )
    error = done.stderr.decode()
    assert "Traceback" not in error, error
    if check is not None:
        assert done.returncode == check, f"exit {done.returncode}: {error}"
    return done


def pipeline(command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a shell line in which ``xskill`` is the command of this checkout, with ``pipefail``."""
    text = command.replace("xskill ", f"{sys.executable} -m xskill ")
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", text], capture_output=True, env=ENVIRONMENT, cwd=cwd, timeout=120
    )
