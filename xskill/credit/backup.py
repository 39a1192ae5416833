"""Values of rollout-tree nodes, and the credit of turns (docs/methods/tree-opsd.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xskill.array_types import Bools, Floats, Ints64
from xskill.credit.advantage import group_moments
from xskill.credit.choices import BACKUPS, TURN_CREDITS
from xskill.rollouts.arrays import Rollouts
from xskill.rollouts.prefix_tree import Trie


@dataclass(frozen=True, slots=True)
class NodeValues:
    """Values of N nodes and G actions; NaN where no finished leaf lies below."""

    node: Floats
    """[N] V(n)."""
    action: Floats
    """[G] Q: mean of V over the observations that followed the action."""


def back_up(
    trie: Trie, leaf: Floats, method: str = "likelihood", likelihood: Floats | None = None, tau: float = 1.0
) -> NodeValues:
    """Carry leaf values up the tries: ``V(n) = sum_c w_c V(c)``.

    ``likelihood`` weighs the distinct actions at n by softmax(likelihood / tau) and, within an action, its
    observations equally; ``mean`` weighs children equally, ``leaf`` by their finished leaves. A trajectory
    that ends at an inner node is one more child there, and `likelihood` is then `mean` at that node.

    Args:
        trie: the trees.
        leaf: [n] value of each trajectory; NaN = unfinished, stays out.
        method: how children are weighed; one of :data:`xskill.credit.choices.BACKUPS`.
        likelihood: [G] mean token log-probability of each action; NaN makes its parent a ``mean`` node.
        tau: temperature of the softmax.

    Source: TreeOPSD (arXiv 2610.23181).
    """
    kind = BACKUPS[method]
    finished = ~np.isnan(leaf)
    ended = np.bincount(trie.end[finished], minlength=trie.n_nodes)
    ended_sum = np.bincount(trie.end[finished], leaf[finished], trie.n_nodes)
    with np.errstate(invalid="ignore"):
        value = ended_sum / ended
    value = _along_chains(trie, value)
    action = np.full(trie.n_groups, np.nan)
    if kind.by_leaves:
        below, below_sum = sums_below(trie, ended), sums_below(trie, ended_sum)
        with np.errstate(invalid="ignore"):
            value = below_sum / below
    low, high = _bounds_below(trie, leaf)
    value = np.clip(value, low, high)  # a mean lies between what it is of, but for rounding: equal ones stay equal
    for depth in range(len(trie.levels) - 1, 0, -1):
        start, stop = trie.levels[depth - 1]
        children = np.arange(*trie.levels[depth])
        children = children[~np.isnan(value[children])]
        if not len(children):
            continue
        child_value, parent = value[children], trie.parent[children] - start
        n = stop - start
        base = int(trie.group[trie.levels[depth][0] : trie.levels[depth][1]].min())
        group = trie.group[children] - base
        size = np.bincount(group)
        used = np.flatnonzero(size)
        q = np.bincount(group, child_value)[used] / size[used]
        least, most = np.full(len(size), np.inf), np.full(len(size), -np.inf)
        np.minimum.at(least, group, child_value)
        np.maximum.at(most, group, child_value)
        q = np.clip(q, least[used], most[used])
        action[used + base] = q
        if kind.by_leaves:
            continue
        count = np.bincount(parent, minlength=n) + ended[start:stop]
        total = np.bincount(parent, child_value, n) + ended_sum[start:stop]
        inner = np.bincount(parent, minlength=n) > 0
        here = value[start:stop]
        here[inner] = total[inner] / count[inner]
        if kind.by_likelihood and likelihood is not None:
            at = trie.group_parent[used + base] - start
            weighed, complete = softmax_mean(q, likelihood[used + base], at, n, tau)
            soft = complete & inner & (ended[start:stop] == 0)
            here[soft] = weighed[soft]
        np.clip(here, low[start:stop], high[start:stop], out=here)
    action[trie.group[trie.chains :]] = value[trie.chains :]
    return NodeValues(value, action)


def action_likelihood(rollouts: Rollouts, trie: Trie) -> Floats:
    """[G] mean token log-probability of each action under the behaviour policy.

    The mean runs over the trajectories that generated the action there (over its copies when none of
    those is in the input), without nodes that no finished leaf lies below. A question in which any turn lacks a
    log-probability is NaN throughout.
    """
    per_token = rollouts.logprob / rollouts.n_tokens
    has_generator = np.bincount(trie.node, rollouts.generated, trie.n_nodes) > 0
    counts = rollouts.generated | ~has_generator[trie.node]
    lacks = (
        np.bincount(rollouts.question[rollouts.trajectory], counts & np.isnan(per_token), len(rollouts.questions)) > 0
    )
    finished = np.bincount(trie.end, ~np.isnan(rollouts.reward), trie.n_nodes)
    counts &= sums_below(trie, finished)[trie.node] > 0
    group = trie.group[trie.node[counts]]
    with np.errstate(invalid="ignore"):
        likelihood: Floats = np.bincount(group, per_token[counts], trie.n_groups) / np.bincount(
            group, minlength=trie.n_groups
        )
    likelihood[lacks[trie.question[trie.group_parent]]] = np.nan
    return likelihood


def turn_credit(trie: Trie, values: NodeValues, kind: str = "pointwise") -> Floats:
    """[N] credit of each node's action, by one of :data:`xskill.credit.choices.TURN_CREDITS`.

    NaN where the value is; roots have none (NaN).
    """
    of_action = TURN_CREDITS[kind].load()(trie, values.action)
    credit = np.full(trie.n_nodes, np.nan)
    turns = trie.group >= 0
    credit[turns] = of_action[trie.group[turns]]
    credit[np.isnan(values.node)] = np.nan
    return credit


def pointwise(trie: Trie, q: Floats) -> Floats:
    """[G] the value of each action."""
    return q


def listwise(trie: Trie, q: Floats) -> Floats:
    """[G] the value of each action less the mean of all actions taken at that parent; 0 without an alternative."""
    valued = ~np.isnan(q)
    size = np.bincount(trie.group_parent[valued], minlength=trie.n_nodes)
    mean, _, _ = group_moments(q, trie.group_parent, trie.n_nodes)
    return np.where(size[trie.group_parent] == 1, np.where(valued, 0.0, np.nan), q - mean[trie.group_parent])


def softmax_mean(x: Floats, logit: Floats, group: Ints64, n_groups: int, tau: float) -> tuple[Floats, Bools]:
    """Mean of ``x`` in each group with weights softmax(logit / tau); and which groups have all their logits."""
    complete = np.bincount(group, np.isnan(logit), n_groups) == 0
    highest = np.full(n_groups, -np.inf)
    np.maximum.at(highest, group, np.nan_to_num(logit, nan=-np.inf))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        weight = np.exp((logit - highest[group]) / tau)  # the largest is 1, however small tau is
        return np.bincount(group, weight * x, n_groups) / np.bincount(group, weight, n_groups), complete


def _along_chains(trie: Trie, value: Floats) -> Floats:
    """Give a chain's end value to all its nodes, and to the node it hangs on (which has nothing else)."""
    parent = trie.parent[trie.chains :]
    heads = np.flatnonzero(parent < trie.chains)
    if len(heads):
        stops = np.append(heads[1:], len(parent))
        ends = value[trie.chains + stops - 1]
        value[trie.chains :] = np.repeat(ends, stops - heads)
        value[parent[heads]] = ends
    return value


def _bounds_below(trie: Trie, leaf: Floats) -> tuple[Floats, Floats]:
    """[N] the smallest and the largest finished leaf below each node; NaN where there is none."""
    finished = ~np.isnan(leaf)
    low, high = np.full(trie.n_nodes, np.inf), np.full(trie.n_nodes, -np.inf)
    for bound, least in ((low, np.minimum), (high, np.maximum)):
        least.at(bound, trie.end[finished], leaf[finished])
        _along_chains(trie, bound)
        for (start, stop), children in zip(trie.levels[-2::-1], trie.levels[:0:-1], strict=True):
            below = slice(*children)
            least.at(bound[start:stop], trie.parent[below] - start, bound[below])
        bound[np.isinf(bound)] = np.nan
    return low, high


def sums_below(trie: Trie, at_end: NDArray[np.generic]) -> Floats:
    """[N] sum over all trajectories that pass through or end at each node."""
    total = _along_chains(trie, at_end.astype(np.float64))
    for (start, stop), children in zip(trie.levels[-2::-1], trie.levels[:0:-1], strict=True):
        below = slice(*children)
        total[start:stop] += np.bincount(trie.parent[below] - start, total[below], stop - start)
    return total
