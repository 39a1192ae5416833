"""Run the real command."""

from __future__ import annotations

import subprocess
import sys


def xskill(*arguments, stdin=None, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "xskill.cli", *map(str, arguments)], input=stdin, capture_output=True, text=True, cwd=cwd
    )
