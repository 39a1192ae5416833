"""``xskill distill``: trajectories and rollouts → a SkillBank, evidence or edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from xskill.commands.choose import choose
from xskill.commands.forms import DISTILL, DistillForm
from xskill.commands.given import refuse
from xskill.commands.options import Files, Output, Quiet, Rejects, To
from xskill.commands.types import INPUT, REFERENCE, SIDE, finite
from xskill.errors import UsageError

if TYPE_CHECKING:
    from xskill.commands.distill_teacher import Teaching
    from xskill.distill.stage import Learned
    from xskill.streams.run import Run

_LOST = "count nowhere"


def command(
    ctx: typer.Context,
    files: Files = None,
    tree: Annotated[
        Optional[str],
        typer.Option(metavar="FILE", parser=REFERENCE, help="X-Tree with the routines; default: mined from the input."),
    ] = None,
    bank: Annotated[
        Optional[str],
        typer.Option(metavar="FILE", parser=INPUT, help="The present bank, to be edited."),
    ] = None,
    form: Annotated[str, choose(DISTILL, "--as", metavar="NAME", help="")] = "bank",
    evidence: Annotated[
        Optional[str],
        typer.Option(metavar="FILE", parser=INPUT, help="Evidence (--as evidence) to learn from too."),
    ] = None,
    failures_from: Annotated[
        Optional[str],
        typer.Option(
            metavar="FILE",
            parser=INPUT,
            help="Episodes with the present bank: edits for the task types that fail there.",
        ),
    ] = None,
    min_rate: Annotated[
        float,
        typer.Option(
            metavar="R", callback=finite, help="With --failures-from: a type with a lower success rate is failing."
        ),
    ] = 0.4,
    max_new: Annotated[int, typer.Option(metavar="N", min=0, help="With --bank: new skills at most.")] = 3,
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
    teacher: Annotated[
        Optional[str], typer.Option(metavar="openai:MODEL", help="Let a model write the edits from the statistics.")
    ] = None,
    base_url: Annotated[Optional[str], typer.Option(metavar="URL", help="OpenAI-compatible endpoint.")] = None,
    requests: Annotated[
        Optional[str],
        typer.Option(metavar="OUT", parser=SIDE, help="Write what the teacher is asked as a batch file, and stop."),
    ] = None,
    responses: Annotated[
        Optional[str],
        typer.Option(metavar="IN", parser=INPUT, help="Read the teacher's answers from a batch file."),
    ] = None,
    max_tokens_total: Annotated[
        int, typer.Option(metavar="N", min=0, help="Send nothing when prompts and answers may cost more tokens.")
    ] = 200_000,
    answer_tokens: Annotated[int, typer.Option(metavar="N", min=1, help="Longest answer to one request.")] = 1500,
    price: Annotated[
        Optional[str], typer.Option(metavar="IN,OUT", help="Dollars for a million tokens, for the estimate.")
    ] = None,
    cache: Annotated[
        Optional[str], typer.Option(metavar="DIR", help="Answers are kept here; default: ~/.cache/xskill/teacher.")
    ] = None,
    concurrency: Annotated[int, typer.Option(metavar="N", min=1, help="Requests at the same time.")] = 4,
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
    siblings). Every skill names the questions it was made from; validation and test episodes are refused. Its status
    is supported when its q-value, over all that was tested, is at most 0.05 (and p_adjusted, where the tree has it for
    the same episodes), else unproven.
    """
    from xskill.bank.skillbank import read_bank, write_bank
    from xskill.bank.splits import check_allowed
    from xskill.commands.distill_teacher import Teaching, teach
    from xskill.distill.evidence import gather
    from xskill.distill.stage import applied, checked, evolved_edits, learn, learned_edits
    from xskill.distill.statistical import Limits
    from xskill.distill.teacher import Examples
    from xskill.records import Edit, Evidence, Skill, Trajectory
    from xskill.streams.orphans import tell_orphans
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.write import open_output
    from xskill.tree.xtree import read_tree

    chosen = DISTILL[form]
    if bank is None and (chosen.edits_a_bank or failures_from is not None):
        raise UsageError("edits need --bank FILE: the bank to be edited")
    if failures_from is not None and evidence is not None:
        raise UsageError("--failures-from learns from failing task types, --evidence from branches: one of the two")
    if not 0 <= min_rate <= 1:
        raise UsageError(f"--min-rate {min_rate:g}: expected a share, 0 to 1")
    check_allowed(allow_split or [])
    limits = Limits(max_general, max_per_type, max_mistakes, max_total, min_support, min_families)
    teaching = Teaching(
        teacher, base_url, requests, responses, max_tokens_total, answer_tokens, price, cache, concurrency
    )
    if not chosen.of_skills and (teaching.wanted or any((bank, tree, evidence, failures_from))):
        raise UsageError(f"--as {form} compares the branches of the input: it takes no other file, and no teacher")
    _refuse_unused(ctx, chosen, bank, failures_from, teaching)
    allowed = allow_split or []
    examples = Examples()
    with Run("distill", quiet=quiet, rejects=rejects) as run:
        if not chosen.of_skills:
            rows = gather(checked(read_records(files or [], Trajectory, run), allowed))
            run.set_summary(f"{len(rows)} comparisons")
            with open_output(output, to=to, kind=Evidence) as out:
                for row in rows:
                    out.write(row)
            return
        present = read_bank(bank, run) if bank is not None else None
        routines = read_tree(tree) if tree is not None else None
        findings: tuple[Skill, ...] = ()
        only = None
        if failures_from is not None and present is not None:
            source = tell_orphans(read_records(files, Trajectory, run), run, _LOST) if files else ()
            failures = read_records([failures_from], Trajectory, run)
            if teaching.wanted:
                source, failures = examples.watch(source), examples.watch(failures)
            evolution = evolved_edits(
                source,
                failures,
                present,
                routines,
                limits,
                min_rate=min_rate,
                max_new=max_new,
                allowed_splits=allowed,
            )
            edits, questions, only = evolution.edits, evolution.questions, evolution.weak
            for name in only:
                run.note(f"{name}: {evolution.counts[name][0]} of {evolution.counts[name][1]} succeed")
            run.set_summary(f"{len(only)} of {len(evolution.counts)} task types below {min_rate:g}")
        else:
            given = list(read_records([evidence], Evidence, run)) if evidence is not None else []
            source = tell_orphans(read_records(files or [], Trajectory, run), run, _LOST)
            if teaching.wanted:
                source = examples.watch(source)
            learned = learn(source, routines, limits, allowed_splits=allowed, evidence=given)
            _summary(run, learned)
            findings, questions = learned.distilled.skills, learned.questions
            if present is None and not teaching.wanted:
                write_bank(output, learned.bank(), to)
                return
            edits = learned_edits(learned, present, max_new) if present is not None else []
            present = present if present is not None else learned.bank()
        if teaching.wanted:
            taught = teach(teaching, examples, findings, present, only, run)
            if taught is None:
                return
            edits = taught
        if not chosen.edits_a_bank:
            write_bank(output, applied(present, edits, questions, max_new, max_total), to)
            return
        run.set_summary(f"{len(edits)} edits")
        with open_output(output, to=to, kind=Edit) as out:
            for edit in edits:
                out.write(edit)


def _refuse_unused(
    ctx: typer.Context, form: DistillForm, bank: str | None, failures_from: str | None, teaching: Teaching
) -> None:
    if not form.of_skills:
        names = ["max_new", "max_general", "max_per_type", "max_mistakes", "max_total", "min_support", "min_families"]
        refuse(ctx, names, f"belongs to skills; --as {form.name} makes none")
    if failures_from is None:
        refuse(ctx, ["min_rate"], "belongs to --failures-from FILE: which task types fail there")
    if bank is None and not teaching.wanted:
        refuse(ctx, ["max_new"], "belongs to the edits of a bank: give --bank FILE")
    if not teaching.wanted:
        names = ["max_tokens_total", "answer_tokens", "concurrency"]
        refuse(ctx, names, "belongs to --teacher openai:MODEL or --requests OUT")
    if teaching.requests is not None or teaching.responses is not None:
        names = ["max_tokens_total", "concurrency", "base_url"]
        refuse(ctx, names, "belongs to an endpoint; --requests and --responses are files")


def _summary(run: Run, learned: Learned) -> None:
    found = learned.distilled
    tiers = [sum(skill.tier == tier for skill in found.skills) for tier in ("general", "task", "mistake")]
    run.set_summary("{} general, {} task skills, {} mistakes".format(*tiers))
    ratio = found.raw_tokens / found.skill_tokens if found.skill_tokens else 0.0
    run.set_summary(f"{found.raw_tokens:,} tokens became {found.skill_tokens:,} ({ratio:.0f}x)")
    if found.coverage is not None:
        run.set_summary(f"{100 * found.coverage:.0f}% of the successful episodes hold a skill")
    else:
        run.note("no episode is known to have succeeded, so nothing can be said about what helps")
    if learned.skipped_rollouts:
        run.note(f"evidence from the first rollouts alone; {learned.skipped_rollouts:,} more gave none")
