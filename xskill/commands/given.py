"""An option that the run would not look at is an error: nobody should believe that it did something."""

from __future__ import annotations

from collections.abc import Iterable

import typer

from xskill.errors import UsageError


def given(ctx: typer.Context, name: str) -> bool:
    """Whether the command's parameter ``name`` stands on the command line."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def refuse(ctx: typer.Context, names: Iterable[str], why: str) -> None:
    """Refuse those of the command's parameters that were given.

    Args:
        ctx: of the running command.
        names: as its function has them.
        why: goes on after the option: ``belongs to --shaping potential``.

    Raises:
        UsageError: names the first of them as the user writes it.
    """
    for name in names:
        if given(ctx, name):
            (option,) = (max(param.opts, key=len) for param in ctx.command.params if param.name == name)
            raise UsageError(f"{option} {why}")
