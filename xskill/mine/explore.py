"""Many gates for the price of little more than one run.

A stricter gate only shuts pairs out. As long as the best pair under the loosest gate passes a
stricter one, it is the best pair there too; so the runs are one until a pair is shut out by some of
the gates, and part there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xskill.mine.merges import Merge
from xskill.mine.outcomes import Classes
from xskill.mine.prepare import Prepared
from xskill.mine.rules import Gate, Rules


@dataclass(frozen=True, slots=True)
class Explored:
    """The merges of one run, and the gates under which it is the run."""

    gates: tuple[Gate, ...]
    merges: list[Merge]


def explore(prepared: Prepared, classes: Classes, rules: Rules, gates: Sequence[Gate]) -> Iterator[Explored]:
    """Run the miner under all gates: for each gate the very merges that ``rules`` with it would give."""
    waiting = [(prepared.miner(classes, rules, gates), list[Merge]())]
    while waiting:
        miner, merges = waiting.pop()
        while len(merges) < rules.max_skills:
            chosen = miner.choose()
            if chosen is None:
                break
            passing, shut_out = miner.board.passing(chosen[0])
            if shut_out:
                waiting.append((miner.fork(shut_out), list(merges)))
                miner.board.narrow(passing)
            merges.append(miner.merge(*chosen))
        yield Explored(miner.board.gates, merges)
