"""``xskill bank``: everything one does with a SkillBank."""

from __future__ import annotations

import typer

from xskill.commands import bank_apply, bank_evaluate, bank_exchange, bank_retrieve, bank_show

command = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Example: xskill bank show bank.jsonl\n\nShow, change, retrieve from, export and evaluate a SkillBank.",
)
command.command("show", short_help="Show a bank, or one skill with its evidence.")(bank_show.show)
command.command("diff", short_help="What changed between two banks.")(bank_show.diff)
command.command("apply", short_help="Apply edits and write the candidate bank.")(bank_apply.command)
command.command("retrieve", short_help="The skills that a task needs.")(bank_retrieve.command)
command.command("import", short_help="Read SkillRL's skill file.")(bank_exchange.import_)
command.command("export", short_help="Write Agent Skills folders, SkillRL JSON or prompt text.")(bank_exchange.export)
command.command("sft", short_help="Cold-start demonstrations for fine-tuning.")(bank_exchange.sft)
command.command("evaluate", short_help="Score a bank with your own evaluator.")(bank_evaluate.evaluate)
command.command("ablate", short_help="Leave one out: which skill helps, which hurts.")(bank_evaluate.ablate)
