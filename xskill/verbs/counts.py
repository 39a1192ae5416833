"""Counts over a stream of trajectories, in memory that grows with its vocabulary and not with its length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from xskill.records import Episode
from xskill.text.terminal import clean_line


class Statistics:
    """Running counts: episodes, steps, outcomes, lengths, and the same by environment and task type."""

    def __init__(self) -> None:
        self.lengths: Counter[int] = Counter()
        self.outcomes: Counter[bool | None] = Counter()
        self.environments: Counter[str | None] = Counter()
        self.tokens: Counter[str] = Counter()
        self.branches = 0
        self.questions: set[str] = set()
        self.task_types: dict[str | None, Counter[bool | None]] = {}

    def add(self, episode: Episode) -> None:
        """Count one episode."""
        self.lengths[len(episode.actions)] += 1
        self.outcomes[episode.success] += 1
        self.environments[episode.env] += 1
        self.tokens.update(episode.actions)
        self.branches += episode.parent is not None
        if episode.question_id is not None:
            self.questions.add(episode.question_id)
        self.task_types.setdefault(episode.task_type, Counter())[episode.success] += 1

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return self.lengths.total()

    @property
    def steps(self) -> int:
        """Number of steps, copied prefixes of branches included."""
        return sum(length * n for length, n in self.lengths.items())

    def quantile(self, share: float) -> int:
        """Smallest length that at least ``share`` of the episodes do not exceed."""
        seen = 0
        for length in sorted(self.lengths):
            seen += self.lengths[length]
            if seen >= share * self.episodes:
                return length
        return 0

    def as_dict(self) -> dict[str, Any]:
        """Everything, for ``--json``; null stands as an empty key."""
        return {
            "episodes": self.episodes,
            "steps": self.steps,
            "branches": self.branches,
            "questions": len(self.questions),
            "outcomes": _outcomes(self.outcomes),
            "success_rate": success_rate(self.outcomes),
            "lengths": {name: self.quantile(share) for name, share in _QUANTILES.items()},
            "environments": {name or "": n for name, n in by_count(self.environments)},
            "task_types": {
                name or "": {"episodes": counts.total(), **_outcomes(counts), "success_rate": success_rate(counts)}
                for name, counts in sorted(self.task_types.items(), key=lambda item: item[0] or "")
            },
            "vocabulary": len(self.tokens),
            "tokens": dict(by_count(self.tokens)),
        }


_QUANTILES = {"min": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "max": 1.0}


def success_rate(outcomes: Counter[bool | None]) -> float | None:
    """Successes / episodes with an outcome; None when there is none."""
    n_known = outcomes[True] + outcomes[False]
    return outcomes[True] / n_known if n_known else None


def by_count(counts: Counter[Any]) -> list[tuple[Any, int]]:
    """Most frequent first, then by name, so that the order of the input never shows."""
    return sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))


def _outcomes(counts: Counter[bool | None]) -> dict[str, int]:
    return {"successes": counts[True], "failures": counts[False], "unknown": counts[None]}


def render(statistics: Statistics, top: int) -> str:
    """The counts as plain text for people."""
    counts = _outcomes(statistics.outcomes)
    rate = success_rate(statistics.outcomes)
    won = "" if rate is None else f" ({rate:.0%} of those with an outcome)"
    lengths = ", ".join(f"{name} {statistics.quantile(share)}" for name, share in _QUANTILES.items())
    summary = [
        (
            "episodes",
            f"{statistics.episodes:,}" + (f" ({statistics.branches:,} branches)" if statistics.branches else ""),
        ),
        ("questions", f"{len(statistics.questions):,}" if statistics.questions else "none named"),
        ("steps", f"{statistics.steps:,}"),
        (
            "outcomes",
            f"{counts['successes']:,} successes{won}, {counts['failures']:,} failures, {counts['unknown']:,} unknown",
        ),
        ("length", lengths),
        ("vocabulary", f"{len(statistics.tokens):,} tokens"),
    ]
    lines = [f"{name:<11} {text}" for name, text in summary]
    if statistics.environments.keys() - {None}:
        lines.append(
            f"{'environment':<11} "
            + ", ".join(f"{clean_line(e or '-')} {n:,}" for e, n in by_count(statistics.environments))
        )
    kinds = sorted(statistics.task_types.items(), key=lambda item: (-item[1].total(), item[0] or ""))
    if statistics.task_types.keys() - {None} and top:
        rows: list[tuple[str, ...]] = [("task type", "episodes", "success", "unknown")]
        for kind, outcome in kinds[:top]:
            share = success_rate(outcome)
            rows.append(
                (
                    clean_line(kind or "-"),
                    f"{outcome.total():,}",
                    "-" if share is None else f"{share:.0%}",
                    f"{outcome[None]:,}",
                )
            )
        lines += ["", *_table(rows), *_more(len(kinds) - top, "task types")]
    if top:
        rows = [("token", "steps", "share")]
        tokens = by_count(statistics.tokens)
        rows += [(clean_line(token), f"{n:,}", f"{n / statistics.steps:.1%}") for token, n in tokens[:top]]
        lines += ["", *_table(rows), *_more(len(tokens) - top, "tokens")]
    return "\n".join(lines)


def _table(rows: list[tuple[str, ...]]) -> Iterable[str]:
    """Left-aligned first column, right-aligned others."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()


def _more(n: int, what: str) -> list[str]:
    return [f"… and {n:,} more {what} (--top)"] if n > 0 else []
