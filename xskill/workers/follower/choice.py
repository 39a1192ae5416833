"""What to do next: everything that can be done, the best first.

The first act of a skill that was not achieved yet is what the skill wants. It is done when a deed fits it, its
placeholders bound to what the skill used before and otherwise to what the task names; else the lead-in is walked
backwards for the last step that can be taken and was not taken since something changed. The first skill that can
do something decides: those of the task's own type first, then general ones; those of another type only where the
task's own has none. When none can, there is a fixed exploration. What completes a mistake is done last of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xskill.workers.follower.binding import bind, fits
from xskill.workers.follower.explore import closed_here, explore, named
from xskill.workers.follower.instructions import Instruction, Procedure
from xskill.workers.follower.progress import Progress, completes, grounded, progress
from xskill.workers.follower.scene import Deed, Scene
from xskill.workers.follower.vocabulary import GOING, HANDLING, names_any

WALKED = GOING | {"open"}
"""What of a lead-in is done: closing and looking bring no act nearer to one who sees what can be done."""


def preferences(scene: Scene, procedures: Sequence[Procedure], task_type: str | None = None) -> Iterator[Deed]:
    """What can be done, the best first."""
    mistakes = [procedure for procedure in procedures if procedure.tier == "mistake" and procedure.steps]
    states = [progress(procedure, scene) for procedure in fitting(procedures, task_type)]
    states.sort(key=lambda one: (not one.procedure.acts, one.completed, one.procedure.tier == "general"))
    vetoed: list[Deed] = []
    for deed in _all_preferences(scene, states):
        if any(completes(mistake, scene.done, deed) for mistake in mistakes):
            vetoed.append(deed)
        else:
            yield deed
    yield from vetoed


def fitting(procedures: Sequence[Procedure], task_type: str | None) -> list[Procedure]:
    """General skills and those of the task's own type; all, when none of the latter achieves anything."""
    usable = [procedure for procedure in procedures if procedure.tier != "mistake" and procedure.steps]
    own = [procedure for procedure in usable if procedure.task_type in (task_type, None)]
    return own if any(procedure.acts and procedure.task_type is not None for procedure in own) else usable


def _all_preferences(scene: Scene, states: Sequence[Progress]) -> Iterator[Deed]:
    meant = named(scene)
    takes = [deed for deed in meant if "take" in deed.verbs]
    closed = closed_here(scene)
    for one in states:
        at_hand = takes if one.procedure.acts and not one.completed else meant
        for deed in wishes(one, scene):
            if deed.place is not None:
                yield from (*at_hand, *closed)  # nobody walks on without having looked, or away from what is wanted
            yield deed
    yield from explore(scene)
    yield from (deed for deed in scene.now if deed.key not in scene.stale)
    yield from scene.now


def wishes(one: Progress, scene: Scene) -> Iterator[Deed]:
    """What a procedure would do now: its next act, else the latest step of the lead-in that is worth taking."""
    if not one.procedure.acts:
        yield from _walk(one.procedure.steps, None, one, scene)
        return
    act = one.next
    able = [
        deed
        for deed in scene.now
        if not deed.is_means
        and deed.key != scene.last_act
        and grounded(act.step, deed, one, scene)
        and not _leads_nowhere(deed, one, scene)
    ]
    chosen = [deed for deed in able if bind(act.step, deed, one.bound) is not None and fits(act.step, deed, scene)]
    if not chosen:  # other words, or another thing than where the skill was learned: then it has to be the task's
        chosen = [deed for deed in able if fits(act.step, deed, scene, kinds=False) and _of_the_task(deed, one, scene)]
    if chosen and act.lead_in:
        yield from _glance(act.lead_in[-1], scene)
    yield from _best(chosen, one, scene)
    yield from _walk(tuple(reversed(act.lead_in)), act.step, one, scene)
    if not act.lead_in:
        things = act.step.things & scene.names
        yield from (
            deed
            for deed in scene.now
            if deed.place is not None and scene.is_news(deed) and things and names_any(things, deed.names)
        )


def _of_the_task(deed: Deed, one: Progress, scene: Scene) -> bool:
    return bool(deed.verbs & HANDLING) or any(arg in one.used or scene.is_object(arg) for arg in deed.args[:1])


def _leads_nowhere(deed: Deed, one: Progress, scene: Scene) -> bool:
    """Whether the skill goes on to take or put this very thing, which cannot be done: it then means another of its
    kind."""
    step, main = one.next.step, deed.args[0] if deed.args else ""
    if main in one.used or scene.in_goal(main) or step.verbs & HANDLING or main in scene.movable:
        return False
    own = {name for name, value in (bind(step, deed, one.bound) or {}).items() if value == main}
    return any(own & set(act.step.placeholders) for act in one.later if act.step.verbs & HANDLING)


def _glance(step: Instruction, scene: Scene) -> Iterator[Deed]:
    """The look around that a skill tells to take before it acts: what is seen may tell which thing is meant."""
    if "observe" in step.verbs:
        yield from (d for d in scene.now if d.key not in scene.seen and not d.args and fits(step, d, scene))


def _walk(steps: Sequence[Instruction], purpose: Instruction | None, one: Progress, scene: Scene) -> Iterator[Deed]:
    """Fresh going and opening, in the order of the steps; what is to be put goes where the task says."""
    after: Instruction | None = purpose
    for step in steps:
        if step.verbs & WALKED:
            fresh = [
                deed
                for deed in scene.now
                if deed.verbs & WALKED
                and scene.is_news(deed)
                and fits(step, deed, scene)
                and (step.template is None or bind(step, deed, one.bound) is not None)
            ]
            if purpose is not None and "put" in purpose.verbs and step.verbs & GOING:
                said = step.things & scene.names
                fresh = [d for d in fresh if scene.in_goal(d.place or "") or names_any(said, d.names)]
            towards = after.things if after is not None else frozenset()
            yield from sorted(fresh, key=lambda deed: not names_any(towards, deed.names))
        after = step


def _best(deeds: Iterable[Deed], one: Progress, scene: Scene) -> list[Deed]:
    """Those first that handle what the task names, then what the procedure used, what is seen with it, and what is
    like the things that the skill was learned from; of a thing that the task says to move, one that can be moved."""
    used = {*one.bound.values(), *one.used}
    step = one.next.step

    def key(deed: Deed) -> tuple[int, int, bool, bool, float, bool]:
        main = deed.args[0] if deed.args else ""
        return (
            -sum(map(scene.in_goal, deed.args)),
            -sum(arg in used for arg in deed.args),
            main not in scene.marked,
            not scene.together(main, used | scene.marked),
            -one.procedure.likeness(bind(step, deed, one.bound) or {}),
            bool(scene.target) and main not in scene.movable,
        )

    return sorted(deeds, key=key)
