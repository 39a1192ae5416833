"""``xskill tree tile | instances | reward | context``: use a tree on trajectories."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from xskill.commands.choose import choose
from xskill.commands.given import refuse
from xskill.commands.options import Files, Output, Quiet, Rejects, Seed, To
from xskill.commands.tree_options import TreeOption, one_stdin
from xskill.commands.types import INPUT, finite
from xskill.tree.forms import CARDS, TRAINERS


def tile(
    tree: TreeOption,
    files: Files = None,
    output: Output = None,
    to: To = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill tree tile --tree tree.jsonl episodes.jsonl

    Add to each trajectory its tiles (the routines and single actions that it is made of), the share of its actions
    that routines cover, and its tiles per action. Of a branch, the part is tiled that it generated itself.
    """
    from xskill.records import Trajectory
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.write import open_output
    from xskill.tree.tiles import tile as tiled
    from xskill.tree.xtree import read_tree

    one_stdin(tree, files or ["-"])
    with Run("tree tile", quiet=quiet, rejects=rejects) as run:
        read = read_tree(tree)
        with open_output(output, to=to, kind=Trajectory) as out:
            for record in tiled(read, read_records(files or [], Trajectory, run), run):
                out.write(record)


def instances(
    tree: TreeOption,
    files: Files = None,
    curriculum: Annotated[str, typer.Option(metavar="KIND", help="depth: shallow routines first; none.")] = "none",
    max_per_node: Annotated[
        Optional[int], typer.Option(metavar="N", min=1, help="At most N instances of a routine, drawn at random.")
    ] = None,
    dedupe: Annotated[bool, typer.Option("--dedupe", help="Leave out equal histories with equal gold.")] = False,
    ablation: Annotated[
        Optional[str],
        typer.Option(metavar="KIND", help="random-span: same lengths, random places; outcome: only full matches pay."),
    ] = None,
    mix: Annotated[
        float, typer.Option(metavar="SHARE", callback=finite, help="Share of whole trajectories in the output.")
    ] = 0.0,
    template: Annotated[
        Optional[str],
        typer.Option(metavar="TOML", parser=INPUT, help="Texts of the prompt: system, task, action, observation."),
    ] = None,
    profile: Annotated[
        Optional[str],
        typer.Option(metavar="NAME", help="Profile that scores completions; default: the one that gives the tokens."),
    ] = None,
    trainer: Annotated[
        Optional[str], choose(TRAINERS, "--as", metavar="TRAINER", help="Columns for a trainer:")
    ] = None,
    output: Output = None,
    to: To = None,
    seed: Seed = 0,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill tree instances --tree tree.jsonl --curriculum depth --as verl -o train.parquet episodes.jsonl

    One offline-RL instance for each occurrence of a routine in a successful episode, sub-routines too: the task and
    the episode so far as a prompt, the routine's actions as the gold continuation. The reward of a completion is
    0.7 of the share of leading actions that match, and 0.3 (1 + depth/2) more for all of them.
    """
    from typing import get_args

    from xskill.errors import UsageError
    from xskill.records import Instance, Trajectory
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.write import open_output
    from xskill.tree.occurrences import Ablation, Curriculum, InstanceChoices
    from xskill.tree.occurrences import instances as build_instances
    from xskill.tree.prompts import PromptTemplate, read_template
    from xskill.tree.trainer_rows import write_rows
    from xskill.tree.xtree import read_tree

    for name, value, kinds in (("curriculum", curriculum, Curriculum), ("ablation", ablation, Ablation)):
        if value is not None and value not in get_args(kinds):
            raise UsageError(f"--{name} {value}: expected one of {', '.join(get_args(kinds))}")
    choices = InstanceChoices(curriculum, max_per_node, dedupe, ablation, mix, seed)  # type: ignore[arg-type]
    texts = PromptTemplate() if template is None else read_template(template)
    one_stdin(tree, files or ["-"])
    with Run("tree instances", quiet=quiet, rejects=rejects) as run:
        records = read_records(files or [], Trajectory, run)
        rows = build_instances(read_tree(tree), records, choices, template=texts, profile=profile, run=run)
        if trainer is not None:
            n = write_rows(rows, trainer, output, to)
        else:
            n = 0
            with open_output(output, to=to, kind=Instance) as out:
                for n, instance in enumerate(rows, start=1):  # noqa: B007 - the count is said below
                    out.write(instance)
        run.set_summary(f"{n:,} instances")


def reward(
    ctx: typer.Context,
    tree: TreeOption,
    files: Files = None,
    outcome: Annotated[
        str, typer.Option(metavar="FIELD", help="What a rollout got: success (0 or 1) or reward (graded).")
    ] = "success",
    scale: Annotated[float, typer.Option(metavar="X", min=0, callback=finite, help="Factor of the bonus.")] = 2.0,
    strength: Annotated[
        float, typer.Option(metavar="X", min=0, callback=finite, help="lambda of a group without a success.")
    ] = 0.75,
    threshold: Annotated[
        float,
        typer.Option(metavar="RATE", callback=finite, help="Success rate of a group from which on its lambda is 0."),
    ] = 0.4,
    cap: Annotated[
        Optional[float],
        typer.Option(
            metavar="C",
            min=0,
            callback=finite,
            help="Most that may be added: below 1, no failure can outscore a success.",
        ),
    ] = None,
    shaping: Annotated[
        Optional[str],
        typer.Option(metavar="KIND", help="potential: instead, a term for each turn that keeps the optimal policy."),
    ] = None,
    gamma: Annotated[
        float, typer.Option(metavar="G", min=0, max=1, callback=finite, help="Discount, for --shaping potential.")
    ] = 1.0,
    potential_scale: Annotated[
        float,
        typer.Option(
            metavar="X", min=0, max=1e6, callback=finite, help="Potential of a unit of bonus, for --shaping potential."
        ),
    ] = 0.1,
    output: Output = None,
    to: To = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill tree reward --tree tree.jsonl rollouts.jsonl

    Add to each rollout its bonus (for the routines in it, each once), its group's bonus_weight (lambda: large while
    few rollouts of a question succeed, 0 from 40% on), its shaped_reward, its advantage in the group, and its tiles.
    A group is all rollouts of one question_id, so nothing is written before everything was read.
    """
    from typing import get_args

    from xskill.errors import UsageError
    from xskill.records import Trajectory
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.write import open_output
    from xskill.tree.reward_stream import Outcome, read_rollouts, shaped, with_potential
    from xskill.tree.shaping import Shaping, bonus_of
    from xskill.tree.xtree import read_tree

    if outcome not in get_args(Outcome):
        raise UsageError(f"--outcome {outcome}: expected one of {', '.join(get_args(Outcome))}")
    if shaping not in (None, "potential"):
        raise UsageError(f"--shaping {shaping}: expected potential")
    if shaping is None:
        refuse(ctx, ["gamma", "potential_scale"], "belongs to --shaping potential")
    else:
        names = ["outcome", "scale", "strength", "threshold", "cap"]
        refuse(ctx, names, "belongs to the bonus of a group; --shaping potential does not look at it")
    choices = Shaping(strength=strength, threshold=threshold, scale=scale, cap=cap)
    one_stdin(tree, files or ["-"])
    with Run("tree reward", quiet=quiet, rejects=rejects) as run:
        bonus = bonus_of(read_tree(tree))
        with open_output(output, to=to, kind=Trajectory) as out:
            if shaping is not None:
                for record in read_records(files or [], Trajectory, run):
                    out.write(with_potential(record, bonus, potential_scale, gamma))
                return
            rollouts = read_rollouts(files or [], run)
            for line in shaped(rollouts, bonus, choices, "reward" if outcome == "reward" else "success"):
                out.write_line(line)


def context(
    ctx: typer.Context,
    tree: TreeOption,
    files: Files = None,
    task_type: Annotated[
        Optional[list[str]],
        typer.Option(metavar="NAME", help="A card for this task type, without reading episodes; may be repeated."),
    ] = None,
    by_type: Annotated[bool, typer.Option("--by-type", help="A card for every task type of the tree.")] = False,
    form: Annotated[str, choose(CARDS, "--as", metavar="FORM", help="")] = "jsonl",
    budget: Annotated[Optional[int], typer.Option(metavar="N", min=1, help="Most tokens of a card.")] = None,
    routines: Annotated[int, typer.Option(metavar="N", min=1, help="Most routines of a card.")] = 6,
    output: Output = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill tree context --tree tree.jsonl --by-type --as text

    Context cards for self-distillation: what goes into the teacher's prompt, and not into the student's. One card for
    each trajectory read, by its task type and its actions so far; or, without reading any, for task types.
    """
    import msgspec

    from xskill.errors import UsageError
    from xskill.records import Episode
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.text_out import open_lines
    from xskill.text.terminal import clean
    from xskill.tree.context_cards import cards, type_cards
    from xskill.tree.xtree import read_tree

    without_episodes = bool(task_type) or by_type
    if without_episodes and files:
        raise UsageError("--task-type and --by-type read no episodes; leave the files out")
    if without_episodes:
        refuse(ctx, ["rejects"], "belongs to a stream of episodes; --task-type and --by-type read none")
    one_stdin(tree, [] if without_episodes else files or ["-"])
    with Run("tree context", quiet=quiet, rejects=rejects) as run, open_lines(output) as write_line:
        read = read_tree(tree)
        if without_episodes:
            rows = type_cards(read, task_type or [], by_type=by_type, budget=budget, most=routines, run=run)
        else:
            rows = cards(read, read_records(files or [], Episode, run), budget=budget, most=routines)
        for row in rows:
            write_line(clean(row.context).encode() + b"\n" if form == "text" else msgspec.json.encode(row))
