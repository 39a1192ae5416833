"""Which episodes are of one question: those of one ``question_id``, but never of two environments or two task texts."""

from __future__ import annotations


class QuestionCodes:
    """Numbers the questions of a stream in the order in which they come.

    An ``env`` or ``task`` that is null says nothing: such an episode joins the first question of its id that it fits.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        """The ``question_id`` of each question; one that several questions share stands as often."""
        self._codes: dict[tuple[str, str | None, str | None], int] = {}
        self._kinds: dict[str, list[tuple[int, str | None, str | None]]] = {}

    def code(self, question_id: str, env: str | None, task: str | None) -> int:
        """The number of an episode's question."""
        code = self._codes.get((question_id, env, task))
        if code is None:
            code = self._codes[question_id, env, task] = self._join(question_id, env, task)
        return code

    def _join(self, question_id: str, env: str | None, task: str | None) -> int:
        kinds = self._kinds.setdefault(question_id, [])
        for i, (code, its_env, its_task) in enumerate(kinds):
            if _fits(env, its_env) and _fits(task, its_task):
                kinds[i] = code, its_env if env is None else env, its_task if task is None else task
                return code
        kinds.append((len(self.names), env, task))
        self.names.append(question_id)
        return len(self.names) - 1

    @property
    def shared_ids(self) -> int:
        """Number of ids that several questions share."""
        return sum(len(kinds) > 1 for kinds in self._kinds.values())


def _fits(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other
