"""Questions over several worker processes: in order, each with one retry, and stoppable."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from xskill.errors import NoWorker, WorkerError
from xskill.records import Trajectory, encode
from xskill.sampling.coprocess import CoProcess
from xskill.sampling.cost import Cost
from xskill.sampling.growing_episode import Question, Sampler
from xskill.sampling.protocol import Answer, Begun, Request, Reset, Task, parse_answer, same_text
from xskill.sampling.seeds import seed_for


@dataclass(frozen=True, slots=True)
class QuestionJob:
    """A question to be sampled."""

    task: Task
    sampler: Callable[[Question], Sampler]


@dataclass(frozen=True, slots=True)
class JobResult:
    """What became of a job. With neither trajectories nor a failure it was not run to its end, because the run is being
    stopped."""

    task: Task
    trajectories: list[Trajectory] | None
    failure: str | None
    cost: Cost
    retried: str | None = None
    """What went wrong the first time."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all questions of a run share."""

    words: Sequence[str]
    """The worker command."""
    workers: int
    timeout: float
    """Longest wait for an answer, in seconds."""
    seed: int
    max_turns: int
    config: dict[str, Any]
    """The sampler's choices, for the records."""
    skills_for: Callable[[str | None, str | None], list[dict[str, Any]]]
    """Text and type of a task → the skills to keep in the prompt, as records."""


class Stop:
    """The wish to end a run early; set from a signal handler or another thread.

    Attributes:
        requested: no further question is begun.
        abandoned: those in flight are dropped too.
    """

    def __init__(self) -> None:
        self.requested = False
        self.abandoned = False
        self._workers: list[CoProcess] = []

    def request(self) -> None:
        """Let the questions in flight finish."""
        self.requested = True

    def abandon(self) -> None:
        """Kill the workers."""
        self.requested = self.abandoned = True
        for worker in self._workers:
            worker.retire()

    def watch(self, workers: list[CoProcess]) -> None:
        """Tell it what to kill."""
        self._workers = workers


class _Abandoned(Exception):
    pass


def run_jobs(jobs: Sequence[QuestionJob], setting: Setting, stop: Stop) -> Generator[JobResult, None, None]:
    """Yield the results in the order of the jobs, whichever worker is done first.

    Raises:
        NoWorker: a question failed, and no worker has yet given any answer of the protocol.
    """
    workers = [CoProcess(setting.words, setting.timeout) for _ in range(max(1, min(setting.workers, len(jobs))))]
    stop.watch(workers)
    idle: queue.SimpleQueue[CoProcess] = queue.SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def run(job: QuestionJob) -> JobResult:
        worker = idle.get()
        try:
            return _run_job(job, worker, setting, stop)
        finally:
            idle.put(worker)

    threads = ThreadPoolExecutor(len(workers), thread_name_prefix="worker")
    try:
        pending: deque[Future[JobResult]] = deque(threads.submit(run, job) for job in jobs)
        while pending:
            result = pending.popleft().result()
            if result.failure is not None and not any(worker.answered for worker in workers):
                raise NoWorker(f"the worker never answered: {result.failure}")
            yield result
        list(threads.map(CoProcess.close, workers))
    finally:
        stop.abandon()
        threads.shutdown(cancel_futures=True)


def _run_job(job: QuestionJob, worker: CoProcess, setting: Setting, stop: Stop) -> JobResult:
    """One question from reset to its trajectories. Bad answers cost one retry, then the question."""
    talk = _Talk(job, worker, setting, stop)
    if stop.requested:
        return JobResult(job.task, None, None, talk.cost)
    try:
        begun = talk.reset()
        question = Question(
            task=job.task,
            begun=begun,
            seed=setting.seed,
            max_turns=setting.max_turns,
            skills=setting.skills_for(begun.task or job.task.task, begun.task_type or job.task.task_type),
            config=setting.config,
        )
        sampler = job.sampler(question)
        request = next(sampler)
        while True:
            request = sampler.send(talk.ask(request))
    except StopIteration as end:
        trajectories: list[Trajectory] = end.value
        talk.cost.finish(trajectories)
        return JobResult(job.task, trajectories, None, talk.cost, talk.failed)
    except WorkerError as error:
        return JobResult(job.task, None, str(error), talk.cost)
    except _Abandoned:
        return JobResult(job.task, None, None, talk.cost)


class _Talk:
    """The conversation about one question; it may be begun again once, at the very request that failed."""

    def __init__(self, job: QuestionJob, worker: CoProcess, setting: Setting, stop: Stop) -> None:
        self.cost = Cost()
        self._worker = worker
        self._stop = stop
        self._reset = Reset(
            id=job.task.id, task=job.task.as_record(), seed=seed_for(setting.seed, job.task.id, "reset")
        )
        self._begun: Begun | None = None
        self.failed: str | None = None
        """What went wrong the first time; a second time there is not."""

    def reset(self) -> Begun:
        """Begin the question."""
        begun = self.ask(self._reset)
        assert isinstance(begun, Begun)
        self._begun = begun
        return begun

    def ask(self, request: Request) -> Answer:
        """The answer to a request, at the second try if need be.

        Raises:
            WorkerError: it failed for the second time in this question.
        """
        while True:
            try:
                return self._exchange(request)
            except WorkerError as error:
                if self._stop.abandoned:
                    raise _Abandoned from None
                if self.failed is not None:
                    raise WorkerError(_twice(self.failed, str(error))) from None
                self.failed = str(error)
                self.cost.retries += 1
            if self._begun is not None:
                self._begin_again()

    def _begin_again(self) -> None:
        """Reset a second time; another beginning would make the prefixes so far meaningless."""
        begun = self.ask(self._reset)
        assert isinstance(begun, Begun)
        assert self._begun is not None
        if not same_text(begun.observation, self._begun.observation):
            raise WorkerError(
                _twice(self.failed or "", "the second reset gave another observation: the environment is not seeded")
            )

    def _exchange(self, request: Request) -> Answer:
        starts = self._worker.starts
        try:
            answer = parse_answer(request, self._worker.ask(encode(request)))
        except WorkerError as error:
            if error.alive:
                self._worker.answered = True
            else:
                self._worker.kill()
            raise
        finally:
            self.cost.starts += self._worker.starts - starts
        self._worker.answered = True
        self.cost.count(answer)
        return answer


def _twice(first: str, second: str) -> str:
    return f"twice: {first}" if first == second else f"first: {first}; then: {second}"
