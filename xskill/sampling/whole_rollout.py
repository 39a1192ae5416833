"""A whole rollout: what an earlier run has, what is sampled now and what fails, in the order of the questions."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from xskill.errors import BadData, BadRecord, XskillError
from xskill.records import Trajectory
from xskill.sampling.canonical_names import Namer
from xskill.sampling.cost import Cost
from xskill.sampling.drive import Job, Result, Setting, Stop, run_jobs
from xskill.sampling.sampled_before import is_finished
from xskill.streams.run import Run

ByQuestion = Mapping[str, Sequence[Trajectory]]


class SomeFailed(XskillError):
    """Questions failed, and no rejects file took them."""


class Sampling:
    """One rollout; counts while its trajectories stream out.

    Args:
        setting: what all questions share.
        namer: gives the actions their canonical names.
        stop: ends the rollout early.
        run: gets counts, notes and rejects; every job counts there as kept until it fails.
    """

    def __init__(self, setting: Setting, namer: Namer, stop: Stop, run: Run) -> None:
        self.cost = Cost()
        """Of this run alone, without what was resumed."""
        self.failures: dict[str, str] = {}
        """Question → why it has no trajectories."""
        self.resumed = 0
        self.left = 0
        """Questions that an early end left out."""
        self._bar: Any = None
        self._setting = setting
        self._namer = namer
        self._stop = stop
        self._run = run

    def trajectories(self, jobs: Sequence[Job], given: ByQuestion, before: ByQuestion) -> Iterator[Trajectory]:
        """Yield the trajectories of every finished question, in the order of ``jobs``.

        Args:
            jobs: the questions.
            given: episodes that are passed on as they are, by question.
            before: what an earlier run has, by question (:func:`xskill.sampling.sampled_before.read_finished`).
        """
        unknown = len(before.keys() - {job.task.id for job in jobs})
        if unknown:
            self._run.note(f"--resume: {unknown:,} questions that are not among the tasks are left out")
        given_ids = {question: {trajectory.id for trajectory in episodes} for question, episodes in given.items()}
        done = {
            job.task.id
            for job in jobs
            if is_finished(before.get(job.task.id, ()), self._setting.config, given_ids.get(job.task.id, ()))
        }
        results = run_jobs([job for job in jobs if job.task.id not in done], self._setting, self._stop)
        with contextlib.closing(results), self._progress(len(jobs)):
            for job in jobs:
                if job.task.id in done:
                    self.resumed += 1
                    yield from before[job.task.id]
                else:
                    for trajectory in self._accept(next(results)):
                        is_given = trajectory.id in given_ids.get(job.task.id, ())
                        yield trajectory if is_given else self._namer.name(trajectory)
                if self._bar is not None:
                    self._bar.update()
            next(results, None)  # the workers leave in peace

    @contextlib.contextmanager
    def _progress(self, questions: int) -> Iterator[None]:
        """A bar of questions when stderr is a terminal."""
        if self._run.quiet or not sys.stderr.isatty():
            yield
            return
        from tqdm import tqdm

        with tqdm(total=questions, unit="question", file=sys.stderr, leave=False, dynamic_ncols=True) as self._bar:
            yield

    def _note(self, text: str) -> None:
        if self._bar is not None:
            self._bar.clear()
        self._run.note(text)

    def _accept(self, result: Result) -> Sequence[Trajectory]:
        self.cost.add(result.cost)
        if result.trajectories is not None:
            if result.retried is not None:
                self._note(f"question {result.task.id!r} was tried again: the worker {result.retried}")
            return result.trajectories
        if result.failure is None:
            self.left += 1
            self._run.drop("not run to the end")
            return ()
        self.failures[result.task.id] = result.failure
        reason = f"question {result.task.id!r} failed {result.failure}"
        if self._run.keeps_rejects:
            self._run.kept -= 1
            self._run.bad(BadRecord(reason, raw=msgspec.json.encode(result.task.as_record())))
        else:
            self._run.drop("failed")
            self._note(reason)
        return ()

    def summary(self) -> str:
        """For the summary line."""
        return (f"resumed {self.resumed:,}; " if self.resumed else "") + self.cost.summary()

    def check(self) -> None:
        """The end of the rollout, once what there is has been written.

        Raises:
            BadData: every question failed, into the rejects file.
            SomeFailed: questions failed, and there is no rejects file.
        """
        if not self.failures:
            return
        question, reason = next(iter(self.failures.items()))
        text = f"{len(self.failures):,} questions failed; the first, {question!r}, {reason}"
        if not self._run.keeps_rejects:
            raise SomeFailed(f"{text} (--rejects FILE keeps them aside; --resume tries them again)")
        if not self.cost.questions and not self.resumed:
            raise BadData(text)
