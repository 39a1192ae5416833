"""``xskill schema``: the contracts as JSON Schema."""

from __future__ import annotations

import json
from typing import Annotated, Optional

import typer

from xskill.commands.options import Output, Quiet
from xskill.errors import UsageError


def command(
    name: Annotated[Optional[str], typer.Argument(help="Contract; without it, the names are listed.")] = None,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill schema trajectory > trajectory.schema.json

    Print the JSON Schema (2020-12) of a contract. Without a name, list the contracts.
    """
    from xskill.records import CONTRACTS, json_schema
    from xskill.streams.write import write_text

    if name is None:
        write_text(output, "\n".join(CONTRACTS))
        return
    if name not in CONTRACTS:
        raise UsageError(f"schema: no contract {name!r}; one of {', '.join(CONTRACTS)}")
    write_text(output, json.dumps(json_schema(name), indent=2, ensure_ascii=False))
