"""``xskill credit``: which turn earned the outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from xskill.choices import resolve
from xskill.commands.choose import choose
from xskill.commands.forms import CREDIT
from xskill.commands.given import refuse
from xskill.commands.options import Files, Output, Quiet, Rejects, To
from xskill.commands.types import finite
from xskill.credit.choices import BACKUPS, MAPS, METHODS, RATIOS, TURN_CREDITS
from xskill.errors import UsageError

if TYPE_CHECKING:
    from xskill.credit.methods import Config, Credits
    from xskill.rollouts.arrays import Rollouts
    from xskill.rollouts.original_records import Originals
    from xskill.streams.run import Run


RewardFrom = Literal["reward", "success"]


def command(
    ctx: typer.Context,
    files: Files = None,
    method: Annotated[str, choose(METHODS, help="How credit is made.")] = "treeopsd",
    backup: Annotated[str, choose(BACKUPS, help="Weights of the children of a node.")] = "likelihood",
    tau: Annotated[float, typer.Option(callback=finite, help="Temperature of the likelihood weights.")] = 1.0,
    turn_credit: Annotated[
        str, choose(TURN_CREDITS, help="Value of the action, or less the mean of its alternatives.")
    ] = "pointwise",
    map_: Annotated[str, choose(MAPS, "--map", help="From credit to the teacher's probability.")] = "odds",
    radius: Annotated[
        Optional[str],
        typer.Option(metavar="R|auto", help="How far a target may go; default 0.2, with --ratio mean 0.005."),
    ] = None,
    scale: Annotated[
        str, typer.Option(metavar="S|max", help="Credit at which a target reaches its bound; max: of the question.")
    ] = "1",
    ratio: Annotated[str, choose(RATIOS, help="Turn log ratio: sum over its tokens, or mean.")] = "sum",
    std: Annotated[
        Literal["population", "sample"], typer.Option(help="Deviation that advantages are divided by.")
    ] = "population",
    shared: Annotated[
        Literal["weight", "once"],
        typer.Option(help="Each of k copies of a turn weighs 1/k, or the first 1 and the others 0."),
    ] = "weight",
    option: Annotated[
        Optional[list[str]],
        typer.Option(metavar="NAME=VALUE", help="Option of a baseline; an unknown NAME lists them. Repeatable."),
    ] = None,
    reward_from: Annotated[RewardFrom, typer.Option(help="What counts as the reward.")] = "reward",
    per_turn: Annotated[bool, typer.Option("--per-turn", help="One flat row a turn.")] = False,
    as_: Annotated[
        Optional[str],
        choose(
            CREDIT,
            "--as",
            help="Rows for a trainer: credits broadcast over the sampled tokens. Traces for verifiers hold tokens and "
            "advantages only of trajectories whose turns all have steps[].extra.token_ids (with extra.mask 0 on what "
            "was not sampled); info.turn_rewards always holds the credits.",
        ),
    ] = None,
    jobs: Annotated[
        Optional[int],
        typer.Option("-j", "--jobs", metavar="N", min=1, help="Processes for a large file; the same output for any N."),
    ] = None,
    output: Output = None,
    to: To = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill credit rollouts.jsonl -o credits.jsonl

    Credit every turn of rollout trees and set the teacher's bounded targets (TreeOPSD), or compute a baseline's
    advantages. The header line holds every choice. Arrays are aligned with steps: values, credits, targets,
    target_ratios, weights, and with steps[].logprob_new residuals and losses.
    """
    from xskill.credit.methods import Config, run_method
    from xskill.credit.output import header, write_trajectories, write_turns
    from xskill.rollouts.load import read_rollouts
    from xskill.rollouts.read_apart import read_apart
    from xskill.streams.run import Run

    if per_turn and as_ is not None:
        raise UsageError("--per-turn and --as are two different outputs; give one")
    _refuse_unused(ctx, method, backup)
    config = Config(
        method=method,
        backup=backup,
        tau=tau,
        turn_credit=turn_credit,
        map=map_,
        radius="auto" if radius == "auto" else None if radius is None else number("--radius", radius),
        scale="max" if scale == "max" else number("--scale", scale),
        ratio=ratio,
        std=std,
        shared=shared,
        options=dict(_pair(text) for text in option or ()),
    )
    files = files or []
    with Run("credit", quiet=quiet, rejects=rejects) as run:
        plain = as_ is None and rejects is None
        apart = None
        if plain:
            apart = read_apart(files, reward_from=reward_from, keep=not per_turn, hold_texts=config.needs_texts)
        actions: Any = None
        if apart is not None:
            here, table = apart
            rollouts, trie, originals, actions = table.rollouts, table.trie, table.originals, table.actions
            run.read = run.kept = rollouts.n
        elif plain and not per_turn and _in_parts(files, config, reward_from, jobs, output, to, run):
            return
        else:
            rollouts, trie, originals = read_rollouts(files, run, reward_from=reward_from, keep=not per_turn)
        credits = run_method(rollouts, trie, config)
        _tell(run, credits.stats)
        if apart is not None:
            here.begin_output()
        head = header(config, credits, reward_from=reward_from)
        if as_ is not None:
            _write_rows(run, rollouts, originals, credits, as_, output, to)
        elif per_turn:
            write_turns(output, to, rollouts, credits, head, actions)
        else:
            write_trajectories(output, to, rollouts, originals, credits, head)


def _refuse_unused(ctx: typer.Context, method: str, backup: str) -> None:
    """Choices that the method, or the back-up, does not look at."""
    for name in dict.fromkeys(name for one in METHODS for name in one.looks_at):
        if name not in METHODS[method].looks_at:
            methods = " and ".join(one.name for one in METHODS if name in one.looks_at)
            why = f"belongs to --method {methods}; {method} does not look at it"
            refuse(ctx, ["map_" if name == "map" else name], why)
    if not BACKUPS[backup].by_likelihood:
        refuse(ctx, ["tau"], f"belongs to --backup likelihood; {backup} does not look at it")


def _tell(run: Run, stats: dict[str, Any]) -> None:
    lacking = stats.get("questions_without_logprob", 0)
    if lacking:
        run.note(f"{lacking:,} branched questions lack log-probabilities: --backup likelihood is mean there")
    positive = stats.get("positive_logprobs", 0)
    if positive:
        run.note(f"{positive:,} turns have log-probabilities above 0: is their sign turned?")
    run.set_summary(f"{stats['turns']:,} turns, {stats['nodes']:,} nodes")


def _in_parts(
    files: list[str],
    config: Config,
    reward_from: str,
    jobs: int | None,
    output: str | None,
    to: str | None,
    run: Run,
) -> bool:
    """Credit a large file in several processes; False, and nothing written, when that is not possible."""
    import contextlib
    import os

    from xskill.credit.output import header
    from xskill.credit.shards import can_be_parted, credit_in_parts
    from xskill.records import Trajectory
    from xskill.streams.write import container_of, open_output

    jobs = min(8, os.cpu_count() or 1) if jobs is None else jobs
    if jobs < 2 or container_of(output, to) == "parquet" or not can_be_parted(files, config):
        return False
    with contextlib.ExitStack() as stack:

        def begin(credits: Credits) -> Callable[[bytes], None]:
            out = stack.enter_context(open_output(output, to=to, kind=Trajectory))
            out.header(header(config, credits, reward_from=reward_from))
            return out.write_line

        whole = credit_in_parts(files[0], config, reward_from, jobs, begin)
    if whole is None:
        return False
    run.read = run.kept = whole.stats["trajectories"]
    _tell(run, whole.stats)
    return True


def _write_rows(
    run: Run, rollouts: Rollouts, originals: Originals, credits: Credits, as_: str, output: str | None, to: str | None
) -> None:
    import msgspec

    from xskill.errors import BadRecord
    from xskill.integrations.rows_parquet import write_rows
    from xskill.rollouts.original_records import original_lines, whole
    from xskill.streams.text_out import open_lines
    from xskill.streams.write import container_of

    form = CREDIT[as_]
    parquet = container_of(output, to) == "parquet"
    if parquet and form.columns is None:
        raise UsageError(f"--as {as_} writes JSON lines")
    make = form.load()
    credit, reward = ([None if x != x else x for x in of.tolist()] for of in (credits.credit, rollouts.reward))
    weight = None if credits.weight is None else credits.weight.tolist()
    start = rollouts.turn_start.tolist()

    def rows() -> Iterator[dict[str, Any]]:
        lacking = 0
        for i, line in enumerate(original_lines(originals, rollouts.place)):
            turns = slice(start[i], start[i + 1])
            record = whole(line, rollouts.place[i])
            try:
                row = make(record, credit[turns], None if weight is None else weight[turns], reward[i])
            except BadRecord as error:
                raise error.at(*rollouts.place[i]) from None
            lacking += form.lacks_tokens(row)
            yield row
        if lacking:
            run.note(
                f"{lacking:,} of {rollouts.n:,} trajectories have no steps[].extra.token_ids on every turn: their "
                "traces hold no tokens and no advantages, and their credits stand in info.turn_rewards"
            )

    if parquet:
        write_rows(output, rows(), resolve(form.columns))
        return
    with open_lines(output) as write_line:
        for row in rows():
            write_line(msgspec.json.encode(row))


def number(name: str, text: str) -> float:
    """A number given as text, for options that also take a word."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise UsageError(f"{name} {text}: expected a finite number")
    return value


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--option {text}: expected NAME=VALUE")
    return name, value
