"""The real command in a subprocess."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

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


def within(*args: str | Path, stdin: bytes | str = "", check: int | None = 0) -> subprocess.CompletedProcess[bytes]:
    """The same in this process: no second Python starts, so that a table of cases costs little."""
    from xskill.cli import main

    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    code: object = 0
    words = ["xskill", *map(str, args)]
    with contextlib.ExitStack() as stack:
        given = stack.enter_context(tempfile.TemporaryFile())
        given.write(stdin.encode() if isinstance(stdin, str) else stdin)
        given.seek(0)
        before = os.dup(0)
        stack.callback(os.close, before)
        stack.callback(os.dup2, before, 0)
        os.dup2(given.fileno(), 0)
        for name, stream in (("stdout", out), ("stderr", err)):
            stack.enter_context(mock.patch.object(sys, name, stream))
        stack.enter_context(mock.patch.object(sys, "argv", words))
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code
        out.flush()
    assert code == check or check is None, f"exit {code}: {err.getvalue()}"
    return subprocess.CompletedProcess(words, int(str(code or 0)), out.buffer.getvalue(), err.getvalue().encode())  # type: ignore[attr-defined]


def pipeline(command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a shell line in which ``xskill`` is the command of this checkout, with ``pipefail``."""
    text = command.replace("xskill ", f"{sys.executable} -m xskill ")
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", text], capture_output=True, env=ENVIRONMENT, cwd=cwd, timeout=120
    )
