"""A coded corpus → its X-Tree: merges, counts, tests, header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from xskill.engines import ONE, Engine
from xskill.mine.association import stratify
from xskill.mine.corpus import CodedCorpus
from xskill.mine.nodes import describe
from xskill.mine.outcomes import classify
from xskill.mine.prepare import check_outcomes, merge_all, prepare
from xskill.mine.resampling import adjust, permutation_minima, stability
from xskill.mine.residual import remembered, rest
from xskill.mine.rules import MineRules
from xskill.mine.tally import FAILED, SUCCEEDED, NodeTally, gather, mined_outcome, stratified, tally
from xskill.mine.tiled_corpus import tiled
from xskill.records import Corpus, TreeHeader
from xskill.tree.xtree import XTree


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """What a header says of the tree and its corpus beyond the counts by outcome."""

    n_nodes: int
    vocabulary: int
    """Number of distinct tokens."""
    symbols: int
    """What the steps became."""
    environments: list[str]
    """Their names, sorted."""
    task_types: int
    """Number of distinct ones."""


def tree_header(
    rules: MineRules,
    counts: NodeTally,
    facts: TreeFacts,
    *,
    name: str | None,
    config: Mapping[str, Any],
    stats: Mapping[str, Any] | None = None,
    extra: dict[str, Any] | None = None,
) -> TreeHeader:
    """Put a header together.

    Args:
        rules: what could merge, and the score.
        counts: of episodes and their own steps, by outcome.
        facts: of the tree and its corpus.
        name: name of the corpus.
        config: the choices beyond the rules.
        stats: more facts about the run.
        extra: what :mod:`xskill.mine.residual` remembers, for trees that shall grow.
    """
    n_known = int(counts.corpus[FAILED:].sum())
    n_success = int(counts.corpus[SUCCEEDED])
    return TreeHeader(
        environment=facts.environments[0] if len(facts.environments) == 1 else None,
        corpus=Corpus(name=name, n_trajectories=int(counts.corpus.sum()), successful_only=rules.successes_only),
        n_primitives=facts.vocabulary,
        n_nodes=facts.n_nodes,
        outcome=rules.outcome,
        config={**rules.as_config(), **config},
        stats={
            "steps": int(counts.steps.sum()),
            "steps_success": int(counts.steps[SUCCEEDED]),
            "steps_failure": int(counts.steps[FAILED]),
            "symbols": facts.symbols,
            "episodes_known": n_known,
            "episodes_success": n_success,
            "base_rate": n_success / n_known if n_known else None,
            "environments": facts.environments,
            "task_types": facts.task_types,
            "vocabulary": facts.vocabulary,
            **(stats or {}),
        },
        extra=extra or {},
    )


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of the nodes beyond the merges: tests, and runs of the whole miner on changed episodes."""

    stratify: str | None = None
    """Field to test association within; see :func:`xskill.mine.association.stratify`."""
    permutations: int = 0
    """Runs of the whole miner on permuted outcomes, for ``p_adjusted``."""
    bootstrap: int = 0
    """Resamples of the episodes, for ``stability``."""
    seed: int = 0
    engine: Engine = ONE
    """Where the repeated runs run: it changes the time and nothing else."""


def mine_corpus(
    corpus: CodedCorpus,
    rules: MineRules,
    questions: Questions = Questions(),
    *,
    name: str | None = None,
    config: Mapping[str, Any] = {},
    resumable: bool = False,
) -> XTree:
    """Mine one X-Tree (arXiv 2609.32993; docs/methods/x-tree.md).

    Args:
        corpus: the coded episodes.
        rules: what may merge, and the score.
        questions: tests and resamples.
        name: name of the corpus, for the header.
        config: how the rules were chosen, for the header.
        resumable: remember in the header what :func:`xskill.mine.resume.grow` needs (tens of kilobytes).

    Raises:
        NoSuccess: no episode has the outcome that is mined.
    """
    check_outcomes(corpus, rules)
    strata, field = stratify(corpus, questions.stratify)
    prepared = prepare(corpus, rules.max_skills)
    merges = merge_all(prepared, classify(corpus.outcome, rules), rules)
    occurrences = gather(prepared.sequence, merges)
    counts = tally(corpus, occurrences, merges, rules)
    tables = stratified(occurrences, len(merges), mined_outcome(corpus.outcome, rules), strata)
    nodes = describe(corpus, prepared.sequence, merges, counts, tables, rules)
    choices = {**config, "stratify": field, "association": "descriptive"}
    if questions.permutations:
        minima = permutation_minima(prepared, rules, strata, questions.permutations, questions.seed, questions.engine)
        nodes = adjust(nodes, minima)
        choices |= {"association": "permutation", "permutations": questions.permutations, "seed": questions.seed}
    if questions.bootstrap:
        expansions = [node.expansion for node in nodes]
        shares = stability(corpus, rules, expansions, questions.bootstrap, questions.seed, questions.engine)
        nodes = [msgspec.structs.replace(node, stability=share) for node, share in zip(nodes, shares, strict=True)]
        choices |= {"bootstrap": questions.bootstrap, "seed": questions.seed}
    facts = TreeFacts(
        n_nodes=len(nodes),
        vocabulary=len(corpus.tokens),
        symbols=len(corpus.steps) - sum(len(merge.positions) for merge in merges),
        environments=list(corpus.env.names),
        task_types=len(corpus.task_type.names),
    )
    header = tree_header(
        rules,
        counts,
        facts,
        name=name,
        config=choices,
        extra=remembered(counts.replaced, rest(corpus, tiled(prepared.sequence, merges))) if resumable else None,
    )
    return XTree(header, tuple(nodes))
