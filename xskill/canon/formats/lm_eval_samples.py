"""Samples of the lm-evaluation-harness: a line ``{doc_id, doc, arguments, resps, filter, metrics}`` for each filter.

Each filter writes the same document again, so the lines of a document are one episode; the first filter's metric is
the verdict, the others go to ``extra``. ``target`` and ``doc`` hold the gold answer: the task is the prompt that was
sent. Tasks that compare likelihoods have no answer, and thus no step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text, loads_maybe, sorted_dumps
from xskill.canon.reading.dialog import Dialog
from xskill.canon.reading.episode import Place, RawEpisode
from xskill.canon.reading.fields import at, entry, string

_VERDICTS = ("exact_match", "acc", "em", "pass@1", "correct", "prompt_level_strict_acc", "acc_norm")
_LIKELIHOOD = 2

Row = tuple[int, dict[str, Any]]


def detect(value: Any) -> bool:
    return isinstance(value, dict) and {"doc_id", "doc", "arguments", "resps"} <= value.keys()


def read(values: Iterable[tuple[int, Any]], place: Place) -> Iterator[RawEpisode]:
    documents: dict[str, list[Row]] = {}
    for index, value in values:
        if not detect(value):
            place.tally.lose("records of no known kind")
            continue
        # A later run appends to the same file: its answers make a sample of their own.
        key = sorted_dumps([value["doc_id"], value.get("doc_hash"), value["arguments"] if "filter" not in value else 0,
                            value["resps"]])  # fmt: skip
        documents.setdefault(key, []).append((index, value))
    names: dict[str, int] = {}
    for rows in documents.values():
        name = string(rows[0][1].get("doc_id"), "doc_id") or ""
        names[name] = names.get(name, 0) + 1
        yield _episode(rows, name if names[name] == 1 else f"{name}-{names[name]}", place)


def _episode(rows: list[Row], name: str, place: Place) -> RawEpisode:
    index, first = rows[0]
    scores: dict[str, dict[str, Any]] = {}
    for _, row in rows:
        label = string(row.get("filter"), "filter") or "none"
        if label in scores:
            place.tally.skip("repeated records")
        scores.setdefault(label, _metrics(row))
    prompt = _prompt(first["arguments"])
    dialog = Dialog()
    dialog.user(prompt)
    for answer in _answers(first["resps"], place):
        dialog.agent(answer)
    verdict = next((scores[label][k] for label in scores for k in _VERDICTS if k in scores[label]), None)
    graded = verdict if isinstance(verdict, (bool, int, float)) else None
    digest = hashlib.sha256((prompt or "").encode("utf-8", "replace")).hexdigest()[:8]
    return RawEpisode(
        steps=dialog.steps,
        id=f"{place.stem}-{name}",
        question_id=f"{string(first.get('doc_id'), 'doc_id')}-{digest}",
        task=prompt,
        success=graded if isinstance(graded, bool) else None,
        reward=float(graded) if graded is not None else None,
        extra={"scores": scores, "filter": next(iter(scores))},
        record=index,
    )


def _metrics(row: dict[str, Any]) -> dict[str, Any]:
    listed = row.get("metrics")
    names = listed if isinstance(listed, list) else [*_VERDICTS, "f1", "bleu", "word_perplexity"]
    return {name: row[name] for name in names if isinstance(name, str) and name in row}


def _prompt(arguments: Any) -> str | None:
    """The prompt that was sent: a text, or a chat as JSON, of which the user's last message counts."""
    prompt = at(arguments, "gen_args_0.arg_0") if isinstance(arguments, dict) else at(arguments, "0.0")
    chat = loads_maybe(prompt)
    if isinstance(chat, list):
        users = [m for m in chat if isinstance(m, dict) and m.get("role") == "user"]
        return as_text(entry(users[-1]).get("content")) if users else as_text(chat)
    return as_text(prompt)


def _answers(resps: Any, place: Place) -> list[str]:
    """The answer that was generated; none for likelihoods of given answers."""
    listed = resps if isinstance(resps, list) else []
    texts = []
    for answers in listed:
        of_one = answers if isinstance(answers, list) else [answers]
        texts += [answer for answer in of_one if isinstance(answer, str)]
        if any(isinstance(answer, list) and len(answer) == _LIKELIHOOD for answer in of_one):
            place.tally.skip("likelihoods of given answers")
    if len(texts) > 1:
        place.tally.lose("answers beside the first choice", len(texts) - 1)
    return texts[:1]


FORMAT = Format("lm-eval-samples", "samples of the lm-evaluation-harness", "stream", detect, read)
