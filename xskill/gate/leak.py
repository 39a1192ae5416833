"""A bank must not be judged on the tasks that it was made from."""

from __future__ import annotations

from collections.abc import Iterable

from xskill.errors import SplitLeak
from xskill.records import Skill


def check_leak(skills: Iterable[Skill], tasks: Iterable[str], seen: Iterable[str] = ()) -> list[str]:
    """Raise :class:`SplitLeak` if a skill's ``evidence.sources`` names one of the tasks.

    Args:
        skills: of the candidate bank.
        tasks: ids of the validation tasks.
        seen: questions that the bank's makers looked at, whether or not a skill came of them.

    Returns:
        Ids of the skills without any source, for which nothing could be checked.
    """
    wanted = set(tasks)
    unchecked: list[str] = []
    leaks: dict[str, list[str]] = {}
    for skill in skills:
        sources = skill.evidence.get("sources") or []
        if not sources:
            unchecked.append(skill.id)
        for task in sorted(wanted.intersection(str(source) for source in sources)):
            leaks.setdefault(task, []).append(skill.id)
    for task in sorted(wanted.intersection(map(str, seen))):
        leaks.setdefault(task, []).append("the choice of skills")
    if leaks:
        shown = "; ".join(f"task {task!r} made {', '.join(ids[:3])}" for task, ids in sorted(leaks.items())[:5])
        raise SplitLeak(
            f"leak: {len(leaks)} of the {len(wanted)} tasks are among the questions that the candidate bank was "
            f"made from ({shown}); validate on questions of another split"
        )
    return unchecked
