"""Potential-based shaping: a term for each turn that leaves the optimal policy as it is.

``F_t = gamma * Phi(s_{t+1}) - Phi(s_t)`` with ``Phi(end) = 0`` (Ng, Harada and Russell 1999). The guarantee needs a
potential that is a function of the state alone, so here nothing depends on the group: neither lambda nor the largest
bonus of the group.
"""

from __future__ import annotations

from collections.abc import Sequence

from xskill.tree.replay import encode
from xskill.tree.shaping import Bonus

LONGEST_BLOCK = 512
"""A history is tiled in blocks that no routine crosses, at most this many actions long: linear time in all."""


def potentials(bonus: Bonus, actions: Sequence[str], ends: Sequence[int], scale: float) -> list[float]:
    """``Phi`` after each turn: ``scale`` times the worth of the nodes in the tiling of the history, each node once.

    Args:
        actions: all actions of the rollout.
        ends: number of actions up to and with each turn, ascending. [n_turns]

    Returns:
        The potential of each state that a turn leads to; the last one is 0, the end. [n_turns]
    """
    inside = {pair for node in bonus.tiler.nodes for pair in zip(node.expansion, node.expansion[1:], strict=False)}
    first, last = bonus.tiler.n_primitives, bonus.tiler.width - 1
    values: list[float] = []
    settled: set[int] = set()
    start = done = 0
    for end in ends[:-1]:
        for position in range(max(done, 1), end):
            cut = (actions[position - 1], actions[position]) not in inside or position - start >= LONGEST_BLOCK
            if cut:
                settled.update(symbol for symbol, _ in encode(bonus.tiler, actions[start:position]))
                start = position
        done = end
        symbols = settled.union(symbol for symbol, _ in encode(bonus.tiler, actions[start:end]))
        values.append(scale * sum(sorted(bonus.worth[symbol - first] for symbol in symbols if first <= symbol < last)))
    return [*values, 0.0] if ends else []


def shaping_terms(phi: Sequence[float], gamma: float) -> list[float]:
    """``F_t`` of each turn from the potentials after each turn; the potential of the first state is 0. [n_turns]"""
    before = [0.0, *phi][:-1]
    return [gamma * after - start for start, after in zip(before, phi, strict=True)]
