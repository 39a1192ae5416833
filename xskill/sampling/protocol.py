"""The worker protocol: one JSON object a line, a request in, an answer out (docs/reference/worker-protocol.md).

A worker holds no secret state. Every request but ``reset`` carries the whole prefix (the actions since
the reset) and, where it samples, a seed, so an answer depends on the request alone: any worker may
answer any request, a restarted one may repeat it, and the tree comes out the same for any number of workers.

=========  ====================================================  ==============================================
op         request                                               answer
=========  ====================================================  ==============================================
reset      id, task (the task record), seed                      observation, done; task, task_type, env if the
                                                                 environment knows them better
propose    id, prefix, k, skills, seed                           children: at most k of action, logprob,
                                                                 n_tokens, prior, thought, kind
step       id, prefix, action                                    observation, done, reward, value, success
finish     id, prefix, max_turns, skills, seed                   steps, done, success, reward
=========  ====================================================  ==============================================

``id`` names the question in requests and answers. ``reward`` of a step is that step's (the outcome of an episode is
their sum); ``reward`` of a finish answer is the outcome itself. A finish answer may hold only the next turns
with ``done`` false: the driver asks on with the longer prefix, so a slow worker answers turn by turn.
``{"id": …, "error": "text"}`` says that the worker cannot answer.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from xskill.errors import BadRecord, XskillError
from xskill.records import Kind, Record, Split, Step, decode, turns


class WorkerError(XskillError):
    """A worker did not give the answer that it was asked for.

    Attributes:
        alive: the process still speaks the protocol (it said itself that it cannot answer).
    """

    def __init__(self, reason: str, *, alive: bool = False) -> None:
        super().__init__(reason)
        self.alive = alive


class Task(Record, frozen=True, kw_only=True):
    """One question. What else stands in its record (a variation, a game file, an answer) is the worker's business."""

    id: str
    task: str | None = None
    task_type: str | None = None
    env: str | None = None
    split: Split | None = None
    extra: dict[str, Any] = {}

    def as_record(self) -> dict[str, Any]:
        """The record as the worker gets it: flat, without nulls."""
        fields = {name: getattr(self, name) for name in ("id", "task", "task_type", "env", "split")}
        return {name: value for name, value in fields.items() if value is not None} | self.extra


class Reset(Record, frozen=True, kw_only=True, tag_field="op", tag="reset"):
    """Begin the question; ``seed`` fixes whatever the environment draws, the same for all its episodes."""

    id: str
    task: dict[str, Any]
    seed: int


class Propose(Record, frozen=True, kw_only=True, tag_field="op", tag="propose"):
    """Sample at most ``k`` next actions after ``prefix``."""

    id: str
    prefix: list[str]
    k: int
    skills: list[dict[str, Any]]
    seed: int


class Take(Record, frozen=True, kw_only=True, tag_field="op", tag="step"):
    """Take ``action`` after ``prefix``."""

    id: str
    prefix: list[str]
    action: str


class Finish(Record, frozen=True, kw_only=True, tag_field="op", tag="finish"):
    """Go on after ``prefix`` for at most ``max_turns`` turns."""

    id: str
    prefix: list[str]
    max_turns: int
    skills: list[dict[str, Any]]
    seed: int


class Begun(Record, frozen=True, kw_only=True):
    """Answer to :class:`Reset`."""

    id: str | None = None
    observation: str | None = None
    done: bool = False
    reward: float | None = None
    task: str | None = None
    task_type: str | None = None
    env: str | None = None
    error: str | None = None
    extra: dict[str, Any] = {}
    """Kept in the ``extra`` of the question's trajectories."""


class Child(Record, frozen=True, kw_only=True):
    """One proposed action."""

    action: str
    logprob: float | list[float] | None = None
    n_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    prior: Annotated[float, msgspec.Meta(ge=0)] | None = None
    thought: str | None = None
    kind: Kind = "action"
    extra: dict[str, Any] = {}


class Proposed(Record, frozen=True, kw_only=True):
    """Answer to :class:`Propose`. No child: the worker sees nothing that could be done."""

    id: str | None = None
    children: list[Child]
    error: str | None = None
    extra: dict[str, Any] = {}
    """Not kept: a proposal's own ``extra`` is, once it is taken."""


class Taken(Record, frozen=True, kw_only=True):
    """Answer to :class:`Take`."""

    id: str | None = None
    observation: str | None = None
    done: bool
    reward: float | None = None
    value: float | None = None
    """Estimate of the outcome from here; a search backs it up."""
    success: bool | None = None
    error: bool | str = False
    """True: the action failed in the environment. Text: the worker failed."""
    extra: dict[str, Any] = {}


class Finished(Record, frozen=True, kw_only=True):
    """Answer to :class:`Finish`."""

    id: str | None = None
    steps: list[Step]
    done: bool
    success: bool | None = None
    reward: float | None = None
    """Outcome of the whole episode; null = the sum of its step rewards."""
    error: str | None = None
    extra: dict[str, Any] = {}


Request = Reset | Propose | Take | Finish
Answer = Begun | Proposed | Taken | Finished

ANSWERS: dict[type[Any], type[Any]] = {Reset: Begun, Propose: Proposed, Take: Taken, Finish: Finished}
"""Request → its answer."""

_request_decoder = msgspec.json.Decoder(Request)


def decode_request(line: bytes) -> Request:
    """Read one request (what a worker does).

    Raises:
        BadRecord: no JSON, no known ``op``, or a field that breaks the contract.
    """
    try:
        return _request_decoder.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRecord(f"not a request: {error}") from None


def parse_answer(request: Request, line: bytes) -> Answer:
    """Read the answer to ``request`` and hold it to the contract.

    Raises:
        WorkerError: it is no answer to that request, or says that there is none.
    """
    kind = ANSWERS[type(request)]
    try:
        answer: Answer = decode(line, kind)
    except BadRecord as error:
        said = _error_text(line)
        if said is not None:
            raise WorkerError(said, alive=True) from None
        raise WorkerError(f"answered nonsense to {_op(request)}: {error}") from None
    if isinstance(answer.error, str):
        raise WorkerError(answer.error or "an error without a text", alive=True)
    if answer.id is not None and answer.id != request.id:
        raise WorkerError(f"answered for question {answer.id!r} instead of {request.id!r}")
    if isinstance(request, Propose) and isinstance(answer, Proposed) and len(answer.children) > request.k:
        raise WorkerError(f"proposed {len(answer.children)} children instead of at most {request.k}")
    if isinstance(request, Finish) and isinstance(answer, Finished):
        n_turns = turns(answer.steps)[-1] + 1 if answer.steps else 0
        if n_turns > request.max_turns:
            raise WorkerError(f"finished with {n_turns} turns instead of at most {request.max_turns}")
        if n_turns == 0 and not answer.done:
            raise WorkerError("finished with no step, and yet not done")
    return answer


def same_text(first: str | None, second: str | None) -> bool:
    """Whether two observations hold the same words; some simulators list a room's things in any order."""
    return first == second or sorted((first or "").split()) == sorted((second or "").split())


def _op(request: Request) -> str:
    return str(request.__struct_config__.tag)


def _error_text(line: bytes) -> str | None:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    text = value.get("error") if isinstance(value, dict) else None
    return text if isinstance(text, str) else None
