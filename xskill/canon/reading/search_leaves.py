"""Leaves of a search tree → parents: each branch hangs on the earliest leaf that shares its longest prefix."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def parents(paths: Sequence[Sequence[Hashable]]) -> list[tuple[int, int] | None]:
    """For each path: (index of the parent path, number of shared steps); None for one that shares nothing.

    >>> parents([("a", "b"), ("a", "c"), ("d",)])
    [None, (0, 1), None]
    """
    owner: dict[tuple[int, Hashable], int] = {}
    states: dict[tuple[int, Hashable], int] = {}
    links: list[tuple[int, int] | None] = []
    for index, path in enumerate(paths):
        state, shared, parent = 0, 0, -1
        for depth, step in enumerate(path):
            key = (state, step)
            if key in states:
                if shared == depth:
                    shared, parent = depth + 1, owner[key]
            else:
                states[key] = len(states) + 1
                owner[key] = index
            state = states[key]
        links.append((parent, shared) if shared else None)
    return links
