"""Go on with a tree and new episodes, without the old ones.

The tree's merges are applied to the new episodes first, so ids stay what they were, and every count of
a node becomes the sum of old and new. Then merging goes on. A pair of symbols that the tree knew counts
the old occurrences that its header remembers; a pair with a symbol that is made now counts new ones
alone. Mining the union at once would differ in three ways: it would choose the early merges by all
episodes; it would know the old occurrences of pairs around new nodes; and it would know which remembered
pairs stand side by side, so that one's merge takes from the other. Examples, patterns and slots of the
tree's nodes stay as they are, and association is tested without strata.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from xskill.errors import BadData, UsageError
from xskill.mine.branches import Branches
from xskill.mine.corpus import CodedCorpus, encode_episodes
from xskill.mine.from_corpus import TreeFacts, tree_header
from xskill.mine.layout import SEPARATOR, SymbolLine, index_pairs, lay_out
from xskill.mine.merges import Merge, Miner, StartingPoint
from xskill.mine.nodes import describe
from xskill.mine.outcomes import IGNORED, Classes, Prior, classify
from xskill.mine.residual import KEPT, Facts, Memory, Rest, Triple, added, recall, remembered, rest
from xskill.mine.rules import MineRules
from xskill.mine.tally import FAILED, SUCCEEDED, NodeTally, gather, pooled, tally
from xskill.mine.tiled_corpus import Tiles, tiled
from xskill.records import Episode, Node, Trajectory, encode
from xskill.tree.replay_arrays import GAP, INSIDE, cells_of, replay
from xskill.tree.xtree import XTree


def rules_of(tree: XTree, changes: Mapping[str, Any]) -> MineRules:
    """The rules in a tree's header, with the options that were given (those not None) on top.

    Raises:
        BadData: the header holds values that no rule can have.
        UsageError: the options ask for another outcome, or another part of the episodes.
    """
    try:
        rules = msgspec.convert(tree.header.config, MineRules)
    except msgspec.ValidationError as error:
        raise BadData(f"--resume: the tree's config holds no rules: {error}") from None
    changed = replace(rules, **{name: value for name, value in changes.items() if value is not None})
    if (changed.outcome, changed.successes_only) != (rules.outcome, rules.successes_only):
        raise UsageError("--resume: --outcome and --successes-only are the tree's; mine the union to change them")
    return changed


def encode_for(tree: XTree, episodes: Iterable[Episode | Trajectory], branches: Branches | None = None) -> CodedCorpus:
    """Code new episodes, with the tree's primitives in the vocabulary."""
    also = {token for node in tree.nodes for token in node.expansion}
    return encode_episodes(episodes, also, branches=branches)


def grow(tree: XTree, corpus: CodedCorpus, rules: MineRules, name: str | None = None) -> XTree:
    """The tree, grown by new episodes.

    Args:
        tree: mined by :func:`xskill.mine.from_corpus.mine_corpus` or grown by this function.
        corpus: the new episodes, from :func:`encode_for`.
        rules: from :func:`rules_of`.
        name: name of the whole corpus; None keeps the tree's.

    Raises:
        BadData: the tree does not remember its episodes.
    """
    memory, facts = recall(tree)
    classes = classify(corpus.outcome, rules)
    sequence, merges = _with_merges(corpus, tree, classes, rules)
    old = _recalled(tree, memory, facts)
    symbol = {name: number for number, name in enumerate(_names(corpus, len(merges)))}
    prior = _prior(old, memory, symbol, rules)
    further = replace(rules, max_skills=max(rules.max_skills - len(merges), 0))
    pairs = index_pairs(sequence, least=1)
    start = StartingPoint(sequence, pairs, corpus.task_type.codes, _expansions(corpus, merges))
    merges = [*merges, *Miner(start, classes, further, prior).run()]
    known_pairs = {(symbol[pair.left], symbol[pair.right]): pair for pair in memory.pairs if _both(pair, symbol)}
    taken = [known_pairs.get((merge.left, merge.right)) for merge in merges[len(tree.nodes) :]]
    old = _extended(old, taken, merges, len(corpus.tokens) + 1)
    counts = old + tally(corpus, gather(sequence, merges), merges, rules)
    nodes = describe(corpus, sequence, merges, counts, pooled(counts, rules), rules)
    grown = [_summed(before, now, counts, rules) for before, now in zip(tree.nodes, nodes, strict=False)]
    left = _left(memory.pairs, [pair for pair in taken if pair is not None], rest(corpus, _tiles(corpus, merges)))
    facts_now = TreeFacts(
        n_nodes=len(nodes),
        vocabulary=max(tree.header.n_primitives or 0, len(corpus.tokens)),
        symbols=facts.symbols
        + len(corpus.steps)
        - sum(len(merge.positions) for merge in merges)
        - sum(sum(pair.disjoint) for pair in taken if pair is not None),
        environments=sorted({*facts.environments, *corpus.env.names}),
        task_types=len(set(corpus.task_type.names).union(*counts.task_types)),
    )
    header = tree_header(
        rules,
        counts,
        facts_now,
        name=name or tree.header.corpus.name,
        config={"stratify": "none", "association": "descriptive"},
        stats={"lineage": [*facts.lineage, _ancestor(tree)]},
        extra=remembered(counts.replaced, left),
    )
    return XTree(header, (*grown, *nodes[len(grown) :]))


def _with_merges(
    corpus: CodedCorpus, tree: XTree, classes: Classes, rules: MineRules
) -> tuple[SymbolLine, list[Merge]]:
    """The corpus after the tree's merges, and a :class:`Merge` for each node.

    Frequency and positions are those of this corpus, rate and score the tree's own. The vocabulary of the corpus holds
    the tree's primitives; symbols of the replay are those of mining less one, for it has no separator.
    """
    fresh = lay_out(corpus, max(rules.max_skills, len(tree.nodes)))
    number = {name: symbol for symbol, name in enumerate(_names(corpus, len(tree.nodes)))}
    number.update((node.id, len(corpus.tokens) + 1 + rank) for rank, node in enumerate(tree.nodes))
    children = [(number[node.children[0]], number[node.children[1]]) for node in tree.nodes]
    line = fresh.symbols.astype(np.int32) - 1
    line[line == SEPARATOR - 1] = GAP
    replayed = replay(line, [(u - 1, v - 1) for u, v in children], cells_of(line, len(corpus.tokens)))
    merges = []
    size = [1] * (len(corpus.tokens) + 1)
    for node, (u, v), adjacent, taken in zip(tree.nodes, children, replayed.adjacent, replayed.starts, strict=True):
        counted = taken if rules.self_pairs == "disjoint" else adjacent
        frequency = int((classes[fresh.episode[counted]] != IGNORED).sum())
        merges.append(Merge(u, v, frequency, node.outcome_rate or 1.0, node.score or 0.0, taken.astype(np.int32)))
        size.append(size[u] + size[v])
    starts = np.flatnonzero(replayed.line != INSIDE)
    spans = replayed.line[starts] + 1
    lengths = np.array(size, np.int32)
    symbols = np.zeros_like(fresh.symbols)
    symbols[starts] = spans
    symbols[starts + lengths[spans] - 1] = spans
    return SymbolLine(symbols, starts, fresh.episode, lengths), merges


def _ancestor(tree: XTree) -> dict[str, Any]:
    return {"tree": tree_hash(tree), "episodes": tree.header.corpus.n_trajectories, "nodes": len(tree.nodes)}


def tree_hash(tree: XTree) -> str:
    """SHA-256 of the tree as it is written."""
    lines = [encode(tree.header), *(encode(node) for node in tree.nodes)]
    return "sha256:" + hashlib.sha256(b"\n".join(lines)).hexdigest()


def _names(corpus: CodedCorpus, n_nodes: int) -> list[str]:
    """Names of the symbols, as in :class:`xskill.mine.nodes.Shapes`."""
    return ["", *corpus.tokens, *(f"S{index}" for index in range(n_nodes))]


def _expansions(corpus: CodedCorpus, merges: Sequence[Merge]) -> list[tuple[int, ...]]:
    expansions: list[tuple[int, ...]] = [(), *((symbol,) for symbol in range(1, len(corpus.tokens) + 1))]
    for merge in merges:
        expansions.append(expansions[merge.left] + expansions[merge.right])
    return expansions


def _tiles(corpus: CodedCorpus, merges: list[Merge]) -> Tiles:
    return tiled(lay_out(corpus, len(merges)), merges)


def _both(pair: Rest, symbol: Mapping[str, int]) -> bool:
    return pair.left in symbol and pair.right in symbol


def _recalled(tree: XTree, memory: Memory, facts: Facts) -> NodeTally:
    """The tree's own counts; what it does not tell by outcome stands under unknown."""
    rows = [(n.episodes or 0, n.episodes_known or 0, n.episodes_success or 0) for n in tree.nodes]
    tiles = [((n.tiles or 0) - (n.tiles_success or 0), 0, n.tiles_success or 0) for n in tree.nodes]
    n_episodes = tree.header.corpus.n_trajectories or 0
    return NodeTally(
        replaced=np.array(memory.replaced, np.int64).reshape(-1, 3),
        episodes=np.array([_split(*row) for row in rows], np.int64).reshape(-1, 3),
        tiles=np.array(tiles, np.int64).reshape(-1, 3),
        task_types=[_by_type(node) for node in tree.nodes],
        corpus=np.array(_split(n_episodes, facts.episodes_known, facts.episodes_success), np.int64),
        steps=np.array(_split(facts.steps, facts.steps_success + facts.steps_failure, facts.steps_success), np.int64),
    )


def _by_type(node: Node) -> Counter[str]:
    kinds = zip(node.task_types or [], node.task_type_episodes or [], strict=False)
    return Counter({kind: count for kind, count in kinds if kind is not None})


def _split(n: int, n_known: int, succeeded: int) -> Triple:
    return n - n_known, n_known - succeeded, succeeded


def _prior(old: NodeTally, memory: Memory, symbol: Mapping[str, int], rules: MineRules) -> Prior:
    """What the old episodes add to the counts of the pairs that the tree remembers."""
    mined = SUCCEEDED if rules.outcome == "success" else FAILED
    counts = {}
    for pair in memory.pairs:
        if _both(pair, symbol):
            each = pair.disjoint if rules.self_pairs == "disjoint" else pair.adjacent
            n_known = each[FAILED] + each[SUCCEEDED]
            scored = (each[SUCCEEDED],) * 3 if rules.successes_only else (sum(each), n_known, each[mined])
            counts[symbol[pair.left], symbol[pair.right]] = scored
    if rules.successes_only:
        return Prior(int(old.corpus[SUCCEEDED]), int(old.corpus[SUCCEEDED]), counts)
    return Prior(int(old.corpus[FAILED:].sum()), int(old.corpus[mined]), counts)


def _extended(old: NodeTally, taken: Sequence[Rest | None], merges: Sequence[Merge], first: int) -> NodeTally:
    """The old counts with a row for each new node: what the tree remembers of its pair."""
    nothing = (0, 0, 0)
    replaced = np.array([pair.disjoint if pair else nothing for pair in taken], np.int64).reshape(-1, 3)
    episodes = np.array([pair.episodes if pair else nothing for pair in taken], np.int64).reshape(-1, 3)
    tiles = np.concatenate([old.tiles, replaced])
    for merge, count in zip(merges[len(old.tiles) :], replaced, strict=True):
        for child in (merge.left, merge.right):
            if child >= first:
                tiles[child - first] -= count
    return NodeTally(
        np.concatenate([old.replaced, replaced]),
        np.concatenate([old.episodes, episodes]),
        np.maximum(tiles, 0),
        [*old.task_types, *(Counter[str]() for _ in taken)],
        old.corpus,
        old.steps,
    )


_KEPT = ("example", "pattern", "slots")
"""What a node of the tree keeps as it is."""


def _summed(before: Node, now: Node, counts: NodeTally, rules: MineRules) -> Node:
    """The tree's node with the counts of both; its rate is that of all replaced occurrences."""
    mined = SUCCEEDED if rules.outcome == "success" else FAILED
    row = counts.replaced[int(before.id[1:])]
    n_known, everywhere = int(row[FAILED:].sum()), counts.corpus[FAILED:].sum()
    rate = 1.0
    if now.frequency == 0:
        same = {name: getattr(before, name) for name in (*_KEPT, "frequency", "score", "outcome_rate")}
        return msgspec.structs.replace(now, **same)
    if not rules.successes_only and counts.corpus[mined] < everywhere:
        rate = int(row[mined]) / n_known if n_known else float(counts.corpus[mined] / everywhere)
    frequency = (before.frequency or 0) + (now.frequency or 0)
    return msgspec.structs.replace(
        now,
        frequency=frequency,
        score=rules.score(frequency, now.length, rate),
        outcome_rate=rate if rules.outcome == "failure" else None,
        **{name: getattr(before, name) for name in _KEPT},
    )


def _left(old: Sequence[Rest], taken: Sequence[Rest], new: Sequence[Rest]) -> list[Rest]:
    """The pairs of old and new episodes that no merge took, the most frequent first."""
    gone = {(pair.left, pair.right) for pair in taken}
    left_over = {(pair.left, pair.right): pair for pair in old if (pair.left, pair.right) not in gone}
    for pair in new:
        both = (pair.left, pair.right)
        left_over[both] = added(left_over[both], pair) if both in left_over else pair
    ordered = sorted(left_over.values(), key=lambda pair: (-sum(pair.adjacent), pair.left, pair.right))
    return ordered[:KEPT]
