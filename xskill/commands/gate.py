"""``xskill gate``: may the candidate bank replace the current one?"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Literal, Optional

import typer

from xskill.commands.choose import choose
from xskill.commands.options import AsJson, Output, Quiet, Seed
from xskill.commands.types import INPUT, OUTPUT, REFERENCE, SIDE, finite
from xskill.errors import EXIT_INCONCLUSIVE, EXIT_REJECT, CannotWrite, UsageError
from xskill.gate.policies import POLICIES

if TYPE_CHECKING:
    from xskill.bank.skillbank import Bank
    from xskill.records import Result, Trajectory, Verdict
    from xskill.streams.raw import RawRecord
    from xskill.streams.run import Run


def command(
    current: Annotated[
        str,
        typer.Argument(
            metavar="CURRENT",
            parser=REFERENCE,
            help="Results, trajectories or a raw log of the current bank; - is stdin.",
        ),
    ],
    candidate: Annotated[
        str, typer.Argument(metavar="CANDIDATE", parser=REFERENCE, help="The same of the candidate bank.")
    ],
    policy: Annotated[str, choose(POLICIES, metavar="NAME", help="")] = "nonworse",
    metric: Annotated[
        Optional[list[str]],
        typer.Option(metavar="NAME:max|min", help="A metric to decide on; repeatable. Direction by name if not given."),
    ] = None,
    guard: Annotated[
        Optional[list[str]], typer.Option(metavar="NAME:max|min", help="A metric that must not get worse; repeatable.")
    ] = None,
    max_regressions: Annotated[
        Optional[int], typer.Option(metavar="K", min=0, help="Reject when more than K tasks got worse.")
    ] = None,
    regression_tolerance: Annotated[
        float,
        typer.Option(metavar="T", min=0, callback=finite, help="A task counts as worse when it lost more than T."),
    ] = 0.0,
    alpha: Annotated[float, typer.Option(metavar="A", callback=finite, help="1 - level of the intervals.")] = 0.05,
    margin: Annotated[
        Optional[list[str]],
        typer.Option(metavar="[NAME=]M", help="Policy margin: the loss that still counts as not worse; repeatable."),
    ] = None,
    missing: Annotated[
        Literal["fail", "drop"],
        typer.Option(help="A run without a metric, or with NaN: an error, or leave its task out on both sides."),
    ] = "fail",
    current_bank: Annotated[
        Optional[str], typer.Option(metavar="FILE", parser=INPUT, help="Bank behind CURRENT.")
    ] = None,
    candidate_bank: Annotated[
        Optional[str],
        typer.Option(metavar="FILE", parser=INPUT, help="Bank behind CANDIDATE; it must not be made from these tasks."),
    ] = None,
    promote: Annotated[
        Optional[str],
        typer.Option(
            metavar="OUT",
            parser=OUTPUT,
            help="On accept, write the candidate bank here, atomically; else change nothing.",
        ),
    ] = None,
    history: Annotated[
        Optional[str],
        typer.Option(metavar="FILE", parser=SIDE, help="Append the verdict, accepted or not, to FILE."),
    ] = None,
    as_json: AsJson = False,
    output: Output = None,
    quiet: Quiet = False,
    seed: Seed = 0,
) -> None:
    """Example: xskill gate current.jsonl candidate.jsonl --metric success:max --guard tokens:min --max-regressions 0

    Compare two runs over the same tasks and decide. Exit 0: accept, 3: reject, 4: inconclusive. A side is a file of
    results (xskill bank evaluate), of trajectories, or a raw log that xskill canon reads (old.eval new.eval).
    Repeats of a task are averaged first; differences below 1e-12 are ties.
    """
    from xskill.gate.compare import by_task
    from xskill.gate.gate_face import GateOptions, judge
    from xskill.gate.sides import as_results
    from xskill.records import encode
    from xskill.streams.run import Run
    from xskill.streams.write import write_text

    options = GateOptions(
        policy, metric or [], guard or [], max_regressions, regression_tolerance, alpha, margin or [], seed, missing
    )
    if promote is not None and candidate_bank is None:
        raise UsageError("--promote needs --candidate-bank FILE: the bank to write")
    if current == "-" and candidate == "-":
        raise UsageError("only one of CURRENT and CANDIDATE can be stdin")
    with Run("gate", quiet=quiet) as run:
        now, then, unasked = as_results(*(_read_side(path, run) for path in (current, candidate)))
        old, new = by_task(now, "current"), by_task(then, "candidate")
        banks = _read_banks(current_bank, candidate_bank, run)
        names = (f"{current}: current results", f"{candidate}: candidate results")
        verdict, unchecked = judge(old, new, options, *banks, unasked=unasked, names=names)
        if unchecked:
            run.note(f"{len(unchecked)} skills name no source questions: no leak check for them")
        if verdict.decision == "accept" and promote is not None and banks[1] is not None:
            _promote(promote, banks[1], verdict)
            run.set_summary(f"promoted {banks[1].version}")
        if history is not None:
            _append(history, encode(verdict))
        run.set_summary(verdict.decision)
        write_text(output, encode(verdict).decode() if as_json else _for_people(verdict, output))
    if verdict.decision != "accept":
        raise typer.Exit(EXIT_REJECT if verdict.decision == "reject" else EXIT_INCONCLUSIVE)


def _read_side(path: str, run: Run) -> list[Result | Trajectory]:
    """The results or trajectories of one side, which is no side without any."""
    from xskill.errors import NoRecord
    from xskill.streams.raw import iter_raw

    if not _is_ours(path):
        from xskill.canon import read

        records: list[Result | Trajectory] = list(read(path))
    else:
        records = [_record(raw) for raw in iter_raw([path], run.note) if not raw.is_header]
    if not records:
        raise NoRecord(f"{path}: no record in the input")
    run.read += len(records)
    run.kept += len(records)
    return records


def _is_ours(path: str) -> bool:
    """Whether a file is to be read as records of ours: it is no raw log of a format that canon knows, or stdin."""
    from xskill.canon.detect import open_folder, open_log
    from xskill.errors import XskillError
    from xskill.streams.raw import iter_raw
    from xskill.streams.source import open_input

    def ignore(_: str) -> None:
        """The reader says it again."""

    if path == "-":
        return True
    try:
        if os.path.isdir(path):
            open_folder(path)
            return False
        first = next(iter_raw([path], ignore), None)
        if first is not None and (first.tag is not None or b'"metrics"' in first.data):
            return True
    except XskillError:
        if os.path.isdir(path):
            return True
    try:
        open_log(open_input(path, ignore))
    except XskillError:
        return True
    return False


def _record(raw: RawRecord) -> Result | Trajectory:
    """A result, whose metrics may be null or NaN here, or a trajectory."""
    import json
    from math import isfinite

    from xskill.errors import BadRecord
    from xskill.records import Result, Trajectory, convert, decode

    if raw.tag == "xskill.trajectory/1":
        try:
            return decode(raw.data, Trajectory)
        except BadRecord as error:
            raise error.at(raw.file, raw.line, raw=raw.data) from None
    try:
        return decode(raw.data, Result)
    except BadRecord as error:
        try:
            value = json.loads(raw.data)  # takes NaN, unlike JSON
            metrics = value["metrics"].items()
            value["metrics"] = {name: x for name, x in metrics if x is not None and (isinstance(x, str) or isfinite(x))}
            return convert(value, Result)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, BadRecord):
            raise error.at(raw.file, raw.line, raw=raw.data) from None


def _read_banks(current: str | None, candidate: str | None, run: Run) -> tuple[Bank | None, Bank | None]:
    from xskill.bank.skillbank import read_bank

    return (
        read_bank(current, run) if current is not None else None,
        read_bank(candidate, run) if candidate is not None else None,
    )


def _promote(path: str, bank: Bank, verdict: Verdict) -> None:
    """The candidate with the verdict in its header; its version covers the skills alone and stays."""
    from xskill.bank.skillbank import make_bank, write_bank

    decision = {
        "decision": verdict.decision,
        "policy": verdict.policy,
        "against": verdict.current_bank,
        "metrics": {row["name"]: [row["current"], row["candidate"]] for row in verdict.metrics},
        "tasks": verdict.metrics[0]["tasks"],
    }
    header = bank.header
    parent = header.parent if header.parent is not None else verdict.current_bank
    write_bank(path, make_bank(bank.skills, parent=parent, decision=decision, extra=header.extra))


def _append(path: str, line: bytes) -> None:
    """Append a line in a single write, so that two gates at once do not mix theirs. A torn last line is left alone."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            size = os.fstat(handle).st_size
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            os.write(handle, b"\n" * torn + line + b"\n")
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise CannotWrite(f"{path}: cannot write: {error.strerror}") from None


def _for_people(verdict: Verdict, output: str | None) -> str:
    from shutil import get_terminal_size

    from xskill.gate.verdict import render
    from xskill.text.terminal import clean

    terminal = output in (None, "-") and sys.stdout.isatty()
    color = terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    text = render(verdict, width=max(100, get_terminal_size().columns) if terminal else 140, color=color)
    return text if color else clean(text)
