"""The face of the stage: episodes → X-Tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xskill.errors import NoSuccess, UsageError
from xskill.mine.corpus import Corpus, Labels
from xskill.mine.layout import Ints, PairIndex, Sequence, index_pairs, lay_out
from xskill.mine.merges import Merge, Miner
from xskill.mine.nodes import describe
from xskill.mine.outcomes import Classes, classify
from xskill.mine.rules import Rules
from xskill.records import Corpus as CorpusInfo
from xskill.records import TreeHeader
from xskill.tree.model import XTree

STRATA = ("env", "task_type", "question_id", "length")
"""What ``stratify`` may name; ``length`` is tertiles of the number of own steps."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A corpus laid out and indexed once, for any number of runs over it."""

    corpus: Corpus
    sequence: Sequence
    index: PairIndex

    @property
    def expansions(self) -> list[tuple[int, ...]]:
        """Tokens of each symbol: none for the separator, each token itself."""
        return [(), *((symbol,) for symbol in range(1, len(self.sequence.lengths)))]


def prepare(corpus: Corpus, max_skills: int) -> Prepared:
    """Lay out and index a corpus for trees of at most ``max_skills`` nodes."""
    sequence = lay_out(corpus, max_skills)
    return Prepared(corpus, sequence, index_pairs(sequence))


def merge_all(prepared: Prepared, classes: Classes, rules: Rules) -> list[Merge]:
    """The merges of one run."""
    corpus = prepared.corpus
    miner = Miner(prepared.sequence, prepared.index, classes, corpus.task_type.codes, prepared.expansions, rules)
    return miner.run()


def check_outcomes(corpus: Corpus, rules: Rules) -> None:
    """Raise :class:`NoSuccess` when no episode can have what is mined."""
    known = int((corpus.outcome >= 0).sum())
    n_success = int((corpus.outcome == 1).sum())
    if rules.successes_only and n_success == 0:
        raise NoSuccess(f"--successes-only: none of the {corpus.n_episodes:,} episodes is a success")
    if known and rules.outcome == "success" and n_success == 0:
        raise NoSuccess(
            f"all {known:,} episodes with an outcome failed, so no skill can be mined; "
            "--outcome failure mines what the failures have in common"
        )
    if known and rules.outcome == "failure" and n_success == known:
        raise NoSuccess(f"--outcome failure: all {known:,} episodes with an outcome succeeded")


def stratify(corpus: Corpus, field: str | None) -> tuple[Ints, str]:
    """Stratum of each episode, and the field that was used (``none`` for one stratum).

    Args:
        corpus: the episodes.
        field: one of :data:`STRATA` or ``none``; None chooses ``env`` when there are several, else none.
    """
    if field is None:
        field = "env" if len(corpus.env.names) > 1 else "none"
    if field == "none":
        return np.zeros(corpus.n_episodes, np.int32), field
    if field == "length":
        return _tertiles(corpus), field
    labels: dict[str, Labels] = {"env": corpus.env, "task_type": corpus.task_type, "question_id": corpus.question}
    if field not in labels:
        raise UsageError(f"--stratify {field}: unknown; choose one of {', '.join(STRATA)}, none")
    return labels[field].codes + np.int32(1), field


def _tertiles(corpus: Corpus) -> Ints:
    lengths = corpus.lengths
    known = np.sort(lengths[corpus.outcome >= 0])
    if not len(known):
        return np.zeros(len(lengths), np.int32)
    edges = known[[(len(known) - 1) // 3, 2 * (len(known) - 1) // 3]]
    return np.searchsorted(edges, lengths, side="left").astype(np.int32)


def mine(corpus: Corpus, rules: Rules, *, stratify_by: str | None = None, name: str | None = None) -> XTree:
    """Mine one X-Tree.

    Args:
        corpus: the coded episodes.
        rules: what may merge, and the score.
        stratify_by: see :func:`stratify`.
        name: name of the corpus, for the header.

    Raises:
        NoSuccess: no episode has the outcome that is mined.
    """
    check_outcomes(corpus, rules)
    strata, field = stratify(corpus, stratify_by)
    prepared = prepare(corpus, rules.max_skills)
    merges = merge_all(prepared, classify(corpus.outcome, rules), rules)
    nodes = describe(corpus, prepared.sequence, merges, rules, strata)
    config = {**rules.as_config(), "stratify": field, "association": "descriptive"}
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
