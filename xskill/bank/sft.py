"""Cold-start demonstrations: episodes retold with the skills in the system prompt (SkillRL)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from xskill.bank.prompt import render_prompt
from xskill.bank.retrieval import Index, build_index, retrieve
from xskill.bank.skillbank import Bank
from xskill.bank.splits import check_split
from xskill.records import Skill, Trajectory, turns
from xskill.streams.run import Run

SYSTEM = "You act in an environment, one action a turn. Name the skill when an action follows one."
NO_OUTPUT = "(no output)"


def demonstrations(
    trajectories: Iterable[Trajectory],
    bank: Bank,
    *,
    everything: bool = False,
    budget: int | None = None,
    allow_split: Collection[str] = (),
    run: Run | None = None,
) -> Iterator[dict[str, Any]]:
    """One :func:`demonstration` a successful trajectory with steps.

    Args:
        everything: keep those too that failed or whose outcome is unknown.
        budget: tokens of the skills in the system prompt.
        allow_split: held-out splits whose episodes are accepted.
        run: counts what is left out.

    Raises:
        HeldOut: a validation or test episode that ``allow_split`` does not name.
    """
    index = build_index(bank)
    for record in trajectories:
        check_split(record, allow_split)
        wanted = everything or record.success is True
        row = demonstration(record, index, budget=budget) if wanted else None
        if row is not None:
            yield row
        elif run is not None:
            run.drop("no steps" if wanted else "no success")


def demonstration(
    record: Trajectory, index: Index, *, budget: int | None = None, threshold: float = 0.4, top: int = 6
) -> dict[str, Any] | None:
    """One chat: system (skills), user (task, first observation), then turns of assistant and observation.

    The assistant's text is the thought, then ``Skill: ID, step k of n`` where the actions follow a retrieved skill,
    then one ``Action:`` line an action. None without steps.

    Returns:
        ``{"id", "question_id", "task_type", "skills", "messages"}``; ``skills`` are those that were followed.
    """
    if not record.steps:
        return None
    hits = retrieve(index, record.task or "", record.task_type, budget=budget, threshold=threshold, top=top)
    followed = follow([hit.skill for hit in hits], record.actions)
    system = "\n\n".join(part for part in (SYSTEM, render_prompt(hit.skill for hit in hits)) if part)
    opening = "\n\n".join(part for part in (record.task, record.initial_observation) if part)
    messages = [{"role": "system", "content": system}, {"role": "user", "content": opening or NO_OUTPUT}]
    for members in _by_turn(record):
        lines = [thought] if (thought := record.steps[members[0]].thought) else []
        for position in members:
            if position in followed:
                skill, number = followed[position]
                lines.append(f"Skill: {skill.id}, step {number} of {len(skill.extra['tokens'])}")
            lines.append(f"Action: {record.steps[position].action}")
        seen = [record.steps[position].observation or NO_OUTPUT for position in members]
        messages.append({"role": "assistant", "content": "\n".join(lines)})
        messages.append({"role": "user", "content": "\n".join(seen)})
    return {
        "id": record.id,
        "question_id": record.question_id,
        "task_type": record.task_type,
        "skills": sorted({skill.id for skill, _ in followed.values()}),
        "messages": messages[:-1],
    }


def follow(skills: list[Skill], actions: list[str]) -> dict[int, tuple[Skill, int]]:
    """Which actions follow a skill: index of the action → (skill, 1-based step).

    A skill's routine is ``extra.tokens``, its canonical actions; it is followed where they stand in a row. Greedy
    from the left, the longest routine first; a mistake is nothing to follow.
    """
    routines: dict[str, list[Skill]] = {}
    for skill in skills:
        tokens = skill.extra.get("tokens")
        if skill.tier != "mistake" and isinstance(tokens, list) and len(tokens) > 1:
            routines.setdefault(tokens[0], []).append(skill)
    for starting in routines.values():
        starting.sort(key=lambda skill: -len(skill.extra["tokens"]))
    followed: dict[int, tuple[Skill, int]] = {}
    position = 0
    while position < len(actions):
        for skill in routines.get(actions[position], []):
            tokens = skill.extra["tokens"]
            if actions[position : position + len(tokens)] == tokens:
                followed.update({position + n: (skill, n + 1) for n in range(len(tokens))})
                position += len(tokens) - 1
                break
        position += 1
    return followed


def _by_turn(record: Trajectory) -> list[list[int]]:
    grouped: list[list[int]] = []
    for position, turn in enumerate(turns(record.steps or [])):
        if turn == len(grouped):
            grouped.append([])
        grouped[turn].append(position)
    return grouped
