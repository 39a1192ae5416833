"""What a run of ``canon`` came to; totals of worker processes are added up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from xskill.canon.accounts.conservation import all_lost, largest
from xskill.canon.accounts.report import Loss
from xskill.canon.actions.canonicalizer import Unmatched
from xskill.canon.assemble import Assembler, Counts
from xskill.canon.canon_options import CanonOptions
from xskill.canon.outcome.decide import OptionUse
from xskill.canon.reading.episode import SourceTally


@dataclass(slots=True)
class Totals:
    """What a run came to."""

    counts: Counts = field(default_factory=Counts)
    use: OptionUse = field(default_factory=OptionUse)
    unmatched: Unmatched = field(default_factory=Unmatched)
    redacted: Counter[str] = field(default_factory=Counter)
    tallies: dict[str, SourceTally] = field(default_factory=dict)
    """Per format: what was not carried over."""
    losses: dict[str, Loss] | None = None
    """Per format: the fields that were not carried over; None when no report is wanted."""
    files: int = 0
    unclaimed: int = 0
    """Files of folders that were walked which no format claims."""

    def tally(self, format_name: str) -> SourceTally:
        """The tally of a format."""
        return self.tallies.setdefault(format_name, SourceTally())

    def add(self, other: Totals) -> None:
        """Add what another run (of a worker, or of one input) came to."""
        self.counts.add(other.counts)
        self.unclaimed += other.unclaimed
        self.use.add(other.use)
        self.unmatched.update(other.unmatched)
        self.redacted.update(other.redacted)
        for name, tally in other.tallies.items():
            self.tally(name).add(tally)
        if self.losses is not None and other.losses is not None:
            for name, loss in other.losses.items():
                self.losses.setdefault(name, Loss()).add(loss)

    def collect(self, assembler: Assembler) -> None:
        """Take over what an assembler counted; it counts from zero again."""
        self.counts.add(assembler.counts)
        self.use.add(assembler.outcome.use)
        assembler.counts, assembler.outcome.use = Counts(), OptionUse()
        for name in sorted(assembler.actions):
            canonicalizer = assembler.actions[name].canonicalizer
            self.unmatched.update(canonicalizer.unmatched)
            canonicalizer.unmatched = Unmatched()
        self.redacted.update(assembler.redactor.counts)
        assembler.redactor.counts.clear()

    def summary(self) -> list[str]:
        """Parts of the line that the command says at its end."""
        counts, unmatched = self.counts, self.unmatched
        read = self.files - self.unclaimed
        files = f"{read:,} file{'s' if read != 1 else ''}"
        parts = [f"{counts.trajectories:,} trajectories, {counts.steps:,} steps from {files}"]
        if unmatched.total:
            more = "over " if unmatched.full else ""
            parts.append(f"unmatched: {unmatched.total:,} of {counts.steps:,}, {more}{unmatched.distinct:,} distinct")
        if self.unclaimed:
            parts.append(f"{self.unclaimed:,} file{'s' if self.unclaimed != 1 else ''} that no format claims")
        parts += largest(all_lost(self.tallies.values()))
        numbers = sum(tally.numbers for tally in self.tallies.values())
        if numbers:
            parts.append(f"{numbers:,} NaN or infinite numbers read as null")
        if self.redacted:
            parts.append("redacted: " + ", ".join(f"{n:,} {kind}" for kind, n in sorted(self.redacted.items())))
        parts += [f"dropped: {n:,} {reason}" for reason, n in sorted(counts.dropped.items())]
        return parts


def empty_totals(options: CanonOptions) -> Totals:
    """Totals of a run, from zero."""
    return Totals(losses={} if options.report else None)
