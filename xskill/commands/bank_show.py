"""``xskill bank show`` and ``xskill bank diff``."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from xskill.commands.options import AsJson, Output, Quiet
from xskill.commands.types import INPUT
from xskill.errors import UsageError

BankFile = Annotated[Optional[str], typer.Argument(metavar="[BANK]", parser=INPUT, help="A bank; none or - is stdin.")]
BankOption = Annotated[
    Optional[str], typer.Option("--bank", metavar="FILE", parser=INPUT, help="The bank; - is stdin.")
]


def bank_path(argument: str | None, option: str | None) -> str:
    """The one bank that was named, as an argument or with ``--bank``; stdin when neither was."""
    if argument is not None and option is not None:
        raise UsageError("name the bank once: as an argument or with --bank")
    return file_or_pipe(argument if argument is not None else option)


def file_or_pipe(name: str | None) -> str:
    """The file that was named, else stdin, which has to be more than a terminal then."""
    from xskill.streams.source import ensure_input

    ensure_input([name] if name is not None else [])
    return name if name is not None else "-"


def show(
    file: BankFile = None,
    bank: BankOption = None,
    skill: Annotated[Optional[str], typer.Option(metavar="ID", help="Show one skill with its evidence.")] = None,
    as_json: AsJson = False,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill bank show bank.jsonl

    Show a bank: version, tiers, every skill with its steps and the numbers that it stands on. In brackets its status,
    of distill: supported (q-value at most 0.05 over all that was tested) or unproven.
    """
    import msgspec

    from xskill.bank.page_text import as_rows, as_text
    from xskill.bank.skillbank import read_bank
    from xskill.streams.run import Run
    from xskill.streams.write import write_text

    present = read_bank(bank_path(file, bank), Run("bank show", quiet=quiet))
    if skill is not None and all(one.id != skill for one in present.skills):
        raise UsageError(f"--skill {skill}: no such id in the bank; `xskill bank show` lists them")
    if as_json:
        write_text(output, msgspec.json.encode(as_rows(present, skill)).decode())
    else:
        write_text(output, as_text(present, skill))


def diff(
    file: Annotated[
        Optional[str], typer.Argument(metavar="[NEW]", parser=INPUT, help="The newer bank; none or - is stdin.")
    ] = None,
    bank: Annotated[str, typer.Option("--bank", metavar="FILE", parser=INPUT, help="The older bank.")] = ...,  # type: ignore[assignment]
    as_json: AsJson = False,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill bank diff candidate.jsonl --bank bank.jsonl

    What changed from --bank to NEW: + added, - removed, ~ changed. The order of skills is no difference.
    """
    import msgspec

    from xskill.bank.changes import as_rows, as_text
    from xskill.bank.skillbank import read_bank
    from xskill.streams.run import Run
    from xskill.streams.write import write_text

    run = Run("bank diff", quiet=quiet)
    old, new = read_bank(bank, run), read_bank(file_or_pipe(file), run)
    write_text(output, msgspec.json.encode(as_rows(old, new)).decode() if as_json else as_text(old, new))
