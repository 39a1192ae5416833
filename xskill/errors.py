"""Every way a run can end badly: one type per cause, each with its exit code.

A command never prints a traceback for these: :mod:`xskill.cli` prints ``str(error)`` on one line of
stderr and leaves with ``error.exit_code``. The text says what was found, where, and what to do.
"""

from __future__ import annotations

EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_REJECT = 3
EXIT_INCONCLUSIVE = 4
EXIT_BAD_DATA = 65
EXIT_NO_INPUT = 66
EXIT_CANNOT_WRITE = 74
EXIT_INTERRUPTED = 130
EXIT_CLOSED_PIPE = 141


class XskillError(Exception):
    """Base of all errors that are told to the user in one line."""

    exit_code = EXIT_FAILURE


class UsageError(XskillError):
    """Options that contradict each other, or a value that an option cannot take."""

    exit_code = EXIT_USAGE


class BadPlugIn(XskillError):
    """An installed package that adds a format, a method, a policy or a worker which cannot be used."""


class BadRecord(XskillError):
    """One record that cannot be read or breaks its contract.

    Attributes:
        reason: what is wrong, e.g. ``expected a string, got 12``.
        path: where inside the record, e.g. ``steps[3].action``; empty when the whole record is meant.
        file: name of the input as the user wrote it (``-`` for stdin); None before it is known.
        line: 1-based line (or row) number; None when the container has none.
        byte: 0-based byte offset, for damage that has no line.
        raw: the offending bytes, for the rejects file (None when they were not kept).
    """

    exit_code = EXIT_BAD_DATA

    def __init__(
        self,
        reason: str,
        *,
        path: str = "",
        file: str | None = None,
        line: int | None = None,
        byte: int | None = None,
        raw: bytes | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path
        self.file = file
        self.line = line
        self.byte = byte
        self.raw = raw

    def at(self, file: str, line: int | None = None, *, raw: bytes | None = None) -> BadRecord:
        """Fill in the place where it is not known yet, and return the same error."""
        of_file = self.file is not None and self.byte is not None  # a byte of the file, not of the record
        if self.file is None:
            self.file = file
        if self.line is None and not of_file:
            self.line = line
        if self.raw is None:
            self.raw = raw
        return self

    @property
    def what(self) -> str:
        """Reason with the path inside the record, without the file."""
        return f"{self.path}: {self.reason}" if self.path else self.reason

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place += f":{self.line}"
        elif self.byte is not None:
            place += f": byte {self.byte}"
        return f"{place}: {self.what}" if place else self.what


class BadData(XskillError):
    """Input that as a whole cannot be used (not one record's fault)."""

    exit_code = EXIT_BAD_DATA


class NoSuccess(BadData):
    """A corpus in which every episode with an outcome failed holds no skills."""


class NoInput(XskillError):
    """A file that is missing, empty, a directory that no format claims, or a stream without a record."""

    exit_code = EXIT_NO_INPUT


class NoRecord(NoInput):
    """Inputs that are there and were read, and hold no record at all."""


class CannotWrite(XskillError):
    """The output could not be written (disk full, no permission, not a directory)."""

    exit_code = EXIT_CANNOT_WRITE
