"""What the subcommands of ``xskill tree`` share."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from xskill.commands.types import INPUT, REFERENCE

TreeFile = Annotated[
    Optional[str],
    typer.Argument(metavar="[TREE]", parser=INPUT, help="Our stream, or the authors' JSON; none or - is stdin."),
]
TreeOption = Annotated[str, typer.Option("--tree", metavar="TREE", parser=REFERENCE, help="The tree to use.")]


def one_stdin(tree: str | None, files: list[str]) -> None:
    """The tree and the trajectories cannot both come from stdin."""
    from xskill.errors import UsageError

    if tree in (None, "-") and "-" in files:
        raise UsageError("the tree and the trajectories cannot both come from stdin; name a file for one of them")
