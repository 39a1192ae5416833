"""How far a skill has come in an episode, and whether what a deed handles is what the skill and the task mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xskill.workers.follower.binding import bind, fits
from xskill.workers.follower.instructions import Act, Instruction, Procedure
from xskill.workers.follower.scene import Deed, Scene
from xskill.workers.follower.vocabulary import KINDS, names_any, nouns, same_verb


@dataclass(slots=True)
class Progress:
    """How far a procedure has come in this episode."""

    procedure: Procedure
    completed: int = 0
    achieved: int = 0
    """Acts of the present round."""
    bound: dict[str, str] = field(default_factory=dict)
    """Placeholder → value, of the present round."""
    used: list[str] = field(default_factory=list)
    """Main values of the acts of the present round."""
    spent: set[str] = field(default_factory=set)
    """Those of completed rounds."""

    @property
    def next(self) -> Act:
        """What to achieve now."""
        return self.procedure.acts[self.achieved]

    @property
    def later(self) -> Sequence[Act]:
        """What comes after it in this round."""
        return self.procedure.acts[self.achieved + 1 :]


def progress(procedure: Procedure, scene: Scene) -> Progress:
    """Read from the deeds so far which acts of a procedure were achieved, whoever meant them to be."""
    one = Progress(procedure)
    if not procedure.acts:
        return one
    for deed in scene.done:
        step = one.next.step
        if deed.is_means or not (fits(step, deed, scene, kinds=False) and grounded(step, deed, one, scene)):
            continue
        one.bound.update(bind(step, deed, one.bound) or {})
        one.used += deed.args[:1]
        one.achieved += 1
        if one.achieved == len(procedure.acts):
            one.spent.update(one.used)
            one.completed, one.achieved, one.bound, one.used = one.completed + 1, 0, {}, []
    return one


def grounded(step: Instruction, deed: Deed, one: Progress, scene: Scene) -> bool:
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


def completes(mistake: Procedure, done: Sequence[Deed], deed: Deed) -> bool:
    """Taking the deed would do the whole of a mistake, its steps in a row with the same things throughout."""
    row = [*done[len(done) - len(mistake.steps) + 1 :], deed] if len(mistake.steps) > 1 else [deed]
    if len(row) < len(mistake.steps):
        return False
    bound: dict[str, str] = {}
    for step, one in zip(mistake.steps, row, strict=True):
        values = bind(step, one, bound)
        if (
            values is None
            or not same_verb(step.verbs, one.verbs)
            or (step.nouns and not names_any(step.nouns, one.names))
        ):
            return False
        bound |= values
    return True
