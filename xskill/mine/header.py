"""The header of a mined tree: every choice, and what the corpus was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xskill.mine.rules import Rules
from xskill.mine.tally import FAILED, SUCCEEDED, Tally
from xskill.records import Corpus as CorpusInfo
from xskill.records import TreeHeader


def tree_header(
    rules: Rules,
    counts: Tally,
    *,
    n_nodes: int,
    vocabulary: int,
    symbols: int,
    environments: list[str],
    task_types: int,
    name: str | None,
    config: Mapping[str, Any],
    stats: Mapping[str, Any] | None = None,
    extra: dict[str, Any] | None = None,
) -> TreeHeader:
    """Put a header together.

    Args:
        rules: what could merge, and the score.
        counts: of episodes and their own steps, by outcome.
        n_nodes: number of nodes.
        vocabulary: number of distinct tokens.
        symbols: what the steps became.
        environments: names, sorted.
        task_types: number of distinct ones.
        name: name of the corpus.
        config: the choices beyond the rules.
        stats: more facts about the run.
        extra: what :mod:`xskill.mine.residual` remembers, for trees that shall grow.
    """
    known = int(counts.corpus[FAILED:].sum())
    n_success = int(counts.corpus[SUCCEEDED])
    return TreeHeader(
        environment=environments[0] if len(environments) == 1 else None,
        corpus=CorpusInfo(name=name, n_trajectories=int(counts.corpus.sum()), successful_only=rules.successes_only),
        n_primitives=vocabulary,
        n_nodes=n_nodes,
        outcome=rules.outcome,
        config={**rules.as_config(), **config},
        stats={
            "steps": int(counts.steps.sum()),
            "steps_success": int(counts.steps[SUCCEEDED]),
            "steps_failure": int(counts.steps[FAILED]),
            "symbols": symbols,
            "episodes_known": known,
            "episodes_success": n_success,
            "base_rate": n_success / known if known else None,
            "environments": environments,
            "task_types": task_types,
            "vocabulary": vocabulary,
            **(stats or {}),
        },
        extra=extra or {},
    )
