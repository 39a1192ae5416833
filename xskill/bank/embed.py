"""Embeddings for retrieval, from an OpenAI-compatible endpoint or a local sentence-transformers model."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

import numpy as np

from xskill.array_types import Floats
from xskill.errors import UsageError, XskillError

Encoder = Callable[[Sequence[str]], Floats]
"""Texts → one row of an embedding each."""

BATCH = 256


def encoder(name: str, base_url: str | None = None) -> Encoder:
    """``openai:MODEL`` (extra ``[llm]``) or ``local:MODEL`` (extra ``[embed]``) → texts to rows.

    Raises:
        UsageError: another form, or the package for it is not installed.
    """
    kind, _, model = name.partition(":")
    if kind == "openai" and model:
        return _endpoint(model, base_url)
    if kind == "local" and model:
        return _local(model)
    raise UsageError(f"--embed {name}: expected openai:MODEL or local:MODEL")


def _endpoint(model: str, base_url: str | None) -> Encoder:
    openai = _package("openai", "llm")
    try:
        client = openai.OpenAI(base_url=base_url)
    except openai.OpenAIError as error:
        raise UsageError(f"--embed openai:{model}: {error}") from None

    def encode(texts: Sequence[str]) -> Floats:
        rows: list[list[float]] = []
        try:
            for start in range(0, len(texts), BATCH):
                answer = client.embeddings.create(
                    model=model, input=list(texts[start : start + BATCH]), encoding_format="float"
                )
                rows += [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
        except openai.OpenAIError as error:
            raise XskillError(f"the embedding endpoint failed: {error}") from None
        return np.asarray(rows, dtype=np.float64)

    return encode


def _local(model: str) -> Encoder:
    loaded = _package("sentence_transformers", "embed").SentenceTransformer(model)

    def encode(texts: Sequence[str]) -> Floats:
        return np.asarray(loaded.encode(list(texts)), dtype=np.float64)

    return encode


def _package(name: str, extra: str):  # type: ignore[no-untyped-def]
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UsageError(f"--embed needs the package {name}: pip install 'xskill-toolkit[{extra}]'") from None
