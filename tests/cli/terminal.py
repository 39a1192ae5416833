"""The real command on a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

from tests.command import ENVIRONMENT


def on_terminal(*words: str | Path) -> tuple[int, str]:
    """Exit code and what the terminal got of ``xskill WORDS``, with stdout and stderr on it, 80 columns wide."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-m", "xskill", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=ENVIRONMENT,
    )
    os.close(theirs)
    got = b""
    try:
        while block := os.read(ours, 1 << 16):
            got += block
    except OSError:  # how Linux says that the other side is gone
        pass
    os.close(ours)
    return child.wait(), got.decode()


def with_terminal_on_stdin(*words: str | Path) -> subprocess.CompletedProcess[bytes]:
    """Run ``xskill WORDS`` while a person could type, but does not."""
    ours, theirs = pty.openpty()
    try:
        return subprocess.run(
            [sys.executable, "-m", "xskill", *map(str, words)],
            stdin=theirs,
            capture_output=True,
            env=ENVIRONMENT,
            timeout=60,
        )
    finally:
        os.close(ours)
        os.close(theirs)
