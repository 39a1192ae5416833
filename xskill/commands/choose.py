"""An option whose values are the names of a table: shown by help and completion, checked before the command runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from xskill.choices import ChoiceTable


def choose(table: ChoiceTable[Any], *names: str, help: str, metavar: str | None = None) -> Any:
    """The option of a table.

    Args:
        table: the choices; a value that is none of them is a :class:`xskill.errors.UsageError` with all names.
        names: as on the command line; none: that of the parameter.
        help: what the choice is about.
        metavar: what help shows in place of the names; the help text then lists them, each with its line.
    """
    shown = f"<{'|'.join(table.names)}>"
    if metavar is not None:
        lines = " · ".join(f"{entry.name} ({entry.help})" if entry.help else entry.name for entry in table)
        shown, help = metavar, f"{help} {lines}".strip()
    return typer.Option(*names, metavar=shown, help=help, callback=checked(table), autocompletion=_begins_with(table))


def checked(table: ChoiceTable[Any]) -> Callable[[str | None], str | None]:
    """Callback of an option that takes a name of the table."""

    def check(value: str | None) -> str | None:
        if value is not None:
            table[value]
        return value

    return check


def _begins_with(table: ChoiceTable[Any]) -> Callable[[str], list[str]]:
    def names(incomplete: str) -> list[str]:
        return [name for name in table.all_names() if name.startswith(incomplete)]

    return names
