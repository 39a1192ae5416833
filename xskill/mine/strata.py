"""Groups of episodes within which association is tested, and outcomes are exchangeable."""

from __future__ import annotations

import numpy as np

from xskill.errors import UsageError
from xskill.mine.corpus import Corpus, Labels
from xskill.mine.layout import Ints

STRATA = ("env", "task_type", "question_id", "length")
"""What ``stratify`` may name; ``length`` is tertiles of the number of own steps."""


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


def exchangeable(corpus: Corpus, strata: Ints) -> Ints:
    """Block of each episode: its question where that has several known outcomes, else its stratum."""
    question = corpus.question.codes
    known = corpus.outcome >= 0
    size = np.bincount(question[known & (question >= 0)], minlength=len(corpus.question.names) + 1)
    several = (question >= 0) & (size[question] > 1)
    return np.where(several, question + np.int32(strata.max(initial=0) + 1), strata)
