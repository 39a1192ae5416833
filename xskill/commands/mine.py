"""``xskill mine``: trajectories → X-Tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Optional

import typer

from xskill.commands.options import Files, Output, Quiet, Rejects, Seed, To
from xskill.commands.types import INPUT, SIDE, finite

if TYPE_CHECKING:
    from xskill.mine.tuning import Trial


def command(
    files: Files = None,
    preset: Annotated[
        Optional[str],
        typer.Option(metavar="NAME", help="Released settings: webarena, scienceworld, webshop or miniwob."),
    ] = None,
    outcome: Annotated[
        Optional[str], typer.Option(metavar="OUTCOME", help="success (default), or failure: mine lessons.")
    ] = None,
    p_length: Annotated[
        Optional[float],
        typer.Option(metavar="P", callback=finite, help="Exponent of a routine's length in the score (1)."),
    ] = None,
    p_success: Annotated[
        Optional[float],
        typer.Option(metavar="P", callback=finite, help="Exponent of its success share in the score (1)."),
    ] = None,
    epsilon: Annotated[
        Optional[float],
        typer.Option(metavar="E", callback=finite, help="Added to the success share before the power (0)."),
    ] = None,
    eta: Annotated[
        Optional[float],
        typer.Option(
            metavar="E", callback=finite, help="A merge must save more than E steps an action it holds (0.5)."
        ),
    ] = None,
    min_frequency: Annotated[
        Optional[int], typer.Option(metavar="N", help="Least occurrences of a pair that merges (5).")
    ] = None,
    max_length: Annotated[Optional[int], typer.Option(metavar="N", help="Longest routine, in actions (8).")] = None,
    max_skills: Annotated[Optional[int], typer.Option(metavar="N", help="Most nodes of the tree (256).")] = None,
    min_success_rate: Annotated[
        Optional[float],
        typer.Option(metavar="R", callback=finite, help="Least success share of a pair that merges (0)."),
    ] = None,
    min_families: Annotated[
        Optional[int], typer.Option(metavar="N", help="Least distinct task types that hold the pair (1).")
    ] = None,
    self_pairs: Annotated[
        Optional[str],
        typer.Option(metavar="HOW", help="`a a a` holds (a, a) twice: overlapping (default); once: disjoint."),
    ] = None,
    successes_only: Annotated[
        Optional[bool],
        typer.Option(
            "--successes-only/--all-outcomes",
            help="Count and merge by successes alone; task_types of a node then are those of successes that hold it.",
        ),
    ] = None,
    stratify: Annotated[
        Optional[str],
        typer.Option(
            metavar="FIELD",
            help="Test association within env, task_type, question_id or length (tertiles), or none; "
            "default: env when there are several.",
        ),
    ] = None,
    permutations: Annotated[
        int, typer.Option(metavar="B", min=0, help="Mine B times on shuffled outcomes too: an honest p_adjusted.")
    ] = 0,
    bootstrap: Annotated[
        int, typer.Option(metavar="B", min=0, help="Mine B resamples of the episodes too: stability of each node.")
    ] = 0,
    auto: Annotated[
        bool,
        typer.Option(
            "--auto", help="Choose --eta, --min-frequency and --p-success (those not given) on held-out tasks."
        ),
    ] = False,
    sweep: Annotated[
        Optional[str],
        typer.Option(metavar="FILE", parser=SIDE, help="Write all settings that --auto would try, with their scores."),
    ] = None,
    resumable: Annotated[
        bool, typer.Option("--resumable", help="Keep in the tree's header what a later --resume needs.")
    ] = False,
    resume: Annotated[
        Optional[str],
        typer.Option(
            metavar="TREE",
            parser=INPUT,
            help="Go on with a tree of earlier episodes; FILE holds the new ones alone.",
        ),
    ] = None,
    seed: Seed = 0,
    jobs: Annotated[
        Optional[int],
        typer.Option("-j", metavar="N", min=1, help="Processes for the repeated runs (1; of a Ray cluster, all)."),
    ] = None,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(help="Where the repeated runs run; ray: RAY_ADDRESS, else started here. The same bytes."),
    ] = "local",
    name: Annotated[Optional[str], typer.Option(metavar="NAME", help="Name of the corpus, for the header.")] = None,
    output: Output = None,
    to: To = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill mine episodes.jsonl | xskill tree show

    Merge adjacent actions into routines, the pair with the best X-Score first:
    frequency x length^p x success^p (X-Tree, arXiv 2609.32993). The tree depends on the set of
    episodes alone, never on their order. A branch counts the steps that it generated itself; without its parent in the
    input it counts whole. Association with success is descriptive unless --permutations.
    """
    from xskill.mine.mining import mine
    from xskill.mine.rules import RuleOptions
    from xskill.records import Episode
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.write import write_text
    from xskill.tree.xtree import read_tree, write_tree

    def write_trials(trials: Sequence[Trial]) -> None:
        from xskill.mine.tuning import as_lines

        write_text(sweep, as_lines(trials))

    rules: RuleOptions = {
        "outcome": outcome,  # type: ignore[typeddict-item]
        "p_length": p_length,
        "p_success": p_success,
        "epsilon": epsilon,
        "eta": eta,
        "min_frequency": min_frequency,
        "max_length": max_length,
        "max_skills": max_skills,
        "min_success_rate": min_success_rate,
        "min_families": min_families,
        "self_pairs": self_pairs,  # type: ignore[typeddict-item]
        "successes_only": successes_only,
    }
    earlier = read_tree(resume) if resume is not None else None
    with Run("mine", quiet=quiet, rejects=rejects) as run:
        tree = mine(
            read_records(files or [], Episode, run),
            preset=preset,
            stratify=stratify,
            permutations=permutations,
            bootstrap=bootstrap,
            auto=auto,
            seed=seed,
            jobs=jobs,
            engine=engine,
            resumable=resumable,
            resume=earlier,
            on_trials=write_trials if sweep is not None else None,
            name=name,
            run=run,
            **rules,
        )
        write_tree(tree, output, to=to)
        stats = tree.header.stats
        run.set_summary(f"{tree.header.n_nodes} nodes; {stats['steps']:,} steps became {stats['symbols']:,} symbols")
