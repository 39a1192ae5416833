"""Somebody else's worker as the environment, so that a policy of ours can act in it."""

from __future__ import annotations

from typing import Any

from xskill.records import encode
from xskill.sampling.coprocess import CoProcess
from xskill.sampling.protocol import Answer, Begun, Request, Reset, Take, Taken, WorkerError, parse_answer
from xskill.workers.session import CannotAnswer


class ForeignEnvironment:
    """Passes ``reset`` and ``step`` on to a command that speaks the protocol; it needs to know no other request.

    Its answers may hold ``actions``: what can be done now.
    """

    def __init__(self, words: list[str], timeout: float) -> None:
        self._worker = CoProcess(words, timeout)
        self._id = ""
        self._prefix: list[str] = []
        self._actions: list[str] | None = None

    def reset(self, task: dict[str, Any], seed: int) -> Begun:
        self._id = str(task.get("id", ""))
        self._prefix = []
        begun = self._ask(Reset(id=self._id, task=task, seed=seed))
        assert isinstance(begun, Begun)
        return begun

    def step(self, action: str) -> Taken:
        taken = self._ask(Take(id=self._id, prefix=self._prefix, action=action))
        assert isinstance(taken, Taken)
        self._prefix = [*self._prefix, action]
        return taken

    def actions(self) -> list[str] | None:
        return self._actions

    def expert(self) -> None:
        return None

    def close(self) -> None:
        self._worker.close()

    def _ask(self, request: Request) -> Answer:
        try:
            answer = parse_answer(request, self._worker.ask(encode(request)))
        except WorkerError as error:
            raise CannotAnswer(f"the environment {error}") from None
        listed = answer.extra.pop("actions", None)
        self._actions = [str(action) for action in listed] if isinstance(listed, list) else None
        return answer
