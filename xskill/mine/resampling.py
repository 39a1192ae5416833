"""What shuffled outcomes and resampled episodes say about a tree: adjusted p-values and stability."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec
import numpy as np
import numpy.typing as npt

from xskill.array_types import Ints32
from xskill.engines import Engine
from xskill.errors import NoSuccess
from xskill.mine.association import exchangeable, fisher
from xskill.mine.corpus import CodedCorpus
from xskill.mine.outcomes import classify
from xskill.mine.prepare import Prepared, check_outcomes, merge_all, prepare
from xskill.mine.rules import MineRules
from xskill.mine.tally import gather, mined_outcome, stratified
from xskill.records import Node


def permute(outcome: npt.NDArray[np.int8], within: Ints32, rng: np.random.Generator) -> npt.NDArray[np.int8]:
    """Shuffle the known outcomes within each block; unknown ones stay unknown."""
    with_outcome = np.flatnonzero(outcome >= 0)
    by_block = with_outcome[np.argsort(within[with_outcome], kind="stable")]
    shuffled = with_outcome[np.lexsort((rng.random(len(with_outcome)), within[with_outcome]))]
    permuted = outcome.copy()
    permuted[by_block] = outcome[shuffled]
    return permuted


def smallest_p(prepared: Prepared, outcome: npt.NDArray[np.int8], rules: MineRules, strata: Ints32) -> float:
    """Mine under these outcomes; the smallest p of any node, 1 without nodes."""
    merges = merge_all(prepared, classify(outcome, rules), rules)
    occurrences = gather(prepared.sequence, merges)
    p = fisher(stratified(occurrences, len(merges), mined_outcome(outcome, rules), strata))
    return float(np.min(p[~np.isnan(p)], initial=1.0))


def permutation_minima(
    prepared: Prepared, rules: MineRules, strata: Ints32, n: int, seed: int, engine: Engine
) -> npt.NDArray[np.float64]:
    """Smallest p of each of ``n`` runs of the whole miner, each on outcomes permuted within their blocks. [n]"""
    within = exchangeable(prepared.corpus, strata)
    return np.array(engine.map(partial(_permuted, prepared, rules, strata, within, seed), n))


def _permuted(prepared: Prepared, rules: MineRules, strata: Ints32, within: Ints32, seed: int, number: int) -> float:
    outcome = permute(prepared.corpus.outcome, within, np.random.default_rng([seed, number]))
    return smallest_p(prepared, outcome, rules, strata)


def adjust(nodes: Sequence[Node], minima: npt.NDArray[np.float64]) -> list[Node]:
    """Nodes with ``p_adjusted`` = (1 + runs whose smallest p is at most the node's) / (1 + runs).

    The permuted runs choose their merges anew, so the selection is paid for (min-p, Westfall and Young 1993).
    """
    ordered = np.sort(minima)

    def adjusted(p: float | None) -> float | None:
        if p is None:
            return None
        as_small = int(np.searchsorted(ordered, p * (1 + 1e-9), side="right"))
        return (1 + as_small) / (1 + len(ordered))

    return [msgspec.structs.replace(node, p_adjusted=adjusted(node.p_value)) for node in nodes]


def stability(
    corpus: CodedCorpus, rules: MineRules, expansions: Sequence[Sequence[str]], n: int, seed: int, engine: Engine
) -> list[float]:
    """Share of ``n`` resamples (episodes with replacement) in which a node with each expansion is mined."""
    runs = engine.map(partial(_resampled, corpus, rules, seed), n)
    number = {token: code for code, token in enumerate(corpus.tokens)}
    wanted = [tuple(number[token] for token in expansion) for expansion in expansions]
    return [sum(expansion in run for run in runs) / n for expansion in wanted]


def _resampled(corpus: CodedCorpus, rules: MineRules, seed: int, number: int) -> set[tuple[int, ...]]:
    """Expansions, as tokens, of the nodes of one resample; none when it drew no success."""
    rng = np.random.default_rng([seed, number])
    drawn = corpus.select(np.sort(rng.integers(0, corpus.n_episodes, corpus.n_episodes)))
    try:
        check_outcomes(drawn, rules)
    except NoSuccess:
        return set()
    merges = merge_all(prepare(drawn, rules.max_skills), classify(drawn.outcome, rules), rules)
    expansions: list[tuple[int, ...]] = [(), *((token,) for token in range(len(corpus.tokens)))]
    for merge in merges:
        expansions.append(expansions[merge.left] + expansions[merge.right])
    return set(expansions[len(corpus.tokens) + 1 :])
