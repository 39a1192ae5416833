"""``xskill worker``: the shipped workers, one subcommand each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Optional

import typer
from typer.core import TyperCommand, TyperGroup

from xskill.choices import ChoiceTable
from xskill.commands.types import finite
from xskill.commands.worker_options import (
    BaseUrl,
    ModelName,
    PolicyName,
    Rate,
    Set,
    make_policy,
    make_sampler,
    refuse_unused,
)
from xskill.workers.choices import Worker

_HELP = {"help_option_names": ["-h", "--help"]}


class Workers(TyperGroup):
    """The shipped workers, then those of other packages."""

    _only_listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(WORKERS.all_names())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in WORKERS:
            return super().get_command(ctx, cmd_name)
        if self._only_listing:
            return TyperCommand(cmd_name, short_help=f"Of {WORKERS.sources()[cmd_name]}.")
        worker = WORKERS[cmd_name]
        single = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=_HELP)
        single.command(cmd_name, short_help=worker.help)(worker.load())
        return typer.main.get_command(single)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._only_listing = True
        super().format_help(ctx, formatter)


command = typer.Typer(
    cls=Workers,
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings=_HELP,
    help="""Example: xskill rollout expand tasks.jsonl --worker "xskill worker null"

    Commands that speak the worker protocol on stdin and stdout, one JSON object a line; `xskill rollout` starts them,
    or your own in any language. An answer depends on the request alone (prefix: actions since the reset; seed: luck).

    \b
    {"op": "reset", "id", "task": {…}, "seed"}            → {"observation", "done": false}
    {"op": "propose", "id", "prefix", "k", "skills", "seed"}
        → {"children": [{"action", "logprob"?, "n_tokens"?, "prior"?, "thought"?}, …]}
    {"op": "step", "id", "prefix", "action"}              → {"observation", "done", "reward", "value"?, "success"?}
    {"op": "finish", "id", "prefix", "max_turns", "skills", "seed"}
        → {"steps": [{"action", "observation", "reward", …}, …], "done", "reward"?, "success"?}
    any                                                   → {"error": "why it cannot be answered"}

    `expand` needs reset and finish, `puct` all four. reward is a step's; their sum, or that of finish, is the outcome.
    finish may hand out the next turns only, with done false: it is asked on.
    """,
)

Tasks = Annotated[bool, typer.Option("--tasks", help="Print a task record for each task it knows, and leave.")]


def scienceworld(
    ctx: typer.Context,
    policy: PolicyName = "expert-noise",
    rate: Rate = 0.2,
    simplification: Annotated[str, typer.Option(metavar="NAMES", help="By commas; easy is all of them.")] = "easy",
    reward: Annotated[
        str, typer.Option(metavar="WHAT", help="score (0 to 1, as it grows) or success (1 for the full score).")
    ] = "score",
    model: ModelName = None,
    base_url: BaseUrl = None,
    settings: Set = None,
    tasks: Tasks = False,
) -> None:
    """Example: xskill worker scienceworld --tasks | grep find-plant > tasks.jsonl

    Then: xskill rollout expand tasks.jsonl -w "xskill worker scienceworld --rate 0.3". A task record holds `task_type`
    and `variation`. The expert is the simulator's gold path.
    """
    from typing import get_args

    from xskill.errors import UsageError
    from xskill.workers.environments.scienceworld import RewardFrom, ScienceWorldEnvironment, list_tasks
    from xskill.workers.serve import serve

    if tasks:
        _print(list_tasks())
        return
    if reward not in get_args(RewardFrom):
        raise UsageError(f"--reward {reward}: expected {' or '.join(get_args(RewardFrom))}")
    refuse_unused(ctx, policy)
    acts = make_policy(policy, rate, model, base_url, settings)
    serve(ScienceWorldEnvironment(simplification, reward, gold=policy == "expert-noise"), acts)  # type: ignore[arg-type]


def alfworld(
    ctx: typer.Context,
    games: Annotated[str, typer.Option(metavar="DIR", help="Folder with game.tw-pddl files, at any depth.")] = ...,  # type: ignore[assignment]
    policy: PolicyName = "expert-noise",
    rate: Rate = 0.2,
    expert: Annotated[
        str, typer.Option(metavar="WHO", help="handcoded (looks for things) or planner (knows where they are).")
    ] = "handcoded",
    model: ModelName = None,
    base_url: BaseUrl = None,
    settings: Set = None,
    tasks: Tasks = False,
) -> None:
    """Example: xskill worker alfworld --games DIR --tasks > tasks.jsonl

    Then: xskill rollout expand tasks.jsonl -w "xskill worker alfworld --games DIR". A task record names its `game`, a
    folder in DIR.
    """
    from xskill.errors import UsageError
    from xskill.workers.environments.alfworld import AlfworldEnvironment, list_tasks
    from xskill.workers.serve import serve

    if tasks:
        _print(list_tasks(games))
        return
    if expert not in ("handcoded", "planner"):
        raise UsageError(f"--expert {expert}: expected handcoded or planner")
    refuse_unused(ctx, policy)
    acts = make_policy(policy, rate, model, base_url, settings)
    serve(AlfworldEnvironment(games, expert if policy == "expert-noise" else "none"), acts)  # type: ignore[arg-type]


def textworld(
    ctx: typer.Context,
    games: Annotated[Optional[str], typer.Option(metavar="DIR", help="Folder with compiled games.")] = None,
    policy: PolicyName = "expert-noise",
    rate: Rate = 0.2,
    model: ModelName = None,
    base_url: BaseUrl = None,
    settings: Set = None,
) -> None:
    """Example: echo '{"id": "t1", "game_seed": 1}' | xskill rollout expand -w "xskill worker textworld"

    A task record holds `game`, a file in DIR, or `game_seed` and, if wanted, `rooms`, `objects` and `quest_length` of
    the game that is made from it. The expert is the game's walkthrough.
    """
    from xskill.workers.environments.textworld import TextWorldEnvironment
    from xskill.workers.serve import serve

    refuse_unused(ctx, policy)
    acts = make_policy(policy, rate, model, base_url, settings)
    serve(TextWorldEnvironment(games), acts)


def llm(
    environment: Annotated[
        str, typer.Option(metavar="CMD", help="Worker command that answers reset and step; it may list `actions`.")
    ] = ...,  # type: ignore[assignment]
    model: ModelName = None,
    base_url: BaseUrl = None,
    settings: Set = None,
    patience: Annotated[
        float, typer.Option(metavar="S", min=0.01, callback=finite, help="Longest wait for the environment.")
    ] = 120.0,
) -> None:
    """Example: xskill rollout puct tasks.jsonl -w "xskill worker llm --environment ./env --model qwen3 --base-url URL"

    The environment is a worker of its own; the model proposes what to do in it. OPENAI_API_KEY is the key.
    """
    from xskill.sampling.coprocess import parse_command
    from xskill.workers.environments.foreign import ForeignEnvironment
    from xskill.workers.serve import serve

    acts = make_policy("llm", 0.0, model, base_url, settings)
    serve(ForeignEnvironment(parse_command(environment), patience), acts)


def follower(
    environment: Annotated[
        str, typer.Option(metavar="CMD", help="Worker command that answers reset and step and lists `actions`.")
    ] = ...,  # type: ignore[assignment]
    patience: Annotated[
        float, typer.Option(metavar="S", min=0.01, callback=finite, help="Longest wait for the environment.")
    ] = 120.0,
) -> None:
    """Example: xskill rollout expand tasks.jsonl --bank bank.jsonl -w "xskill worker follower --environment ./env"

    Follows the steps of the skills as far as the actions that can be taken allow, and explores in a fixed order where
    they say nothing, so that success rates show what a bank is worth. The workers above have it as `--policy follower`.
    """
    from xskill.sampling.coprocess import parse_command
    from xskill.workers.environments.foreign import ForeignEnvironment
    from xskill.workers.follower import Follower
    from xskill.workers.serve import serve

    serve(ForeignEnvironment(parse_command(environment), patience), Follower())


def chat(
    checker: Annotated[
        Optional[str],
        typer.Option(
            metavar="CMD",
            help="Gets {task, steps, answer} as JSON, prints the reward; default: compare with the task's `answer`.",
        ),
    ] = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    settings: Set = None,
) -> None:
    """Example: xskill rollout puct math.jsonl -w "xskill worker chat --model qwen3 --base-url URL --checker ./check"

    A turn is one step of reasoning; the episode ends with a line `Answer: …` or a `\\boxed{}`.
    """
    from xskill.sampling.coprocess import parse_command
    from xskill.workers.environments.reasoning import ReasoningEnvironment
    from xskill.workers.policies.llm import LlmPolicy, read_step, reasoning
    from xskill.workers.serve import serve

    words = parse_command(checker, "--checker") if checker is not None else None
    sampler, _ = make_sampler(model, base_url, settings)
    serve(ReasoningEnvironment(words), LlmPolicy(sampler, reasoning, read_step))


def null(
    breadth: Annotated[int, typer.Option(metavar="N", min=1, help="Actions at each turn.")] = 3,
    depth: Annotated[int, typer.Option(metavar="N", min=1, help="Turns of an episode.")] = 6,
    rate: Rate = 0.5,
    value: Annotated[bool, typer.Option("--value", help="Tell for how long the path was right.")] = False,
    delay: Annotated[
        float, typer.Option(metavar="S", min=0, callback=finite, help="Seconds that each turn takes.")
    ] = 0.0,
) -> None:
    """Example: xskill rollout puct tasks.jsonl -w "xskill worker null --breadth 4 --rate 0.75"

    A full tree in which one path, drawn for each task, is rewarded. Its policy knows the path and leaves it at the
    given rate (1 - 1/breadth: it has no idea).
    """
    from xskill.workers.environments.null import NullEnvironment
    from xskill.workers.policies.without_model import ExpertNoise
    from xskill.workers.serve import serve

    serve(NullEnvironment(breadth, depth, delay=delay, value=value), ExpertNoise(rate))


def _print(records: Iterable[dict[str, Any]]) -> None:
    """JSON lines on stdout; what a simulator prints meanwhile goes to stderr."""
    import json
    import os
    import sys

    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        for record in records:
            out.write(json.dumps(record, ensure_ascii=False) + "\n")


WORKERS = ChoiceTable(
    "worker",
    Worker,
    [
        Worker("scienceworld", "ScienceWorld (extra [scienceworld], and Java).", scienceworld),
        Worker("alfworld", "ALFWorld (extra [alfworld]) on a folder of its games.", alfworld),
        Worker("textworld", "TextWorld (extra [textworld]): games of a folder, or made from a seed.", textworld),
        Worker("llm", "A model (extra [llm]) in anybody's environment.", llm),
        Worker("follower", "No model: does what its skills say, in anybody's environment.", follower),
        Worker("chat", "A model (extra [llm]) that reasons, with a checker of its answers.", chat),
        Worker("null", "A toy that needs nothing.", null),
    ],
    group="xskill.workers",
)

for _worker in WORKERS:
    command.command(_worker.name, short_help=_worker.help)(_worker.implementation)
