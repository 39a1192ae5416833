"""Which skills does this task need? (SkillRL's retrieval, with lexical similarity by default)"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xskill.array_types import Floats
from xskill.bank.embed import Encoder
from xskill.bank.embed import encoder as encoder_of
from xskill.bank.prompt import skill_lines
from xskill.bank.similarity import purpose_of, words
from xskill.bank.skillbank import Bank
from xskill.bounds import bounded
from xskill.errors import UsageError
from xskill.records import Skill
from xskill.text.quoted import estimate_tokens

STOP_WORDS = frozenset(
    """a an and are as at be before by for from has have if in into is it its not of on only or that the them then there
    this to when where which with you your""".split()
)


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved skill; ``similarity`` is None where no similarity decided."""

    skill: Skill
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Index:
    """A bank made ready for queries.

    Lexical: postings of an inverted index (term → skill numbers, weights). With an encoder: one unit row a skill.
    """

    general: tuple[Skill, ...]
    task: tuple[Skill, ...]
    mistakes: tuple[Skill, ...]
    postings: dict[str, tuple[npt.NDArray[np.intp], Floats]]
    idf: dict[str, float]
    types: dict[str, npt.NDArray[np.intp]]
    encoder: Encoder | None = None
    rows: Floats | None = None


def build_index(bank: Bank, encoder: Encoder | None = None) -> Index:
    """Index the task skills of a bank.

    Lexical similarity is the cosine of TF-IDF vectors: ``tf = 1 + ln(count)``, ``idf = ln((1 + n)/(1 + df)) + 1``,
    over words without the commonest function words; a skill's text counts with its task type.
    """
    task = tuple(skill for skill in bank.skills if skill.tier == "task")
    types: dict[str, list[int]] = {}
    for number, skill in enumerate(task):
        types.setdefault(skill.task_type or "", []).append(number)
    documents = [f"{skill.task_type or ''}\n{purpose_of(skill)}" for skill in task]
    postings: dict[str, tuple[npt.NDArray[np.intp], Floats]] = {}
    idf: dict[str, float] = {}
    rows = None
    if encoder is None:
        postings, idf = _postings([_terms(document) for document in documents])
    elif documents:
        rows = _unit(encoder(documents))
    return Index(
        general=tuple(skill for skill in bank.skills if skill.tier == "general"),
        task=task,
        mistakes=tuple(skill for skill in bank.skills if skill.tier == "mistake"),
        postings=postings,
        idf=idf,
        types={name: np.asarray(numbers, dtype=np.intp) for name, numbers in types.items()},
        encoder=encoder,
        rows=rows,
    )


def index(bank: Bank, *, embed: str | None = None, base_url: str | None = None) -> Index:
    """A bank made ready for many calls of :func:`retrieve`.

    Example::

        ready = bank.index(bank.load("bank.jsonl"))
        prompts = [bank.retrieve(ready, task) for task in ("heat an egg", "clean a plate")]

    Args:
        bank: its task skills are indexed.
        embed: ``openai:MODEL`` or ``local:MODEL``: similarity of embeddings instead of words.
        base_url: endpoint for ``openai:MODEL``.

    Raises:
        UsageError: an unknown kind of model, or its client is not installed.
    """
    if base_url is not None and not (embed or "").startswith("openai:"):
        raise UsageError("--base-url is the endpoint of --embed openai:MODEL")
    return build_index(bank, encoder_of(embed, base_url) if embed is not None else None)


@bounded(top=(0, None), threshold=(-1, 1), budget=(0, None))
def retrieve(
    bank: Bank | Index,
    task: str,
    task_type: str | None = None,
    *,
    top: int = 6,
    threshold: float = 0.4,
    budget: int | None = None,
    embed: str | None = None,
    base_url: str | None = None,
) -> list[Hit]:
    """The skills that a task needs: all general ones, the best task skills, the mistakes of the type.

    Task skills: at most ``top``, first those of the task's own type (whatever their similarity: the type is a better
    sign than words), then others with similarity >= ``threshold``; best first, ties in bank order. Without a type, that
    of the best hit counts. Mistakes: those without a type, and those of the type.

    Example::

        hits = bank.retrieve(bank.load("bank.jsonl"), "put a clean apple in the fridge", top=3)
        titles = [hit.skill.title for hit in hits]

    Args:
        bank: a bank, or what :func:`index` made of it (then ``embed`` and ``base_url`` were chosen there).
        task: text of the task.
        task_type: its type, if known.
        top: task skills at most.
        threshold: similarity from which a skill of another or unknown type is taken.
        budget: leave out what does not fit into so many tokens (4 characters a token): mistakes and general skills give
            way before task skills, later ones before earlier ones.
        embed: see :func:`index`.
        base_url: see :func:`index`.

    Raises:
        UsageError: a value out of range, or an embedding that cannot be had.
    """
    if isinstance(bank, Index) and (embed, base_url) != (None, None):
        raise UsageError("--embed: the index of a bank was made with its own; choose it there")
    ready = bank if isinstance(bank, Index) else index(bank, embed=embed, base_url=base_url)
    scores = _scores(ready, task)
    eligible = scores >= threshold
    own = ready.types.get(task_type) if task_type is not None else None
    rank = scores.copy()
    if own is not None:
        eligible[own] = True
        rank[own] += 2.0
    numbers = np.flatnonzero(eligible)
    if 0 < top < numbers.size:
        floor = np.partition(rank[numbers], numbers.size - top)[numbers.size - top]
        numbers = numbers[rank[numbers] >= floor]
    chosen = numbers[np.argsort(-rank[numbers], kind="stable")][:top]
    hits = [Hit(ready.task[n], float(scores[n])) for n in chosen.tolist()]
    kind = task_type if task_type is not None else (hits[0].skill.task_type if hits else None)
    mistakes = [Hit(skill) for skill in ready.mistakes if skill.task_type is None or skill.task_type == kind]
    general = [Hit(skill) for skill in ready.general]
    if budget is None:
        return general + hits + mistakes
    return _within(budget, general, hits, mistakes)


def _within(budget: int, general: list[Hit], task: list[Hit], mistakes: list[Hit]) -> list[Hit]:
    left = budget
    kept: set[str] = set()
    for group in (task, general, mistakes):
        for hit in group:
            cost = estimate_tokens("\n".join(skill_lines(hit.skill)) + "\n")
            if cost <= left:
                left -= cost
                kept.add(hit.skill.id)
    return [hit for hit in [*general, *task, *mistakes] if hit.skill.id in kept]


def _terms(text: str) -> Counter[str]:
    return Counter(word for word in words(text) if word not in STOP_WORDS)


def _postings(
    documents: Sequence[Counter[str]],
) -> tuple[dict[str, tuple[npt.NDArray[np.intp], Floats]], dict[str, float]]:
    n = len(documents)
    df = Counter(term for document in documents for term in document)
    idf = {term: float(np.log((1 + n) / (1 + count)) + 1) for term, count in df.items()}
    numbers: dict[str, list[int]] = {term: [] for term in df}
    weights: dict[str, list[float]] = {term: [] for term in df}
    for number, document in enumerate(documents):
        vector = {term: (1 + float(np.log(count))) * idf[term] for term, count in document.items()}
        norm = float(np.sqrt(sum(value * value for value in vector.values()))) or 1.0
        for term, value in vector.items():
            numbers[term].append(number)
            weights[term].append(value / norm)
    return {term: (np.asarray(numbers[term], dtype=np.intp), np.asarray(weights[term])) for term in df}, idf


def _scores(index: Index, task: str) -> Floats:
    scores = np.zeros(len(index.task))
    if index.encoder is not None:
        return index.rows @ _unit(index.encoder([task]))[0] if index.rows is not None else scores
    unseen = float(np.log(1 + len(index.task)) + 1)
    vector = {term: (1 + float(np.log(n))) * index.idf.get(term, unseen) for term, n in _terms(task).items()}
    norm = float(np.sqrt(sum(value * value for value in vector.values()))) or 1.0
    for term, value in vector.items():
        if term in index.postings:
            numbers, weights = index.postings[term]
            scores[numbers] += weights * (value / norm)
    return scores


def _unit(rows: Floats) -> Floats:
    rows = np.asarray(rows, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)
