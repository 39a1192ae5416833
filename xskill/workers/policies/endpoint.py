"""Samples from an OpenAI-compatible chat endpoint, with their log-probabilities where the server gives them.

The official client does the talking: connection pools, time-outs, back-off, ``Retry-After``. What it hands on
unchecked, a 200 with a broken body, is caught and retried here.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from typing import Any

from xskill.errors import UsageError
from xskill.workers.extras import need
from xskill.workers.session import CannotAnswer

Messages = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class Sample:
    """One completion."""

    text: str
    logprob: float | None
    """Sum over its tokens."""
    n_tokens: int | None
    cut: bool
    """It ended at the token limit."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where and how to sample.

    Attributes:
        model: its name at the server.
        base_url: e.g. ``http://127.0.0.1:8080/v1``; None = ``OPENAI_BASE_URL``, else OpenAI.
        temperature: of the sampling; the log-probabilities that servers give are those of the model at temperature 1.
        max_tokens: longest completion.
        logprobs: ask for log-probabilities; some servers refuse the wish.
        timeout: of one HTTP request, in seconds.
        retries: further tries after a refusal that may pass (408, 409, 429, 5xx), a time-out, a cut or broken answer.
        body: further fields of the request, for what a server wants beyond the standard.
    """

    model: str
    base_url: str | None = None
    temperature: float = 1.0
    max_tokens: int = 256
    logprobs: bool = True
    timeout: float = 120.0
    retries: int = 5
    body: dict[str, Any] | None = None


class _Refused(CannotAnswer):
    """The server does not take the request as it is."""


class Sampler:
    """A client of one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._openai = need("openai", "llm")
        self._endpoint = endpoint
        self._one_by_one = False
        """The server does not give several completions of one request."""
        local = endpoint.base_url is not None and "OPENAI_API_KEY" not in os.environ
        try:
            self._client = self._openai.OpenAI(
                base_url=endpoint.base_url,
                api_key="none" if local else None,
                timeout=endpoint.timeout,
                max_retries=endpoint.retries,
            )
        except self._openai.OpenAIError as error:
            raise UsageError(f"the model endpoint: {error}") from None

    def sample(
        self, messages: Messages, n: int, seed: int, *, stop: str | None = None, schema: dict[str, Any] | None = None
    ) -> list[Sample]:
        """``n`` completions of the same messages.

        They are asked for in one request, so that the prompt is paid once. A server that refuses to give several, or
        gives fewer, is asked again for each that is missing.

        Args:
            seed: passed on; with a server that heeds it, the same request gives the same samples.
            stop: text before which a completion ends.
            schema: JSON Schema that the completion has to fit.

        Raises:
            CannotAnswer: the endpoint refuses, or does not come round after all retries.
        """
        samples: list[Sample] = []
        if n > 1 and not self._one_by_one:
            try:
                samples = self._ask(messages, n, seed, stop, schema)[:n]
            except _Refused:
                self._one_by_one = True
        while len(samples) < n:
            samples += self._ask(messages, 1, seed + len(samples), stop, schema)[:1]
        return samples

    def _ask(
        self, messages: Messages, n: int, seed: int, stop: str | None, schema: dict[str, Any] | None
    ) -> list[Sample]:
        endpoint = self._endpoint
        wish: dict[str, Any] = {
            "model": endpoint.model,
            "messages": messages,
            "temperature": endpoint.temperature,
            "max_tokens": endpoint.max_tokens,
            "seed": seed % 2**31,
        }
        if n > 1:
            wish["n"] = n
        if endpoint.logprobs:
            wish["logprobs"] = True
        if stop is not None:
            wish["stop"] = stop
        if schema is not None:
            wish["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            }
        trouble = ""
        for attempt in range(endpoint.retries + 1):
            if attempt:
                time.sleep(min(8.0, 0.25 * 2**attempt))
            try:
                answer = self._client.chat.completions.create(**wish, extra_body=endpoint.body)
            except self._openai.OpenAIError as error:
                kind = _Refused if getattr(error, "status_code", None) in (400, 422) else CannotAnswer
                raise kind(f"the model endpoint: {' '.join(str(error).split())}") from None
            except (ValueError, TypeError) as error:  # a body that is no JSON
                trouble = f"{type(error).__name__}: {error}"
                continue
            samples = _samples(answer)
            if samples:
                return samples
            trouble = f"no completion in {str(answer)[:80]!r}"
        raise CannotAnswer(f"the model endpoint gave a broken answer {endpoint.retries + 1} times: {trouble}")


def _samples(answer: Any) -> list[Sample]:
    """What a response holds; empty when it is not one."""
    samples = []
    for choice in getattr(answer, "choices", None) or []:
        message = getattr(choice, "message", None)
        if message is None:
            return []
        text = getattr(message, "content", None) or ""
        logprob, n_tokens = _likelihood(choice)
        samples.append(
            Sample(
                text=str(text), logprob=logprob, n_tokens=n_tokens, cut=getattr(choice, "finish_reason", "") == "length"
            )
        )
    return samples


def _likelihood(choice: Any) -> tuple[float | None, int | None]:
    """Sum and number of the tokens' log-probabilities; None where the server does not tell (all of) them."""
    tokens = getattr(getattr(choice, "logprobs", None), "content", None) or []
    logprobs = [getattr(token, "logprob", None) for token in tokens]
    values = [value for value in logprobs if isinstance(value, (int, float)) and math.isfinite(value)]
    return (math.fsum(values), len(values)) if values and len(values) == len(logprobs) else (None, None)
