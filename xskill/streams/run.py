"""One run of a command: what it counted, what it rejected, and the one line it says at the end."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from xskill.errors import BadData, BadRecord, NoRecord, XskillError
from xskill.process.standard import hide_bar, show_bar
from xskill.streams.atomic import AtomicFile
from xskill.streams.source import Input

_PROGRESS_EVERY = 0.2


class Run:
    """Counters, progress and rejects of one command; use it as a context manager.

    Attributes:
        read: records met in the input, bad ones included.
        kept: records that went on.
        dropped: reason → number of records left out on purpose.
        rejected: number of bad records.
        place: (file, line) of the record that was yielded last, for a command that finds fault with it.

    Args:
        command: name in the summary line.
        quiet: no progress, no notes, no summary (errors are always said).
        rejects: file for the bad records; without it the first bad record stops the run.
        summary: whether to say the counts at the end.
    """

    def __init__(self, command: str, *, quiet: bool = False, rejects: str | None = None, summary: bool = True) -> None:
        self.command = command
        self.quiet = quiet
        self._says_counts = summary
        self.read = 0
        self.kept = 0
        self.dropped: Counter[str] = Counter()
        self.rejected = 0
        self.place: tuple[str, int] = ("", 0)
        self._notes: set[str] = set()
        self._summary: list[str] = []
        self._rejects = AtomicFile(rejects) if rejects is not None else None
        self._started = time.perf_counter()
        self._bar: Any = None
        self._inputs: list[tuple[str, int]] = []
        self._next_progress = 0.0

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_bar()
        if self._rejects is not None:
            if kind is None or issubclass(kind, XskillError):
                self._rejects.commit()
            else:
                self._rejects.discard()
        if kind is None and self._says_counts and not self.quiet:
            print(self._line(), file=sys.stderr)

    def drop(self, reason: str, n: int = 1) -> None:
        """Count ``n`` records, already counted as kept, as left out."""
        self.kept -= n
        self.dropped[reason] += n

    def unreadable(self, error: BadRecord) -> None:
        """The same as :meth:`bad` for a record that was not counted as read yet."""
        self.read += 1
        self.bad(error)

    def bad(self, error: BadRecord) -> None:
        """Write the bad record to the rejects file, or raise it when there is none."""
        if self._rejects is None:
            raise error
        import json  # here and below: a command that has nothing to say starts without it

        self.rejected += 1
        row: dict[str, Any] = {"file": error.file, "line": error.line, "reason": error.what}
        if error.byte is not None:
            row["byte"] = error.byte
        if error.raw is not None:
            row["raw"] = error.raw.decode("utf-8", "replace")
        self._rejects.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    @property
    def keeps_rejects(self) -> bool:
        """Whether bad records are kept aside instead of stopping the run."""
        return self._rejects is not None

    def note(self, text: str) -> None:
        """Say one sentence on stderr, once."""
        if not self.quiet and text not in self._notes:
            self._notes.add(text)
            self._clear_bar()
            print(f"xskill {self.command}: {_clean_line(text)}", file=sys.stderr)

    def set_summary(self, text: str) -> None:
        """Add a part to the summary line."""
        self._summary.append(text)

    def start_input(self, source: Input) -> None:
        """Note that an input begins; shows the progress bar when stderr is a terminal."""
        self._close_bar()
        if self.quiet or not sys.stderr.isatty():
            return
        from tqdm import tqdm

        self._bar = tqdm(
            total=source.size,
            unit="B",
            unit_scale=True,
            desc=_clean_line(source.name),
            file=sys.stderr,
            leave=False,
            dynamic_ncols=True,
        )
        show_bar(self._bar.clear)

    def progress(self, source: Input) -> None:
        """Move the bar to where the input is; cheap, and nothing without a bar."""
        if self._bar is None:
            return
        now = time.perf_counter()
        if now >= self._next_progress:
            self._next_progress = now + _PROGRESS_EVERY
            self._bar.update(source.position() - self._bar.n)

    def end_input(self, source: Input, records: int, name: str | None = None) -> None:
        """Note that an input gave ``records`` records; ``name`` is what it is called, if not as the user wrote it."""
        self._close_bar()
        self._inputs.append((name or source.name, records))

    def check_input(self, files: Sequence[str] = ()) -> None:
        """Call after the last input: an empty one among several is only said.

        Args:
            files: the inputs, where :meth:`end_input` was not called for each.

        Raises:
            NoRecord: there was no record at all.
            BadData: there were records, and all were bad.
        """
        if self.read == 0:
            names = [name for name, _ in self._inputs] or files
            raise NoRecord(f"{', '.join(names) or '-'}: no record in the input")
        for name, records in self._inputs:
            if records == 0:
                self.note(f"{name}: no record in it")
        if self.rejected and self.kept == 0 and not self.dropped:
            raise BadData(f"no good record: {self.rejected:,} rejected, see the rejects file")

    def _line(self) -> str:
        parts = [f"read {self.read:,}", f"kept {self.kept:,}"]
        if self.dropped:
            why = ", ".join(f"{n:,} {reason}" for reason, n in sorted(self.dropped.items()))
            parts.append(f"dropped {sum(self.dropped.values()):,} ({why})")
        if self.rejected:
            parts.append(f"rejected {self.rejected:,}")
        parts += self._summary
        seconds = time.perf_counter() - self._started
        return f"xskill {self.command}: {_clean_line('; '.join(parts))}; {seconds:.2f} s"

    def _clear_bar(self) -> None:
        if self._bar is not None:
            self._bar.clear()

    def _close_bar(self) -> None:
        if self._bar is not None:
            hide_bar(self._bar.clear)
            self._bar.close()
            self._bar = None


class PythonRun(Run):
    """The run behind a call from Python: it prints nothing, and the first bad record is raised.

    What a command would say in a sentence of its own goes to the logger ``xskill``, as a warning.
    """

    def __init__(self, command: str) -> None:
        super().__init__(command, quiet=True)

    def note(self, text: str) -> None:
        """Log one sentence, once."""
        if text not in self._notes:
            self._notes.add(text)
            import logging

            logging.getLogger("xskill").warning("%s: %s", self.command, _clean_line(text))


def _clean_line(text: str) -> str:
    from xskill.text.terminal import clean_line

    return clean_line(text)
