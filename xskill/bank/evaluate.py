"""Run the user's evaluator on a bank: chunks of tasks, repeats, time-outs, and nothing twice."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import msgspec

from xskill.bank.skillbank import Bank, write_bank
from xskill.bank.task_files import TaskLine
from xskill.errors import BadData, BadRecord, EvaluationFailed, UsageError, XskillError
from xskill.records import Result, decode, encode
from xskill.streams.write import replacing

PLACEHOLDERS = ("bank", "tasks", "out", "seed", "repeat")


@dataclass(frozen=True, slots=True)
class Evaluator:
    """How to score a bank.

    ``command`` is split like a shell line, without a shell; ``{bank}``, ``{tasks}`` and ``{out}`` become file names,
    ``{seed}`` and ``{repeat}`` numbers. The command writes one result (``task_id``, ``metrics``) a task to ``{out}``.
    """

    command: str
    work: Path
    """Folder of finished runs. A run is known by the hash of bank, command, tasks, repeat and seed."""
    jobs: int = 1
    chunk: int | None = None
    """Tasks of one call; None: all, spread evenly over ``jobs`` calls."""
    timeout: float | None = None
    """Seconds of one call."""
    retries: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("bank", "tasks", "out"):
            if f"{{{name}}}" not in self.command:
                raise UsageError(
                    f"--run {self.command!r}: it must hold {{bank}}, {{tasks}} and {{out}}; {{{name}}} is missing"
                )


@dataclass(frozen=True, slots=True)
class _Call:
    bank: Path
    version: str
    tasks: tuple[TaskLine, ...]
    repeat: int
    folder: Path


def evaluate(
    evaluator: Evaluator,
    bank: Bank,
    tasks: Sequence[TaskLine],
    repeats: Sequence[int],
    *,
    done: Callable[[int, int], None] = lambda finished, total: None,
) -> list[Result]:
    """Results of every task and repeat, in task order; the same seeds (``seed + repeat``) whatever the bank.

    Args:
        done: told (finished calls, all calls) after each call.

    Raises:
        EvaluationFailed: a call failed on every try.
    """
    evaluator.work.mkdir(parents=True, exist_ok=True)
    bank_file = evaluator.work / f"bank-{bank.version}.jsonl"
    write_bank(str(bank_file), bank)
    calls = [
        _call(evaluator, bank_file, bank.version, part, repeat)
        for repeat in repeats
        for part in _parts(evaluator, tasks)
    ]
    results: dict[tuple[str, int], Result] = {}
    failures: list[str] = []
    stop = Event()
    with ThreadPoolExecutor(evaluator.jobs) as pool:
        pending = {pool.submit(_run_or_reuse, evaluator, call, stop) for call in calls}
        try:
            finished = 0
            while pending:
                ready, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in ready:
                    finished += 1
                    done(finished, len(calls))
                    outcome = future.result()
                    if isinstance(outcome, str):
                        failures.append(outcome)
                    else:
                        results |= {(result.task_id, result.repeat or 0): result for result in outcome}
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    if failures:
        raise EvaluationFailed(
            f"{len(failures)} of {len(calls)} evaluator calls failed: {sorted(failures)[0]}; "
            f"run the same command again to go on"
        )
    return [results[task.name, repeat] for repeat in repeats for task in tasks]


def _parts(evaluator: Evaluator, tasks: Sequence[TaskLine]) -> Iterator[tuple[TaskLine, ...]]:
    size = evaluator.chunk or -(-len(tasks) // evaluator.jobs)
    for start in range(0, len(tasks), size):
        yield tuple(tasks[start : start + size])


def _call(evaluator: Evaluator, bank_file: Path, version: str, tasks: tuple[TaskLine, ...], repeat: int) -> _Call:
    digest = hashlib.sha256(msgspec.json.encode([version, evaluator.command, repeat, evaluator.seed]))
    for task in tasks:
        digest.update(task.line + b"\n")
    return _Call(bank_file, version, tasks, repeat, evaluator.work / digest.hexdigest()[:16])


def _run_or_reuse(evaluator: Evaluator, call: _Call, stop: Event) -> list[Result] | str:
    """The results of one call, or a sentence about its failure."""
    kept = call.folder / "results.jsonl"
    if kept.exists():
        return [decode(line, Result) for line in kept.read_bytes().splitlines()]
    call.folder.mkdir(exist_ok=True)
    problem = "interrupted"
    for _ in range(1 + evaluator.retries):
        if stop.is_set():
            break
        try:
            results = _run(evaluator, call, stop)
        except XskillError as error:
            problem = f"{error} (log: {call.folder / 'log.txt'})"
            continue
        with replacing(str(kept)) as target:
            target.write(b"".join(encode(result) + b"\n" for result in results))
        return results
    return problem


def _run(evaluator: Evaluator, call: _Call, stop: Event) -> list[Result]:
    # The name of the output holds our pid: an evaluator that outlived a killed run cannot write into this one's file.
    tasks, out = call.folder / "tasks.jsonl", call.folder / f"out-{os.getpid()}.jsonl"
    tasks.write_bytes(b"".join(task.line + b"\n" for task in call.tasks))
    out.unlink(missing_ok=True)
    seed = evaluator.seed + call.repeat
    values = {"bank": call.bank, "tasks": tasks, "out": out, "seed": seed, "repeat": call.repeat}
    words = []
    for word in shlex.split(evaluator.command):
        for name in PLACEHOLDERS:
            word = word.replace(f"{{{name}}}", str(values[name]))
        words.append(word)
    with open(call.folder / "log.txt", "wb") as log:
        code = _wait(words, log.fileno(), evaluator.timeout, stop)
    if code != 0:
        raise XskillError(
            f"the evaluator ended with exit code {code}" if code is not None else "the evaluator timed out"
        )
    if not out.exists():
        raise BadData("the evaluator wrote no {out} file")
    return _checked(out, call)


def _wait(words: list[str], log: int, timeout: float | None, stop: Event) -> int | None:
    """Exit code of a command run in its own process group, which is killed as a whole on time-out (None) or stop."""
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ,  # and not what the command line set for itself
            start_new_session=True,
        )
    except OSError as error:
        raise XskillError(f"cannot start {words[0]!r}: {error.strerror}") from None
    waited = 0.0
    while True:
        try:
            return process.wait(0.2)
        except subprocess.TimeoutExpired:
            waited += 0.2
            if stop.is_set() or (timeout is not None and waited >= timeout):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return None


def _checked(out: Path, call: _Call) -> list[Result]:
    """The results of a call, one a task, numbered with the call's repeat and in task order."""
    results: dict[str, Result] = {}
    for number, line in enumerate(out.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            result = decode(line, Result)
        except BadRecord as error:
            raise error.at(str(out), number) from None
        if result.task_id in results:
            raise BadData(f"the evaluator gave two results for task {result.task_id!r}")
        results[result.task_id] = msgspec.structs.replace(result, repeat=call.repeat)
    wanted = [task.name for task in call.tasks]
    missing = [name for name in wanted if name not in results]
    foreign = sorted(set(results) - set(wanted))
    if missing or foreign:
        which = (
            f"no result for {', '.join(missing[:5])}"
            if missing
            else f"results for unknown tasks {', '.join(foreign[:5])}"
        )
        raise BadData(f"the evaluator gave {which}")
    return [results[name] for name in wanted]
