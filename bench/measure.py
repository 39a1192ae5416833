"""Whole-process timings and peak memory, and the machine they were taken on."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

XSKILL = [sys.executable, "-m", "xskill"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Cost of one finished process."""

    seconds: float
    """Wall time."""
    cpu: float
    """User and system time."""
    peak_mb: float
    """Peak resident memory of the process (not of its children), in MB."""


def run(command: list[str], stdin: Path | None = None) -> Usage:
    """Run a command, its output thrown away, and measure it; a failure is an error."""
    with open(stdin or os.devnull, "rb") as source:
        started = time.perf_counter()
        child = subprocess.Popen(command, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert child.stderr is not None
        error = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - started
        child.stderr.close()
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(command)} left with {child.returncode}: {error.decode()}")
    return Usage(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def machine() -> str:
    """The machine in a few words."""
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return f"{os.cpu_count()} cores, {model}, Python {platform.python_version()}"
