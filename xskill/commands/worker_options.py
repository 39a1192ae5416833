"""The options that choose the policy of a worker, and the one place that makes the policy."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from xskill.commands.choose import choose
from xskill.commands.given import refuse
from xskill.commands.types import finite
from xskill.errors import UsageError
from xskill.workers.choices import POLICIES

if TYPE_CHECKING:
    from xskill.workers.policies.endpoint import Sampler
    from xskill.workers.session import Policy

PolicyName = Annotated[str, choose(POLICIES, "--policy", metavar="NAME", help="Who acts:")]
Rate = Annotated[
    float,
    typer.Option(
        metavar="P", min=0, max=1, callback=finite, help="expert-noise: share of turns that are not the expert's."
    ),
]
ModelName = Annotated[Optional[str], typer.Option("--model", metavar="NAME", help="llm: the model.")]
BaseUrl = Annotated[
    Optional[str],
    typer.Option(metavar="URL", help="llm: OpenAI-compatible endpoint, e.g. http://127.0.0.1:8080/v1."),
]


@dataclass(frozen=True, slots=True)
class Settings:
    """What ``--set`` can set for a model, with the defaults."""

    temperature: float = 1.0
    max_tokens: int = 256
    """Longest completion."""
    logprobs: bool = True
    """Ask for log-probabilities; some servers refuse."""
    history: int | None = None
    """Show the model the last turns only; null = all."""
    list_actions: int = 0
    """Show the actions that can be taken if there are at most so many."""
    constrain: bool = False
    """It may only say one of them (the server needs JSON schemas)."""
    timeout: float = 120.0
    """Of one HTTP request, in seconds."""
    retries: int = 5
    """Further tries after 429, 5xx, time-outs, cut and broken answers."""


_KEYS = ", ".join(f"{field.name} ({json.dumps(field.default)})" for field in fields(Settings))

Set = Annotated[
    Optional[list[str]],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help=f"llm, repeatable: {_KEYS}; body.KEY: a further field of the request, as JSON.",
    ),
]


def read_settings(pairs: list[str]) -> tuple[Settings, dict[str, Any]]:
    """Settings and further request fields of ``KEY=VALUE`` pairs; a value is JSON, or else a text.

    Raises:
        UsageError: no such key, or a value of another type.
    """
    import msgspec

    given: dict[str, Any] = {}
    body: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        if not equals or not key:
            raise UsageError(f"--set {pair}: expected KEY=VALUE")
        if key.startswith("body."):
            body[key.removeprefix("body.")] = value
        elif key in {field.name for field in fields(Settings)}:
            given[key] = value
        else:
            raise UsageError(f"--set {pair}: one of {_KEYS}, or body.KEY")
    try:
        return msgspec.convert(given, Settings), body
    except msgspec.ValidationError as error:
        raise UsageError(f"--set: {error}") from None


def make_policy(name: str, rate: float, model: str | None, base_url: str | None, pairs: list[str] | None) -> Policy:
    """The policy that acts in an environment.

    Raises:
        UsageError: no such policy, or one that lacks what it needs.
    """
    chosen = POLICIES[name]
    if "model" not in chosen.looks_at:
        policy: Policy = chosen.load()(rate) if "rate" in chosen.looks_at else chosen.load()()
        return policy
    from xskill.workers.policies.llm import acting, read_action

    sampler, settings = make_sampler(model, base_url, pairs)
    messages = acting(settings.history, settings.list_actions)
    with_model: Policy = chosen.load()(sampler, messages, read_action, constrain=settings.constrain)
    return with_model


def refuse_unused(ctx: typer.Context, policy: str) -> None:
    """Options of another policy are a :class:`UsageError`."""
    for other in POLICIES:
        if other.name != policy:
            refuse(ctx, other.looks_at, f"belongs to --policy {other.name}; {policy} does not look at it")


def make_sampler(model: str | None, base_url: str | None, pairs: list[str] | None) -> tuple[Sampler, Settings]:
    """The endpoint, and what else was set.

    Raises:
        UsageError: no model, a bad setting, or the client is not installed.
    """
    from xskill.workers.policies.endpoint import Endpoint, Sampler

    if model is None:
        raise UsageError("--model NAME: which model of the endpoint?")
    settings, body = read_settings(pairs or [])
    endpoint = Endpoint(
        model=model,
        base_url=base_url,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        logprobs=settings.logprobs,
        timeout=settings.timeout,
        retries=settings.retries,
        body=body or None,
    )
    return Sampler(endpoint), settings
