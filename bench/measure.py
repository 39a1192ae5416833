"""Whole-process timings and peak memory, and the machine they were taken on."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
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
    """Peak resident memory of the process, or of one of its workers if that has more, in MB."""


def run(command: list[str], stdin: Path | None = None) -> Usage:
    """Run a command, its output thrown away, and measure it; a failure is an error."""
    with open(stdin or os.devnull, "rb") as source, tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        child = subprocess.Popen(command, stdin=source, stdout=subprocess.DEVNULL, stderr=errors)
        peak, pid, status = 0.0, 0, 0
        while not pid:
            # The kernel's own ru_maxrss would include this process, whose memory the child shares until it execs.
            peak = max(peak, *map(peak_mb, (child.pid, *_workers(child.pid))))
            time.sleep(0.005)
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        seconds = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            errors.seek(0)
            sys.exit(f"{' '.join(command)} left with {child.returncode}: {errors.read().decode()}")
    return Usage(seconds, usage.ru_utime + usage.ru_stime, peak)


def peak_mb(pid: int | str = "self") -> float:
    """Largest resident memory of a living process so far, in MB; 0 where /proc does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def _workers(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def machine() -> str:
    """The machine in a few words."""
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return f"{os.cpu_count()} cores, {model}, Python {platform.python_version()}"
