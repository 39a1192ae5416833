"""A plain reasoning task: a turn is a step of reasoning, nothing answers, and a checker judges the result."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

from xskill.sampling.protocol import Begun, Taken
from xskill.workers.session import CannotAnswer

CHECKER_SECONDS = 60.0

_ANSWER = re.compile(
    r"^\s*(?:\*\*)?(?:the )?(?:final )?answer(?:\*\*)?\s*(?:is\b|[:=])\s*(?:\*\*)?\s*(.+?)\s*$", re.I | re.M
)
_BOXED = re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}")


class ReasoningEnvironment:
    """Ends at the step that gives the answer.

    Args:
        checker: words of a command that judges: it gets ``{"task": the record, "steps": […], "answer": "…"}`` on stdin
            and prints the reward; if it prints nothing, exit code 0 is 1 and exit code 1 is 0. Without a checker the
            answer is compared with the record's ``answer``; without that either, the outcome stays unknown.
    """

    def __init__(self, checker: list[str] | None) -> None:
        self._checker = checker
        self._task: dict[str, Any] = {}
        self._steps: list[str] = []

    def reset(self, task: dict[str, Any], seed: int) -> Begun:
        if not isinstance(task.get("task"), str):
            raise CannotAnswer("a reasoning task needs its text in `task`")
        self._task, self._steps = task, []
        return Begun()

    def step(self, action: str) -> Taken:
        self._steps.append(action)
        answer = find_answer(action)
        if answer is None:
            return Taken(done=False, reward=0.0 if self._judged else None)
        reward = self._judge(answer)
        return Taken(done=True, reward=reward, extra={"answer": answer})

    def actions(self) -> None:
        return None

    def expert(self) -> None:
        return None

    def close(self) -> None:
        pass

    @property
    def _judged(self) -> bool:
        return self._checker is not None or "answer" in self._task

    def _judge(self, answer: str) -> float | None:
        if self._checker is not None:
            return _run_checker(self._checker, {"task": self._task, "steps": self._steps, "answer": answer})
        if "answer" in self._task:
            return float(_plain(answer) == _plain(str(self._task["answer"])))
        return None


def find_answer(text: str) -> str | None:
    """What stands after the last ``Answer:`` line, or in the last ``\\boxed{}``."""
    answers = _ANSWER.findall(text) or _BOXED.findall(text)
    return answers[-1].strip() if answers else None


def _plain(text: str) -> str:
    return text.strip().strip("$*` ").rstrip(".").replace(",", "").casefold().strip()


def _run_checker(words: list[str], case: dict[str, Any]) -> float:
    try:
        result = subprocess.run(
            words, input=json.dumps(case), capture_output=True, text=True, timeout=CHECKER_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotAnswer(f"the checker: {error}") from None
    said = result.stdout.strip()
    if not said and result.returncode in (0, 1):
        return 1.0 - result.returncode
    try:
        if result.returncode == 0:
            return float(said)
    except ValueError:
        pass
    lines = (result.stderr.strip() or said).splitlines()
    raise CannotAnswer(f"the checker gave no number (exit code {result.returncode}): {lines[-1] if lines else ''}")
