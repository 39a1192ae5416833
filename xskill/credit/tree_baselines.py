"""Baselines that value the nodes of a rollout tree: AT2PO, TreePO, TreeRL.

Each follows its official code. A rollout without a reward stays out, one that ends at an inner node is a
child of that node like any other (neither has an official rule); in TreePO's subgroups it counts at the depths that it
reached, as the official code has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from xskill.array_types import Bools, Floats, Ints64
from xskill.credit.advantage import advantages, group_moments
from xskill.credit.backup import action_likelihood, back_up
from xskill.credit.group_baselines import Baseline
from xskill.errors import BadData
from xskill.rollouts.arrays import Rollouts
from xskill.rollouts.prefix_tree import Trie, build, origin


@dataclass(frozen=True, slots=True)
class At2po:
    """Options of AT2PO; the defaults are the released script's."""

    value: Literal["child_softmax", "child_mean", "leaf_mean"] = "child_softmax"
    """How a node's value comes from below."""
    adv: Literal["node_value", "diff_parent", "diff_global", "diff_localglobal"] = "node_value"
    """V(n); minus its parent's; minus the root's; or both differences added."""
    norm: bool = True
    """Normalise the leaves of a question first."""
    tree: Literal["trie", "parent"] = "trie"
    """Merge byte-equal sibling turns, or keep apart what different rollouts generated, as the official tree does."""


@dataclass(frozen=True, slots=True)
class Treepo:
    """Options of TreePO; the defaults are the released script's."""

    estimator: Literal["subgroup", "segment", "spo"] = "subgroup"
    """Mean over the subgroups of a rollout; difference of node values; or sibling-normalised node values."""
    weight: Literal["average", "group_size"] = "average"
    """How the subgroups of a rollout are averaged."""
    drop_zero_std: bool = False
    """Leave out subgroups whose rewards are all equal."""
    whiten: bool = True
    """Whiten over all tokens of the run, all questions together (not for spo)."""
    eta: float = -1.0
    """Damp a parent's value by eta^(turns left + 1) (segment only); not above 0 = off."""


@dataclass(frozen=True, slots=True)
class Treerl:
    """Options of TreeRL; the defaults are the released script's."""

    weight: Literal["sqrt", "uniform", "original"] = "sqrt"
    """Divide a node's mean by the root of its leaf count, by the count, or not at all."""
    reward: Literal["state+local", "state", "local"] = "state+local"
    """Value of the turn, its difference to the parent's, or their sum."""
    overall_norm: Literal["none", "token"] = "none"
    """Subtract the token-weighted mean over the nodes of the question first."""
    variant: Literal["code", "paper"] = "code"
    """The official code, or the paper's formula."""
    parent: Literal["branch", "turn"] = "branch"
    """Parent in the paper's formula: the nearest branching ancestor, or the turn before."""


def at2po(rollouts: Rollouts, trie: Trie, options: At2po) -> Baseline:
    """AT2PO: leaf values backed up with softmax weights over the children's entropies.

    The entropy of a child is minus the mean token log-probability of its turn, so that unlikely children
    weigh more. Without log-probabilities ``child_softmax`` is ``child_mean``.
    """
    tree = build(rollouts, origin(rollouts) if options.tree == "parent" else trie.node)  # a node is a group of its own
    leaf = rollouts.reward
    if options.norm:
        leaf = advantages(rollouts.reward, rollouts.question, len(rollouts.questions))[0]
    entropy = -action_likelihood(rollouts, tree)
    methods = {"child_softmax": "likelihood", "child_mean": "mean", "leaf_mean": "leaf"}
    value = back_up(tree, leaf, methods[options.value], entropy).node
    node = tree.node
    turn, parent = value[node], value[tree.parent[node]]
    root = value[rollouts.question[rollouts.trajectory]]
    return Baseline(
        {
            "node_value": turn,
            "diff_parent": turn - parent,
            "diff_global": turn - root,
            "diff_localglobal": 2 * turn - root - parent,
        }[options.adv]
    )


def treepo(rollouts: Rollouts, trie: Trie, options: Treepo) -> Baseline:
    """TreePO (arXiv 2508.17445): a rollout against the subgroups that share its prefixes.

    ``subgroup``: the mean over depths d, less than the turns of the run's longest rollout, of R less the mean reward of
    the rollouts that share its first d turns; subgroups of one do not count, but the question itself always does. A
    rollout that is over before d has no subgroup there. ``segment`` and ``spo`` are the
    repository's other estimators. What is whitened depends on the other questions of the run.
    """
    if options.estimator == "subgroup":
        rollout = _subgroups(rollouts, trie, options)
        if options.whiten:
            tokens = np.bincount(rollouts.trajectory, rollouts.n_tokens, rollouts.n)
            rollout = _whiten(rollout, tokens.astype(np.float64))
        return Baseline(np.repeat(rollout, rollouts.lengths), rollout)
    parent = trie.parent[trie.node]
    is_root = parent < len(rollouts.questions)
    if options.estimator == "spo":
        value = back_up(trie, rollouts.reward, "mean").node
        value = _sibling_normalised(trie, value)
        return Baseline(value[trie.node] - np.where(is_root, 0.0, value[parent]))
    mean, size = _below(rollouts, trie, rollouts.reward)
    at_node, who = _passes(rollouts, trie)
    weighted = np.bincount(who, size[at_node] * (rollouts.reward[who] - mean[at_node]), rollouts.n)
    value = back_up(trie, weighted / np.bincount(who, size[at_node], rollouts.n), "mean").node
    above = np.where(is_root, 0.0, value[parent])
    if options.eta > 0:
        left = rollouts.lengths[rollouts.trajectory] - rollouts.position
        above = above * options.eta**left
    turn = value[trie.node] - above
    return Baseline(_whiten(turn, np.ones(len(turn))) if options.whiten else turn)


def treerl(rollouts: Rollouts, trie: Trie, options: Treerl) -> Baseline:
    """TreeRL (arXiv 2506.11902): global and local advantage of a node, over the root of its leaf count.

    Code: ``V(n) = mean(R - mean of the others) / sqrt(k)``; turn value ``V(n) + local(n)`` with ``local(n) = V(n) -
    V(p)``, p the nearest branching ancestor or the root; a local below 1e-8 is replaced by that of p unless p is the
    root. Paper: ``(2 V(n) - V(root) - V(parent)) / sqrt(k)`` on raw rewards.

    Raises:
        BadData: a question with one rollout (the official code fails there; the paper's formula gives 0).
    """
    question, n_questions = rollouts.question, len(rollouts.questions)
    branch = _branching_ancestor(trie, n_questions)
    if options.variant == "paper":
        mean, size = _below(rollouts, trie, rollouts.reward)
        parent = trie.parent if options.parent == "turn" else branch
        node = trie.node
        root = question[rollouts.trajectory]
        return Baseline((2 * mean[node] - mean[root] - mean[parent[node]]) / np.sqrt(size[node]))
    mean, _, counted = group_moments(rollouts.reward, question, n_questions)
    lone = np.flatnonzero(counted == 1)
    if len(lone):
        raise BadData(
            f"question {rollouts.questions[lone[0]]!r} has one finished rollout: TreeRL is undefined there "
            "(--option variant=paper gives 0)"
        )
    others = counted[question] / np.maximum(counted[question] - 1, 1) * (rollouts.reward - mean[question])
    below, size = _below(rollouts, trie, others)
    if options.overall_norm == "token":
        below = below - _token_mean(rollouts, trie, below, size)
    divisor = {"sqrt": np.sqrt(size), "uniform": size, "original": np.ones_like(size)}[options.weight]
    with np.errstate(invalid="ignore"):
        value = below / divisor
    local = value - value[np.maximum(branch, 0)]
    _fill_small(trie, local, branch, n_questions)
    turn = {"state+local": value + local, "state": value, "local": local}[options.reward]
    return Baseline(turn[trie.node])


def _token_mean(rollouts: Rollouts, trie: Trie, below: Floats, size: Floats) -> Floats:
    """[N] mean of ``below`` over the tree of the node's question, a node counting its tokens times its leaves."""
    question, n_questions = trie.question, len(rollouts.questions)
    weight = np.zeros(trie.n_nodes)  # a root has no tokens
    turns = trie.turn >= 0
    weight[turns] = rollouts.n_tokens[trie.turn[turns]] * size[turns]
    valued = ~np.isnan(below)
    total = np.bincount(question[valued], (weight * below)[valued], n_questions)
    with np.errstate(invalid="ignore"):
        mean: Floats = total / np.bincount(question[valued], weight[valued], n_questions)
    return mean[question]


def _subgroups(rollouts: Rollouts, trie: Trie, options: Treepo) -> Floats:
    reward, n = rollouts.reward, rollouts.n
    deepest = int(rollouts.lengths.max(initial=0))
    mean, size = _below(rollouts, trie, reward)
    varied = _varied_below(rollouts, trie) if options.drop_zero_std else np.ones(trie.n_nodes, bool)
    counts = (size > 1) & varied
    # Depth 0 is the question; depth d the node of turn d - 1. Subgroups end one depth above the longest rollout.
    node, who = _passes(rollouts, trie)
    depth = trie.depth[node]
    keep = (depth == 0) | (counts[node] & (depth < deepest))
    base = np.where((depth == 0) & (size[node] == 1), 0.0, mean[node])
    weight = keep * (size[node] if options.weight == "group_size" else 1.0)
    total = np.bincount(who, np.where(weight > 0, weight * (reward[who] - base), 0.0), n)
    with np.errstate(invalid="ignore"):
        result = total / np.bincount(who, weight, n)
    result[np.isnan(reward)] = np.nan
    return result


def _below(rollouts: Rollouts, trie: Trie, leaf: Floats) -> tuple[Floats, Floats]:
    """[N] mean leaf value below each node, exact where all are equal, and how many finished leaves there are."""
    node, who = _passes(rollouts, trie)
    mean, _, size = group_moments(leaf[who], node, trie.n_nodes)
    return np.where(size > 0, mean, np.nan), size.astype(np.float64)


def _varied_below(rollouts: Rollouts, trie: Trie) -> Bools:
    """[N] whether the rewards below a node differ."""
    node, who = _passes(rollouts, trie)
    return group_moments(rollouts.reward[who], node, trie.n_nodes)[1] > 0


def _passes(rollouts: Rollouts, trie: Trie) -> tuple[Ints64, Ints64]:
    """Each node that each rollout passes through, and the rollout."""
    node = np.concatenate([trie.node, rollouts.question])
    return node, np.concatenate([rollouts.trajectory, np.arange(rollouts.n)])


def _sibling_normalised(trie: Trie, value: Floats) -> Floats:
    """[N] values standardised among siblings (population deviation; 0 gives 0); a lone child keeps its own."""
    child = np.flatnonzero(trie.parent >= 0)
    parent = trie.parent[child]
    mean, deviation, size = group_moments(value[child], parent, trie.n_nodes)
    result = value.copy()
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = np.where(deviation[parent] > 0, (value[child] - mean[parent]) / deviation[parent], 0.0)
    result[child] = np.where(size[parent] > 1, scaled, value[child])
    return result


def _whiten(x: Floats, tokens: Floats) -> Floats:
    """``(x - m) / sqrt(var + 1e-8)`` with mean and variance (n - 1) over tokens."""
    valued = ~np.isnan(x)
    n = tokens[valued].sum()
    if n < 2:
        return x
    if np.ptp(x[valued]) == 0:  # the mean of equal numbers may be off by a rounding error, which would be blown up
        return np.where(valued, 0.0, np.nan)
    mean = (x[valued] * tokens[valued]).sum() / n
    variance = (tokens[valued] * (x[valued] - mean) ** 2).sum() / (n - 1)
    whitened: Floats = (x - mean) / np.sqrt(variance + 1e-8)
    return whitened


def _branching_ancestor(trie: Trie, n_roots: int) -> Ints64:
    """[N] nearest ancestor with several children, or the root; -1 for a root."""
    children = np.bincount(trie.parent[n_roots:], minlength=trie.n_nodes)
    stops = children > 1
    stops[:n_roots] = True
    ancestor = np.full(trie.n_nodes, -1, np.int64)
    for start, stop in trie.levels[1:]:
        parent = trie.parent[start:stop]
        ancestor[start:stop] = np.where(stops[parent], parent, ancestor[parent])
    return _down_chains(trie, ancestor)


def _down_chains(trie: Trie, value: Ints64) -> Ints64:
    """Give each chain what the node it hangs on has."""
    parent = trie.parent[trie.chains :]
    heads = np.flatnonzero(parent < trie.chains)
    value[trie.chains :] = np.repeat(value[parent[heads]], np.diff(np.append(heads, len(parent))))
    return value


def _fill_small(trie: Trie, local: Floats, branch: Ints64, n_roots: int) -> None:
    """Replace vanishing local values by those of the branching ancestor, from the top down."""
    for start, stop in [*trie.levels[1:], (trie.chains, trie.n_nodes)]:
        above = branch[start:stop]
        small = (np.abs(local[start:stop]) < 1e-8) & (above >= n_roots)
        local[start:stop] = np.where(small, local[above], local[start:stop])
