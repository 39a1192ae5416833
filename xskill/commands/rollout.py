"""``xskill rollout``: sample rollout trees, and look at them."""

from __future__ import annotations

import typer

from xskill.commands import rollout_expand, rollout_look, rollout_puct

command = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Example: xskill rollout show rollouts.jsonl\n\nSample rollout trees, build, show and check them.",
)
command.command("expand", short_help="Sample episodes, then branches from their turns.")(rollout_expand.command)
command.command("puct", short_help="Search each task's tree.")(rollout_puct.command)
command.command("build", short_help="Each shared turn once, parent links checked.")(rollout_look.build)
command.command("show", short_help="One tree in the terminal, or as a page.")(rollout_look.show)
command.command("check", short_help="Is the credit estimator sane on this data?")(rollout_look.check)
