"""PUCT as one reads it in the specification: recursive, over dictionaries, without a word about requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, sqrt

from tests.rollouts.worlds import Path, Table


@dataclass
class Plain:
    table: Table
    depth: int
    k: int
    c: float
    n: dict[Path, int] = field(default_factory=dict)
    w: dict[Path, float] = field(default_factory=dict)
    taken: set[Path] = field(default_factory=set)
    outcome: dict[Path, float] = field(default_factory=dict)
    """Of paths that ended or were completed."""
    opened: set[Path] = field(default_factory=set)
    """Paths whose children were proposed."""

    def children(self, path: Path) -> list[str]:
        names: list[str] = []
        for child in self.table.proposals.get(path, [])[: self.k]:
            if child.action not in names:
                names.append(child.action)
        return names

    def p(self, path: Path) -> dict[str, float]:
        names = self.children(path)
        first = {name: next(child for child in self.table.proposals[path] if child.action == name) for name in names}
        if all(child.prior is not None for child in first.values()) and sum(c.prior or 0 for c in first.values()) > 0:
            total = sum(child.prior or 0 for child in first.values())
            return {name: (child.prior or 0) / total for name, child in first.items()}
        if all(child.logprob is not None for child in first.values()):
            mean = {name: child.logprob / (child.n_tokens or 1) for name, child in first.items()}  # type: ignore[operator]
            top = max(mean.values())
            total = sum(exp(value - top) for value in mean.values())
            return {name: exp(value - top) / total for name, value in mean.items()}
        return {name: 1 / len(names) for name in names}

    def complete(self, path: Path) -> float:
        self.outcome[path] = self.table.completions.get(path, 0.0)
        return self.outcome[path]

    def walk(self, path: Path = ()) -> float:
        """One iteration below ``path``; gives what it backs up."""
        value = self._below(path)
        self.n[path] = self.n.get(path, 0) + 1
        self.w[path] = self.w.get(path, 0.0) + value
        return value

    def _below(self, path: Path) -> float:
        if path in self.outcome:
            return self.outcome[path]
        if path and path not in self.taken:
            self.taken.add(path)
            if path in self.table.ends:
                self.outcome[path] = self.table.ends[path] or 0.0
                return self.outcome[path]
            return self.complete(path) if len(path) == self.depth else self.table.values.get(path, 0.0)
        self.opened.add(path)
        names = self.children(path)
        if not names:
            return self.complete(path)
        p, best, best_key = self.p(path), "", (float("-inf"), 0.0)
        for name in names:
            child = (*path, name)
            visits = self.n.get(child, 0)
            q = self.w[child] / visits if visits else 0.0
            key = (q + self.c * p[name] * sqrt(max(1, self.n.get(path, 0))) / (1 + visits), p[name])
            if key > best_key:
                best, best_key = name, key
        return self.walk((*path, best))

    def run(self, iterations: int) -> None:
        for _ in range(iterations):
            self.walk()
        self._finish(())

    def _finish(self, path: Path) -> None:
        below = [(*path, name) for name in self.children(path) if (*path, name) in self.taken]
        for child in below:
            self._finish(child)
        if not below and path not in self.outcome:
            value = self.complete(path)
            for length in range(len(path) + 1):
                self.n[path[:length]] = self.n.get(path[:length], 0) + 1
                self.w[path[:length]] = self.w.get(path[:length], 0.0) + value
