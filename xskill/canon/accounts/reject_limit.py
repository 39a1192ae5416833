"""``--max-rejects N|P%``: how many bad records a run may meet."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xskill.errors import BadData, BadRecord, UsageError

_ENOUGH = 1000
"""Records after which a share is judged while the run goes on."""


@dataclass(frozen=True, slots=True)
class Limit:
    """So many bad records, or so large a share of all."""

    text: str
    number: int | None
    share: float = 1.0

    @staticmethod
    def parse(text: str) -> Limit:
        """Read what the option says.

        Raises:
            UsageError: neither a number nor a percentage.
        """
        match = re.fullmatch(r"(\d{1,15})|(\d{1,3}(?:\.\d{1,9})?)\s?%", text.strip())
        if match is None or (match[2] is not None and float(match[2]) > 100):
            raise UsageError(f"--max-rejects {text}: expected a number of records (20) or a share of them (5%)")
        return Limit(text.strip(), int(match[1])) if match[1] else Limit(text.strip(), None, float(match[2]) / 100)

    def check(self, rejected: int, read: int, last: BadRecord) -> None:
        """Judge while records come; a share only when there are enough of them.

        Raises:
            BadData: there are too many bad ones.
        """
        if rejected > self.number if self.number is not None else read >= _ENOUGH and rejected > self.share * read:
            raise BadData(f"more bad records than --max-rejects {self.text}: {rejected:,} of {read:,}; last: {last}")

    def check_all(self, rejected: int, read: int) -> None:
        """Judge at the end.

        Raises:
            BadData: there are too many bad ones.
        """
        if self.number is None and rejected > self.share * read:
            raise BadData(f"more bad records than --max-rejects {self.text}: {rejected:,} of {read:,}")
