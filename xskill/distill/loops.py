"""Two ways to stand still: the same cycle of actions again and again, and turns that change nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xskill.distill.experience import Experience

LONGEST_CYCLE = 4


@dataclass(frozen=True, slots=True)
class Standstill:
    """Stretches of one kind. ``starts`` are steps; ``lengths`` count the actions of a whole stretch."""

    kind: str
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    periods: npt.NDArray[np.int64]
    """Actions of one round."""


def loops(experience: Experience) -> Standstill:
    """Cycles: the same actions with the same arguments, in a row.

    A single action at least three times, or a round of 2 to 4 actions (not all equal) at least twice in full. A stretch
    that repeats with a shorter period is reported with the shortest.
    """
    steps, episode = experience.corpus.steps, experience.episode_of
    n = len(steps)
    covered = np.zeros(n, bool)
    starts, lengths, periods = [], [], []
    for period in range(1, LONGEST_CYCLE + 1):
        if n <= period:
            break
        same = (steps[period:] == steps[:-period]) & (episode[period:] == episode[:-period])
        begin, end = _runs(same)
        rounds = 3 if period == 1 else 2
        for first, last in zip(begin.tolist(), end.tolist(), strict=True):
            length = last - first + period
            if length < rounds * period or covered[first : first + length].all():
                continue
            covered[first : first + length] = True
            starts.append(first)
            lengths.append(length)
            periods.append(period)
    return _standstill("loop", starts, lengths, periods)


def unanswered(experience: Experience) -> Standstill:
    """Turns that repeat the action before them and get the same observation; a stretch holds the first one too."""
    begin, end = _runs(experience.unanswered)
    starts = (begin - 1).tolist()
    return _standstill("no-op", starts, (end - begin + 1).tolist(), [1] * len(starts))


def _runs(flags: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """First and last + 1 index of each run of true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return edges[::2], edges[1::2]


def _standstill(kind: str, starts: list[int], lengths: list[int], periods: list[int]) -> Standstill:
    order = np.argsort(np.asarray(starts, dtype=np.int64), kind="stable")
    arrays = (np.asarray(values, dtype=np.int64)[order] for values in (starts, lengths, periods))
    return Standstill(kind, *arrays)
