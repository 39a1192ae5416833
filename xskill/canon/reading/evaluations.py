"""Evaluations that a trace carries → success and reward: only what judges the task, not its tone.

A trace can hold any number of scores (toxicity, latency, politeness). Success is taken from one whose name
ends in a word for it (``task_success``, ``is_resolved``), the reward from one named ``reward`` or ``score``.
All of them go to ``extra``.
"""

from __future__ import annotations

import re
from typing import Any

_SUCCESS = frozenset({"success", "succeeded", "resolved", "solved", "passed", "pass", "correct"})
_REWARD = frozenset({"reward", "score"})
_YES = frozenset({"pass", "passed", "true", "yes", "success", "successful", "correct", "resolved", "c"})
_NO = frozenset({"fail", "failed", "false", "no", "failure", "unsuccessful", "incorrect", "unresolved", "i"})
_WORD = re.compile(r"[A-Za-z]+")


class Evaluations:
    """Collects evaluations; the first that says something decides.

    Attributes:
        success, reward: what they say of the task.
        all: name → value or label, as told.
    """

    def __init__(self) -> None:
        self.success: bool | None = None
        self.reward: float | None = None
        self._grade: float | None = None
        self.all: dict[str, Any] = {}

    def feed(self, name: str, value: Any) -> None:
        """One evaluation: a bool, a number or a label."""
        if value is None or isinstance(value, (dict, list)):
            return
        self.all.setdefault(name, value)
        words = _WORD.findall(name)
        last = words[-1].lower() if words else ""
        if last in _SUCCESS:
            answer = yes_or_no(value)
            if self.success is None:
                self.success = answer
            if isinstance(value, (int, float)) and not isinstance(value, bool) and self._grade is None:
                self._grade = float(value)
        elif (
            last in _REWARD and isinstance(value, (int, float)) and not isinstance(value, bool) and self.reward is None
        ):
            self.reward = float(value)

    def finish(self) -> tuple[bool | None, float | None]:
        """Success and reward; a graded success stands for the reward where there is none."""
        return self.success, self.reward if self.reward is not None else self._grade


def yes_or_no(value: Any) -> bool | None:
    """What a value or a label says; None when it is neither a clear yes nor a clear no."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return bool(value) if value in (0, 1) else None
    if isinstance(value, str):
        word = value.strip().lower()
        return True if word in _YES else False if word in _NO else None
    return None
