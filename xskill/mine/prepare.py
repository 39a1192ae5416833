"""A corpus made ready once for any number of runs over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xskill.errors import NoSuccess
from xskill.mine.corpus import CodedCorpus
from xskill.mine.layout import PairIndex, SymbolLine, index_pairs, lay_out
from xskill.mine.merges import Merge, Miner, StartingPoint
from xskill.mine.outcomes import Classes
from xskill.mine.rules import Gate, MineRules


@dataclass(frozen=True, slots=True)
class Prepared:
    """A corpus, laid out and indexed."""

    corpus: CodedCorpus
    sequence: SymbolLine
    index: PairIndex

    @property
    def expansions(self) -> list[tuple[int, ...]]:
        """Tokens of each symbol: none for the separator, each token itself."""
        return [(), *((symbol,) for symbol in range(1, len(self.sequence.lengths)))]

    def miner(self, classes: Classes, rules: MineRules, gates: Sequence[Gate] | None = None) -> Miner:
        """A miner at the start of its run."""
        start = StartingPoint(self.sequence, self.index, self.corpus.task_type.codes, self.expansions)
        return Miner(start, classes, rules, gates=gates)


def prepare(corpus: CodedCorpus, max_skills: int) -> Prepared:
    """Lay out and index a corpus for trees of at most ``max_skills`` nodes."""
    sequence = lay_out(corpus, max_skills)
    return Prepared(corpus, sequence, index_pairs(sequence))


def merge_all(prepared: Prepared, classes: Classes, rules: MineRules) -> list[Merge]:
    """The merges of one run."""
    return prepared.miner(classes, rules).run()


def check_outcomes(corpus: CodedCorpus, rules: MineRules) -> None:
    """Raise :class:`NoSuccess` when no episode can have what is mined."""
    n_known = int((corpus.outcome >= 0).sum())
    n_success = int((corpus.outcome == 1).sum())
    if rules.successes_only and n_success == 0:
        raise NoSuccess(f"--successes-only: none of the {corpus.n_episodes:,} episodes is a success")
    if n_known and rules.outcome == "success" and n_success == 0:
        raise NoSuccess(
            f"all {n_known:,} episodes with an outcome failed, so no skill can be mined; "
            "--outcome failure mines what the failures have in common"
        )
    if n_known and rules.outcome == "failure" and n_success == n_known:
        raise NoSuccess(f"--outcome failure: all {n_known:,} episodes with an outcome succeeded")
