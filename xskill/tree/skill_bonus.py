"""The shaped reward inside a trainer: one rollout at a time, with success rates that follow the policy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xskill.errors import BadData, NoInput, UsageError
from xskill.streams.text_out import write_text
from xskill.tree.shaping import ShapedGroup, Shaping, bonus_of, shape_group, succeeded
from xskill.tree.xtree import XTree, read_tree

SCHEMA = "xskill.skill_bonus/1"


class SkillBonus:
    """Bonus of a tree, and the running success rate and largest bonus of each question.

    A trainer that scores whole groups calls :meth:`group`; one that scores single rollouts calls :meth:`reward`, which
    takes lambda from the running success rate of the question. Costs about a microsecond an action.

    Args:
        tree: the tree, or the file that holds it.
        shaping: lambda, scale and cap.
        decay: how much of the past a new rollout of the same question leaves: 0.9 remembers about 10 rollouts,
            1 all of them.

    Raises:
        BadData: a tree of failures.
    """

    def __init__(self, tree: XTree | str | Path, shaping: Shaping | None = None, decay: float = 0.9) -> None:
        if not 0 < decay <= 1:
            raise UsageError(f"decay {decay}: must be above 0 and at most 1")
        self._bonus = bonus_of(tree if isinstance(tree, XTree) else read_tree(tree))
        self.shaping = shaping or Shaping()
        self.decay = decay
        self._questions: dict[str, tuple[float, float, float]] = {}

    def bonus(self, actions: Sequence[str]) -> float:
        """Node bonus b of a rollout, by its canonical tokens."""
        return self._bonus.of(actions)

    def group(
        self,
        rollouts: Sequence[Sequence[str]],
        outcomes: Sequence[float],
        successes: Sequence[bool] | None = None,
    ) -> ShapedGroup:
        """Shape a complete group of rollouts of one question; the running rates play no part.

        Args:
            rollouts: the actions of each.
            outcomes: what the environment gave each: 0 or 1, or a graded reward.
            successes: which of them succeeded; default: those that got 1 or more, as in ``xskill tree reward``.
        """
        rate = sum(successes) / len(successes) if successes else None
        return shape_group(outcomes, [self.bonus(actions) for actions in rollouts], self.shaping, success=rate)

    def reward(self, question_id: str, actions: Sequence[str], outcome: float, success: bool | None = None) -> float:
        """Count one rollout of a question, and return its shaped reward.

        lambda and the largest bonus are those of the question's rollouts so far, this one included. Without ``success``
        it succeeded if it got 1 or more.
        """
        solved = succeeded(outcome) if success is None else success
        bonus = self.bonus(actions)
        n, successes, most = self._questions.get(question_id, (0.0, 0.0, 0.0))
        n, successes, most = self.decay * n + 1, self.decay * successes + solved, max(most, bonus)
        self._questions[question_id] = n, successes, most
        return outcome + self.shaping.added(self.shaping.weight(successes / n), bonus, most)

    def success_rate(self, question_id: str) -> float | None:
        """Running success rate of a question; None before its first rollout."""
        n, successes, _ = self._questions.get(question_id, (0.0, 0.0, 0.0))
        return successes / n if n else None

    def state(self) -> dict[str, Any]:
        """All that was counted, as a JSON value: question → [rollouts, successes (both decayed), largest bonus]."""
        return {"schema": SCHEMA, "decay": self.decay, "questions": {k: list(v) for k, v in self._questions.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what :meth:`state` gave.

        Raises:
            BadData: it is no such state.
        """
        questions = state.get("questions") if isinstance(state, dict) and state.get("schema") == SCHEMA else None
        if not isinstance(questions, dict):
            raise BadData(f"no state of a SkillBonus: expected an object with schema {SCHEMA}")
        restored = {}
        for question, counts in questions.items():
            numbers = counts if isinstance(counts, list) else []
            if len(numbers) != 3 or not all(type(number) in (int, float) and number >= 0 for number in numbers):
                raise BadData(f"state of question {question!r}: expected three numbers from 0 on, got {counts!r}")
            restored[question] = float(numbers[0]), float(numbers[1]), float(numbers[2])
        self._questions = restored

    def save(self, path: str | Path) -> None:
        """Write the state as JSON, atomically."""
        write_text(str(path), json.dumps(self.state()))

    def load(self, path: str | Path) -> None:
        """Read the state that :meth:`save` wrote.

        Raises:
            NoInput: no such file.
            BadData: it holds no such state.
        """
        try:
            self.restore(json.loads(Path(path).read_bytes()))
        except OSError as error:
            raise NoInput(f"{path}: cannot read: {error.strerror}") from None
        except (ValueError, RecursionError):
            raise BadData(f"{path}: not valid JSON") from None
