"""``xskill distill``: trajectories and rollouts → a SkillBank, evidence or edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from xskill.commands.options import Files, Output, Quiet, Rejects, To
from xskill.errors import UsageError

if TYPE_CHECKING:
    from xskill.distill.learn import Learned
    from xskill.streams.run import Run

FORMS = ("bank", "edits", "evidence")


def command(
    files: Files = None,
    tree: Annotated[
        Optional[str], typer.Option(metavar="FILE", help="X-Tree with the routines; default: mined from the input.")
    ] = None,
    bank: Annotated[Optional[str], typer.Option(metavar="FILE", help="The present bank, for --as edits.")] = None,
    form: Annotated[str, typer.Option("--as", metavar="NAME", help=" · ".join(FORMS))] = "bank",
    evidence: Annotated[
        Optional[str], typer.Option(metavar="FILE", help="Evidence (--as evidence) to learn from too.")
    ] = None,
    failures_from: Annotated[
        Optional[str],
        typer.Option(metavar="FILE", help="Episodes with the present bank: edits for the task types that fail there."),
    ] = None,
    min_rate: Annotated[
        float, typer.Option(metavar="R", help="With --failures-from: a type with a lower success rate is failing.")
    ] = 0.4,
    max_new: Annotated[int, typer.Option(metavar="N", min=0, help="With --as edits: new skills at most.")] = 3,
    max_general: Annotated[int, typer.Option(metavar="N", min=0, help="General skills at most.")] = 8,
    max_per_type: Annotated[int, typer.Option(metavar="N", min=0, help="Skills of one task type at most.")] = 3,
    max_mistakes: Annotated[int, typer.Option(metavar="N", min=0, help="Mistakes at most.")] = 10,
    max_total: Annotated[int, typer.Option(metavar="N", min=0, help="Skills in all at most.")] = 60,
    min_support: Annotated[
        int, typer.Option(metavar="N", min=1, help="Episodes with an outcome that must hold a routine.")
    ] = 5,
    min_families: Annotated[
        Optional[int],
        typer.Option(metavar="N", min=1, help="Task types that must use a general skill; default: half, and 2."),
    ] = None,
    allow_split: Annotated[
        Optional[list[str]], typer.Option(metavar="NAME", help="Accept episodes of a held-out split; repeatable.")
    ] = None,
    output: Output = None,
    to: To = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill distill episodes.jsonl --tree tree.jsonl -o bank.jsonl

    Turn experience into skills, without a model: routines that go with success (general, or of one task type), and
    mistakes (routines that go with failure, loops, turns that change nothing, branches that lost against their
    siblings). Every skill names the questions it was made from; validation and test episodes are refused.
    """
    from xskill.bank.apply import Caps, apply_edits
    from xskill.bank.model import read_bank, write_bank
    from xskill.distill.evidence import gather
    from xskill.distill.learn import checked, evolved_edits, learn, learned_edits
    from xskill.distill.statistical import Limits
    from xskill.records import Edit, Evidence, Trajectory
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.write import open_output
    from xskill.tree.model import read_tree

    if form not in FORMS:
        raise UsageError(f"--as {form}: expected one of {', '.join(FORMS)}")
    if bank is None and (form == "edits" or failures_from is not None):
        raise UsageError("edits need --bank FILE: the bank to be edited")
    limits = Limits(max_general, max_per_type, max_mistakes, max_total, min_support, min_families)
    allowed = allow_split or []
    with Run("distill", quiet=quiet, rejects=rejects) as run:
        if form == "evidence":
            rows = gather(checked(read_records(files or [], Trajectory, run), allowed))
            run.set_summary(f"{len(rows)} comparisons")
            with open_output(output, to=to, kind=Evidence) as out:
                for row in rows:
                    out.write(row)
            return
        present = read_bank(bank, run) if bank is not None else None
        routines = read_tree(tree) if tree is not None else None
        if failures_from is not None and present is not None:
            edits, counts, weak = evolved_edits(
                read_records(files, Trajectory, run) if files else (),
                read_records([failures_from], Trajectory, run),
                present,
                routines,
                limits,
                min_rate=min_rate,
                max_new=max_new,
                allowed_splits=allowed,
            )
            for name in weak:
                run.note(f"{name}: {counts[name][0]} of {counts[name][1]} succeed, below {min_rate:g}")
            run.set_summary(f"{len(weak)} of {len(counts)} task types below {min_rate:g}")
        else:
            given = list(read_records([evidence], Evidence, run)) if evidence is not None else []
            source = read_records(files or [], Trajectory, run)
            learned = learn(source, routines, limits, allowed_splits=allowed, evidence=given)
            _summary(run, learned)
            if present is None:
                write_bank(output, learned.bank(), to)
                return
            edits = learned_edits(learned, present, max_new)
        if form == "bank" and present is not None:
            candidate, _ = apply_edits(present, edits, Caps(max_new, None, max_total))
            write_bank(output, candidate, to)
            return
        run.set_summary(f"{len(edits)} edits")
        with open_output(output, to=to, kind=Edit) as out:
            for edit in edits:
                out.write(edit)


def _summary(run: Run, learned: Learned) -> None:
    found = learned.distilled
    tiers = [sum(skill.tier == tier for skill in found.skills) for tier in ("general", "task", "mistake")]
    run.set_summary("{} general, {} task skills, {} mistakes".format(*tiers))
    ratio = found.raw_tokens / found.skill_tokens if found.skill_tokens else 0.0
    run.set_summary(f"{found.raw_tokens:,} tokens became {found.skill_tokens:,} ({ratio:.0f}x)")
    if found.coverage is not None:
        run.set_summary(f"{100 * found.coverage:.0f}% of the successful episodes hold a skill")
    if learned.skipped_rollouts:
        run.note(f"evidence from the first rollouts alone; {learned.skipped_rollouts:,} more gave none")
