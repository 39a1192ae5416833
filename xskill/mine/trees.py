"""The face of the stage: episodes → X-Tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from xskill.mine.corpus import Corpus
from xskill.mine.merges import Merge
from xskill.mine.nodes import describe
from xskill.mine.outcomes import classify
from xskill.mine.prepare import check_outcomes, merge_all, prepare
from xskill.mine.resampling import adjust, permutation_minima, stability
from xskill.mine.rules import Rules
from xskill.mine.strata import stratify
from xskill.records import Corpus as CorpusInfo
from xskill.records import TreeHeader
from xskill.tree.model import XTree


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of the nodes beyond the merges themselves."""

    stratify: str | None = None
    """Field to test association within; see :func:`xskill.mine.strata.stratify`."""
    permutations: int = 0
    """Runs of the whole miner on permuted outcomes, for ``p_adjusted``."""
    bootstrap: int = 0
    """Resamples of the episodes, for ``stability``."""
    seed: int = 0
    jobs: int = 1
    """Processes; they change the time and nothing else."""


def mine(
    corpus: Corpus,
    rules: Rules,
    questions: Questions = Questions(),
    *,
    name: str | None = None,
    config: Mapping[str, Any] = {},
) -> XTree:
    """Mine one X-Tree (arXiv 2609.32993; ALGORITHMS section 2).

    Args:
        corpus: the coded episodes.
        rules: what may merge, and the score.
        questions: tests and resamples.
        name: name of the corpus, for the header.
        config: how the rules were chosen, for the header.

    Raises:
        NoSuccess: no episode has the outcome that is mined.
    """
    check_outcomes(corpus, rules)
    strata, field = stratify(corpus, questions.stratify)
    prepared = prepare(corpus, rules.max_skills)
    merges = merge_all(prepared, classify(corpus.outcome, rules), rules)
    nodes = describe(corpus, prepared.sequence, merges, rules, strata)
    config = {**rules.as_config(), **config, "stratify": field, "association": "descriptive"}
    if questions.permutations:
        minima = permutation_minima(prepared, rules, strata, questions.permutations, questions.seed, questions.jobs)
        nodes = adjust(nodes, minima)
        config |= {"association": "permutation", "permutations": questions.permutations, "seed": questions.seed}
    if questions.bootstrap:
        expansions = [node.expansion for node in nodes]
        shares = stability(corpus, rules, expansions, questions.bootstrap, questions.seed, questions.jobs)
        nodes = [msgspec.structs.replace(node, stability=share) for node, share in zip(nodes, shares, strict=True)]
        config |= {"bootstrap": questions.bootstrap, "seed": questions.seed}
    return XTree(header(corpus, rules, merges, config, name), tuple(nodes))


def header(corpus: Corpus, rules: Rules, merges: list[Merge], config: dict[str, Any], name: str | None) -> TreeHeader:
    """The header: every choice, and what the corpus was."""
    known = int((corpus.outcome >= 0).sum())
    n_success = int((corpus.outcome == 1).sum())
    n_steps = len(corpus.steps)
    return TreeHeader(
        environment=corpus.env.names[0] if len(corpus.env.names) == 1 else None,
        corpus=CorpusInfo(name=name, n_trajectories=corpus.n_episodes, successful_only=rules.successes_only),
        n_primitives=len(corpus.tokens),
        n_nodes=len(merges),
        outcome=rules.outcome,
        config=config,
        stats={
            "steps": n_steps,
            "symbols": n_steps - sum(len(merge.positions) for merge in merges),
            "episodes_known": known,
            "episodes_success": n_success,
            "base_rate": n_success / known if known else None,
            "environments": list(corpus.env.names),
            "task_types": len(corpus.task_type.names),
            "vocabulary": len(corpus.tokens),
            "duplicates": corpus.n_duplicates,
        },
    )
