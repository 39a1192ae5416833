"""A policy without a model that does what its skills say, so that a bank's quality shows in success rates.

It is deterministic and sees the task text, the actions so far and what can be done now. A skill is a sequence
of *acts* (take, heat, put …), each with a lead-in of going and opening. The first act that was not achieved yet
is what the skill wants next: it is done when an admissible action fits it, its placeholders bound to what the
skill used before and otherwise to what the task names; else the lead-in is walked backwards for the last step
that can be taken and was not taken since something changed. The first skill that can do something decides:
those of the task's own type first, then general ones, the less often completed before the others. When none
can, a fixed exploration handles what the task names and looks into every place in turn. The action that would
complete a mistake is taken last of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from xskill.rollouts.protocol import Child
from xskill.rollouts.workers.follower_scene import Deed, Reader, Scene, look, names_any, nouns, same_verb
from xskill.rollouts.workers.follower_wording import GOING, KINDS, Routine, Step, read_skill
from xskill.rollouts.workers.session import CannotAnswer, State

WALKED = GOING | {"open"}
"""What of a lead-in is done: closing and looking bring no act nearer to one who sees what can be done."""
LONGEST = 300
"""Characters of an action that is held against a quoted command: matching takes a power of the length."""


@dataclass(slots=True)
class Progress:
    """How far a routine has come in this episode."""

    routine: Routine
    completed: int = 0
    achieved: int = 0
    """Acts of the present round."""
    bound: dict[str, str] = field(default_factory=dict)
    """Placeholder → value, of the present round."""
    used: list[str] = field(default_factory=list)
    """Main values of the acts of the present round."""
    spent: set[str] = field(default_factory=set)
    """Those of completed rounds."""


class Follower:
    """The policy of ``xskill worker follower``."""

    def __init__(self) -> None:
        self._readers: dict[str | None, Reader] = {}

    def propose(self, state: State, k: int, rng: np.random.Generator) -> list[Child]:
        """The action that it takes, then those that it would take in its stead."""
        env = state.begun.env or state.task.get("env")
        if env not in self._readers:
            self._readers[env] = Reader(env)
        read = self._readers[env].read
        task = state.begun.task or state.task.get("task") or ""
        can = state.environment.actions()
        if can is None:
            raise CannotAnswer("the follower has to know what can be done, and the environment does not list it")
        scene = look(task, tuple(read(action) for action, _ in state.turns), tuple(map(read, can)))
        routines = [read_skill(skill) for skill in state.skills]
        chosen: dict[str, None] = {}
        for deed in preferences(scene, routines):
            chosen.setdefault(deed.raw)
            if len(chosen) == k:
                break
        return [Child(action=raw, logprob=0.0 if k == 1 else None) for raw in chosen]


def preferences(scene: Scene, routines: Sequence[Routine]) -> Iterator[Deed]:
    """What can be done, the best first."""
    mistakes = [routine for routine in routines if routine.tier == "mistake" and routine.steps]
    found = [progress(routine, scene) for routine in routines if routine.tier != "mistake" and routine.steps]
    found.sort(key=lambda one: (not one.routine.acts, one.completed, one.routine.tier == "general"))
    vetoed: list[Deed] = []
    for deed in _all_preferences(scene, found):
        if any(completes(mistake, scene.done, deed) for mistake in mistakes):
            vetoed.append(deed)
        else:
            yield deed
    yield from vetoed


def _all_preferences(scene: Scene, found: Sequence[Progress]) -> Iterator[Deed]:
    meant = named(scene)
    takes = [deed for deed in meant if "take" in deed.verbs]
    closed = [d for d in scene.now if "open" in d.verbs and d.args == (scene.here,) and d.key not in scene.tried]
    for one in found:
        at_hand = takes if one.routine.acts and not one.completed else meant
        for deed in wishes(one, scene):
            if deed.place is not None:
                yield from (*at_hand, *closed)  # nobody walks on without having looked, or away from what is wanted
            yield deed
    yield from explore(scene)
    yield from (deed for deed in scene.now if deed.key not in scene.stale)
    yield from scene.now


def progress(routine: Routine, scene: Scene) -> Progress:
    """Read from the actions so far which acts of a routine were achieved, whoever meant them to be."""
    one = Progress(routine)
    if not routine.acts:
        return one
    for deed in scene.done:
        step = routine.acts[one.achieved].step
        if deed.is_means or not (_fits(step, deed, scene, kinds=False) and _grounded(step, deed, one, scene)):
            continue
        one.bound.update(_binding(step, deed, one.bound) or {})
        one.used += deed.args[:1]
        one.achieved += 1
        if one.achieved == len(routine.acts):
            one.spent.update(one.used)
            one.completed, one.achieved, one.bound, one.used = one.completed + 1, 0, {}, []
    return one


def wishes(one: Progress, scene: Scene) -> Iterator[Deed]:
    """What a routine would do now: its next act, else the latest step of the lead-in that is worth taking."""
    if not one.routine.acts:
        yield from _walk(one.routine.steps, None, one, scene)
        return
    act = one.routine.acts[one.achieved]
    able = [d for d in scene.now if not d.is_means and d.key != scene.last_act and _grounded(act.step, d, one, scene)]
    exact = [deed for deed in able if _binding(act.step, deed, one.bound) is not None and _fits(act.step, deed, scene)]
    yield from _best(exact or [deed for deed in able if _fits(act.step, deed, scene, kinds=False)], one, scene)
    yield from _walk(tuple(reversed(act.lead_in)), act.step, one, scene)
    if not act.lead_in:
        things = act.step.things & scene.names
        yield from (
            deed
            for deed in scene.now
            if deed.place is not None and deed.key not in scene.stale and things and names_any(things, deed.names)
        )


def _walk(steps: Sequence[Step], purpose: Step | None, one: Progress, scene: Scene) -> Iterator[Deed]:
    """Fresh going and opening, in the order of the steps; what is to be put goes where the task says."""
    after: Step | None = purpose
    for step in steps:
        if step.verbs & WALKED:
            fresh = [
                deed
                for deed in scene.now
                if deed.verbs & WALKED
                and deed.key not in scene.stale
                and _fits(step, deed, scene)
                and (step.template is None or _binding(step, deed, one.bound) is not None)
            ]
            if purpose is not None and "put" in purpose.verbs and step.verbs & GOING:
                named = step.things & scene.names
                fresh = [d for d in fresh if scene.in_goal(d.place or "") or names_any(named, d.names)]
            towards = after.things if after is not None else frozenset()
            yield from sorted(fresh, key=lambda deed: not names_any(towards, deed.names))
        after = step


def _best(deeds: Iterable[Deed], one: Progress, scene: Scene) -> list[Deed]:
    """Those that handle more of what the task names first, then those with more of what the routine used."""
    used = {*one.bound.values(), *one.used}
    return sorted(deeds, key=lambda d: (-sum(map(scene.in_goal, d.args)), -sum(arg in used for arg in d.args)))


def _fits(step: Step, deed: Deed, scene: Scene, *, kinds: bool = True) -> bool:
    """The deed is of the kind that the step asks for."""
    if not same_verb(step.verbs, deed.verbs):
        return False
    asked = step.nouns if kinds else step.things
    if step.template is None:
        asked &= scene.names
    return not asked or names_any(asked, deed.names)


def _binding(step: Step, deed: Deed, bound: dict[str, str]) -> dict[str, str] | None:
    """Values of the step's placeholders in the deed, if they are those they are bound to already."""
    if step.template is None:
        return {}
    match = step.template.fullmatch(deed.raw) if len(deed.raw) <= LONGEST else None
    if match is None:
        return None
    values = dict(zip(step.placeholders, match.groups(), strict=True))
    return values if all(bound.get(name, value) == value for name, value in values.items()) else None


def _grounded(step: Step, deed: Deed, one: Progress, scene: Scene) -> bool:
    """What the deed handles is meant: the task names it, the skill used it, or its first round asks for its kind."""
    if not deed.args:
        return True
    main, target = deed.args[0], deed.args[-1]
    asked = step.nouns if step.template is not None else step.nouns & scene.names
    if "take" in deed.verbs and main in one.spent:
        return False
    if "put" in deed.verbs:
        meant = scene.is_target(target) or names_any(asked - KINDS, nouns([target]))
        return meant and main not in one.spent and scene.was_taken(main)
    return (
        main in one.used
        or main in one.bound.values()
        or scene.in_goal(main)
        or (not one.completed and names_any(asked, deed.names))
    )


def explore(scene: Scene) -> Iterator[Deed]:
    """The fixed exploration: handle what the task names, open what is here, go where the task says and one was not."""
    yield from named(scene)
    yield from (deed for deed in scene.now if "open" in deed.verbs and deed.key not in scene.tried)
    going = [deed for deed in scene.now if deed.place is not None]
    yield from (deed for deed in going if scene.in_goal(deed.place or "") and deed.key not in scene.stale)
    yield from (deed for deed in going if deed.key not in scene.tried)
    yield from (deed for deed in going if deed.key not in scene.stale)


def named(scene: Scene) -> list[Deed]:
    """Taking what the task names, and putting what was taken where the task says; each once with a thing."""
    handled = {(verb, deed.args[0]) for deed in scene.done if deed.args for verb in deed.verbs}
    return [
        deed
        for deed in scene.now
        if deed.args
        and not any((verb, deed.args[0]) in handled for verb in deed.verbs)
        and (
            ("take" in deed.verbs and scene.in_goal(deed.args[0]) and not scene.is_target(deed.args[0]))
            or ("put" in deed.verbs and scene.was_taken(deed.args[0]) and scene.is_target(deed.args[-1]))
        )
    ]


def completes(mistake: Routine, done: Sequence[Deed], deed: Deed) -> bool:
    """Taking the deed would do the whole of a mistake, its steps in a row with the same things throughout."""
    row = [*done[len(done) - len(mistake.steps) + 1 :], deed] if len(mistake.steps) > 1 else [deed]
    if len(row) < len(mistake.steps):
        return False
    bound: dict[str, str] = {}
    for step, one in zip(mistake.steps, row, strict=True):
        values = _binding(step, one, bound)
        if (
            values is None
            or not same_verb(step.verbs, one.verbs)
            or (step.nouns and not names_any(step.nouns, one.names))
        ):
            return False
        bound |= values
    return True
