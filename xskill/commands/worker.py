"""``xskill worker``: the shipped workers, one subcommand each."""

from __future__ import annotations

from typing import Annotated

import typer

command = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Example: xskill rollout expand tasks.jsonl --worker "xskill worker null"

    Commands that speak the worker protocol on stdin and stdout; `xskill rollout` starts them.
    """,
)

Rate = Annotated[
    float, typer.Option(metavar="P", min=0.0, max=1.0, help="Share of the turns that are not the expert's.")
]


@command.command("null")
def null(
    breadth: Annotated[int, typer.Option(metavar="N", min=1, help="Actions at each turn.")] = 3,
    depth: Annotated[int, typer.Option(metavar="N", min=1, help="Turns of an episode.")] = 6,
    rate: Rate = 0.5,
    value: Annotated[bool, typer.Option("--value", help="Tell how much of the path was right.")] = False,
    delay: Annotated[float, typer.Option(metavar="S", min=0.0, help="Seconds that each turn takes.")] = 0.0,
) -> None:
    """Example: xskill rollout puct tasks.jsonl --worker "xskill worker null --breadth 4 --rate 1"

    A toy that needs nothing: a full tree in which one path, drawn for each task, is rewarded. Its policy knows the path
    and leaves it at the given rate (1 - 1/breadth: no idea; 1: never right).
    """
    from xskill.rollouts.workers.null import NullEnvironment
    from xskill.rollouts.workers.policies import ExpertNoise
    from xskill.rollouts.workers.serve import serve

    serve(NullEnvironment(breadth, depth, delay=delay, value=value), ExpertNoise(rate))


@command.callback()
def _root() -> None:
    pass
