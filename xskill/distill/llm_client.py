"""Asking an OpenAI-compatible endpoint, at most once for each request."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from xskill.distill.teacher import Request
from xskill.errors import UsageError, XskillError
from xskill.streams.write import replacing


@dataclass(frozen=True, slots=True)
class Estimate:
    """What asking would cost, before anything is sent."""

    requests: int
    cached: int
    prompt_tokens: int
    answer_tokens: int

    @property
    def total(self) -> int:
        return self.prompt_tokens + self.answer_tokens

    def text(self, price: tuple[float, float] | None) -> str:
        """One sentence; ``price`` is dollars for a million prompt and answer tokens."""
        said = f"{self.requests} requests ({self.cached} cached), about {self.prompt_tokens:,} prompt tokens and up to "
        said += f"{self.answer_tokens:,} answer tokens"
        if price is not None:
            dollars = (self.prompt_tokens * price[0] + self.answer_tokens * price[1]) / 1e6
            said += f", up to ${dollars:.4f}"
        return said


def default_cache() -> Path:
    """``$XDG_CACHE_HOME/xskill/teacher``, else under ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "xskill" / "teacher"


def estimate(requests: Sequence[Request], cache: Path) -> Estimate:
    """Count what is not in the cache."""
    left = [request for request in requests if not _file(cache, request).exists()]
    return Estimate(
        requests=len(requests),
        cached=len(requests) - len(left),
        prompt_tokens=sum(request.tokens for request in left),
        answer_tokens=sum(request.body["max_tokens"] for request in left),
    )


def ask(
    requests: Sequence[Request],
    cache: Path,
    *,
    base_url: str | None,
    concurrency: int = 4,
    retries: int = 5,
    timeout: float = 120.0,
    answered: Callable[[int, int], None] = lambda done, total: None,
) -> list[dict[str, Any]]:
    """Answers in the Batch API's form, in the order of the requests.

    Rate limits and server errors are retried by the client, with its back-off and the server's ``Retry-After``. An
    answer is in the cache before the next one is awaited, so a run that was stopped asks only for the rest.

    Raises:
        UsageError: the openai package or a key is missing.
        XskillError: a request failed for good; the others' answers are in the cache.
    """
    openai = _openai()
    try:
        client = openai.OpenAI(base_url=base_url, max_retries=retries, timeout=timeout)
    except openai.OpenAIError as error:
        raise UsageError(f"--teacher: {error}") from None
    cache.mkdir(parents=True, exist_ok=True)

    def one(request: Request) -> dict[str, Any] | str:
        kept = _file(cache, request)
        if kept.exists():
            try:
                row: dict[str, Any] = msgspec.json.decode(kept.read_bytes())
            except (msgspec.DecodeError, RecursionError):
                return f"the kept answer {kept} is not valid JSON; remove it"
            return row
        try:
            completion = client.chat.completions.create(**request.body)
        except openai.OpenAIError as error:
            return f"{type(error).__name__}: {error}"
        body = completion.model_dump(mode="json")
        row = {"custom_id": request.custom_id, "response": {"status_code": 200, "body": body}, "error": None}
        with replacing(str(kept)) as target:
            target.write(msgspec.json.encode(row))
        return row

    rows: list[dict[str, Any]] = []
    failures: list[str] = []
    with ThreadPoolExecutor(concurrency) as pool:
        for number, outcome in enumerate(pool.map(one, requests), 1):
            answered(number, len(requests))
            if isinstance(outcome, str):
                failures.append(outcome)
            else:
                rows.append(outcome)
    if failures:
        raise XskillError(
            f"{len(failures)} of {len(requests)} requests failed: {failures[0]}; the rest is cached, run again"
        )
    return rows


def _openai() -> Any:
    try:
        return importlib.import_module("openai")
    except ImportError:
        raise UsageError("--teacher needs the package openai: pip install 'xskill-toolkit[llm]'") from None


def _file(cache: Path, request: Request) -> Path:
    return cache / f"{request.custom_id}.json"
