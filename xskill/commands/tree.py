"""``xskill tree``: look at an X-Tree, and use it on trajectories."""

from __future__ import annotations

import typer

from xskill.commands.tree_look import diff, explore, show, stats
from xskill.commands.tree_use import context, instances, reward, tile

command = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Example: xskill mine episodes.jsonl | xskill tree show\n\nLook at an X-Tree, and use it on trajectories.",
)

command.command("show", short_help="Draw the routines of a tree, the most useful first.")(show)
command.command("stats", short_help="Count nodes, and how well a tree describes episodes.")(stats)
command.command("explore", short_help="Write a tree and episodes as one HTML page.")(explore)
command.command("diff", short_help="What changed from one tree to another.")(diff)
command.command("tile", short_help="Add to trajectories the routines that they are made of.")(tile)
command.command("instances", short_help="Make offline-RL instances of the routines in successes.")(instances)
command.command("reward", short_help="Shape the rewards of rollouts by the routines in them.")(reward)
command.command("context", short_help="Write context cards for self-distillation.")(context)
