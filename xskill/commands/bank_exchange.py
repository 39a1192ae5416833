"""``xskill bank import``, ``export`` and ``sft``: banks in other tools' forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from xskill.choices import Choice, ChoiceTable
from xskill.commands.bank_show import BankFile, BankOption, bank_path, file_or_pipe
from xskill.commands.choose import choose
from xskill.commands.given import refuse
from xskill.commands.options import Files, Output, Quiet, Rejects, To
from xskill.commands.types import INPUT, OUTPUT
from xskill.errors import UsageError

if TYPE_CHECKING:
    from xskill.bank.skillbank import Bank


def _skillrl(bank: Bank, output: str | None, licence: str | None) -> None:
    import json

    from xskill.bank.skillrl import to_skillrl
    from xskill.streams.write import write_text

    write_text(output, json.dumps(to_skillrl(bank), indent=2, ensure_ascii=False))


def _skills(bank: Bank, output: str | None, licence: str | None) -> None:
    from xskill.bank.agent_skills import skill_folders, write_folders
    from xskill.text.terminal import clean

    assert output is not None
    write_folders(output, skill_folders(bank, licence), clean)


def _prompt(bank: Bank, output: str | None, licence: str | None) -> None:
    from xskill.bank.prompt import render_prompt
    from xskill.streams.write import write_text
    from xskill.text.terminal import clean

    write_text(output, clean(render_prompt(bank.skills)))


class BankForm(Choice):
    """A form of a bank; ``implementation(bank, output, license)`` writes it."""

    folders: bool = False
    """It is a folder for each skill, which may name a license."""


FORMS = ChoiceTable(
    "--as",
    BankForm,
    [
        BankForm("skillrl", "the JSON that SkillRL loads", _skillrl),
        BankForm("skills", "one Agent Skills folder a skill", _skills, folders=True),
        BankForm("prompt", "text for a system prompt", _prompt),
    ],
)


def import_(
    file: Annotated[
        Optional[str], typer.Argument(metavar="[FILE]", parser=INPUT, help="SkillRL JSON; none or - is stdin.")
    ] = None,
    output: Output = None,
    to: To = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill bank import claude_style_skills.json -o bank.jsonl

    Read SkillRL's skill file (general_skills, task_specific_skills or query_type_skills, common_mistakes) as a bank.
    `xskill bank export --as skillrl` gives it back as it was.
    """
    from xskill.bank.skillbank import write_bank
    from xskill.bank.skillrl import read_skillrl
    from xskill.streams.run import Run

    with Run("bank import", quiet=quiet) as run:
        bank = read_skillrl(file_or_pipe(file))
        run.read = run.kept = len(bank.skills)
        run.set_summary(f"bank {bank.version}")
        write_bank(output, bank, to)


def export(
    ctx: typer.Context,
    file: BankFile = None,
    bank: BankOption = None,
    form: Annotated[str, choose(FORMS, "--as", metavar="NAME", help="")] = "skills",
    output: Annotated[
        Optional[str],
        typer.Option(
            "--output", "-o", metavar="PATH", parser=OUTPUT, help="File (skillrl, prompt) or new folder (skills)."
        ),
    ] = None,
    licence: Annotated[
        Optional[str],
        typer.Option("--license", metavar="NAME", help="License of the folders, such as Apache-2.0."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill bank export bank.jsonl --as skills -o skills

    skills: one Agent Skills folder a skill. skillrl: the JSON that SkillRL loads. prompt: text for a system prompt.
    Secrets are redacted once more on the way out.
    """
    from xskill.bank.safety import redacted
    from xskill.bank.skillbank import read_bank
    from xskill.streams.run import Run

    chosen = FORMS[form]
    if chosen.folders and output in (None, "-"):
        raise UsageError(f"--as {form} writes folders: name a new one with -o DIR")
    if not chosen.folders:
        refuse(ctx, ["licence"], f"belongs to --as skills; {form} names no license")
    with Run("bank export", quiet=quiet) as run:
        clean_bank, removed = redacted(read_bank(bank_path(file, bank), run))
        run.read = run.kept = len(clean_bank.skills)
        if removed:
            run.note("redacted: " + ", ".join(f"{n} {kind}" for kind, n in sorted(removed.items())))
        chosen.load()(clean_bank, output, licence)


def sft(
    files: Files = None,
    bank: Annotated[str, typer.Option("--bank", metavar="FILE", parser=INPUT, help="The bank.")] = ...,  # type: ignore[assignment]
    everything: Annotated[
        bool, typer.Option("--all", help="Keep episodes too that failed or whose outcome is unknown.")
    ] = False,
    budget: Annotated[
        Optional[int], typer.Option(metavar="TOKENS", min=0, help="Longest skill text in the system prompt.")
    ] = None,
    allow_split: Annotated[
        Optional[list[str]], typer.Option(metavar="NAME", help="Accept episodes of a held-out split; repeatable.")
    ] = None,
    output: Output = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill bank sft episodes.jsonl --bank bank.jsonl -o sft.jsonl

    Cold-start demonstrations: each successful episode as chat `messages`, with its skills in the system prompt, and the
    skill named where the actions follow it.
    """
    import msgspec

    from xskill.bank.sft import demonstrations
    from xskill.bank.skillbank import read_bank
    from xskill.bank.splits import check_allowed
    from xskill.records import Trajectory
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.text_out import open_lines

    allowed = allow_split or []
    check_allowed(allowed)
    following = 0
    with Run("bank sft", quiet=quiet, rejects=rejects) as run, open_lines(output) as write_line:
        skills = read_bank(bank, run)
        records = read_records(files or [], Trajectory, run)
        for row in demonstrations(records, skills, everything=everything, budget=budget, allow_split=allowed, run=run):
            following += bool(row["skills"])
            write_line(msgspec.json.encode(row))
        run.set_summary(f"{following:,} follow a skill")
