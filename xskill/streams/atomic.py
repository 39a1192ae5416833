"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path
from typing import BinaryIO

from xskill.errors import CannotWrite
from xskill.process.standard import descriptor_of


class AtomicFile:
    """A binary file that replaces ``path`` only on :meth:`commit`.

    It is written beside the target as ``.NAME.xskill-*.tmp`` and held under a lock, so that a later
    run can tell (and clean) what a killed run left from what a live run is still writing. A target
    that is no regular file (``/dev/null``, a FIFO), or is open already (``/dev/stderr``), is written directly; then
    ``special`` is True.

    Raises:
        CannotWrite: the folder is missing or not writable, the disk is full.
    """

    def __init__(self, path: str) -> None:
        import tempfile  # here: a command that writes to stdout starts without it

        already = descriptor_of(path)
        special = already is not None or (os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode))
        self.special = special
        self.path = path if special else os.path.realpath(path)  # the pipe behind /dev/stdout has no other name
        self._shown = path
        self._temporary: str | None = None
        folder, name = os.path.split(self.path)
        try:
            if os.path.isdir(self.path):
                raise CannotWrite(f"{path}: is a directory; name a file")
            if special:
                self.file: BinaryIO = open(self.path if already is None else os.dup(already), "wb")  # noqa: SIM115
                return
            remove_leftovers(self.path)
            handle, self._temporary = tempfile.mkstemp(prefix=f".{name}.xskill-", suffix=".tmp", dir=folder)
            self.file = os.fdopen(handle, "wb", buffering=1 << 18)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.fchmod(handle, self._mode())
        except OSError as error:
            raise CannotWrite(f"{path}: cannot write: {error.strerror}") from None

    @property
    def temporary(self) -> str:
        """Path that is being written now."""
        return self._temporary or self.path

    def write(self, data: bytes) -> None:
        """Append bytes."""
        try:
            self.file.write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise CannotWrite(f"{self._shown}: cannot write: {error.strerror}") from None

    def commit(self) -> None:
        """Make the new content the file: flush, fsync, rename, fsync the folder."""
        try:
            self.file.flush()
            if self._temporary is None:
                self.file.close()
                return
            os.fsync(self.file.fileno())
            os.replace(self._temporary, self.path)
            self._temporary = None
            self.file.close()
            folder = os.open(os.path.dirname(self.path), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise CannotWrite(f"{self._shown}: cannot write: {error.strerror}") from None

    def discard(self) -> None:
        """Leave the old file as it was."""
        with contextlib.suppress(OSError):  # what could not be flushed is thrown away anyhow
            self.file.close()
        if self._temporary is not None:
            Path(self._temporary).unlink(missing_ok=True)
            self._temporary = None

    def _mode(self) -> int:
        if os.path.exists(self.path):
            return stat.S_IMODE(os.stat(self.path).st_mode)
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask


def remove_leftovers(path: str) -> None:
    """Delete temporaries beside ``path`` that no living process holds locked."""
    import glob

    folder, name = os.path.split(path)
    for leftover in Path(folder or ".").glob(f".{glob.escape(name)}.xskill-*.tmp"):
        try:
            handle = os.open(leftover, os.O_RDWR)
        except OSError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            leftover.unlink(missing_ok=True)
        except OSError:
            pass  # another run is writing it
        finally:
            os.close(handle)
