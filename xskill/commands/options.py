"""Options that mean the same in every command, and the types of files and numbers."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from xskill.commands.types import INPUT, OUTPUT, SIDE

Files = Annotated[
    Optional[list[str]],
    typer.Argument(
        metavar="[FILE]...", help="Inputs; none or - is stdin. gzip, zstd and Parquet by content.", parser=INPUT
    ),
]
Output = Annotated[
    Optional[str],
    typer.Option("--output", "-o", metavar="FILE", help="Write here, atomically, instead of to stdout.", parser=OUTPUT),
]
To = Annotated[
    Optional[str],
    typer.Option(metavar="CONTAINER", help="jsonl or parquet; default: by the ending of -o, else jsonl."),
]
Rejects = Annotated[
    Optional[str],
    typer.Option(metavar="FILE", help="Go on after bad records, and write each with its reason to FILE.", parser=SIDE),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary on stderr.")]
AsJson = Annotated[bool, typer.Option("--json", help="The report as one JSON object.")]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of everything random.")]
