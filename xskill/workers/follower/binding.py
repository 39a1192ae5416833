"""One step of a skill against one deed: is it of the kind that is asked for, and with which values?"""

from __future__ import annotations

from collections.abc import Mapping

from xskill.workers.follower.instructions import Instruction
from xskill.workers.follower.scene import Deed, Scene
from xskill.workers.follower.vocabulary import names_any, same_verb

LONGEST = 300
"""Characters of an action that is held against a quoted command: matching takes a power of the length."""


def fits(step: Instruction, deed: Deed, scene: Scene, *, kinds: bool = True) -> bool:
    """The deed is of the kind that the step asks for; without ``kinds`` a surface may be a container."""
    if not same_verb(step.verbs, deed.verbs):
        return False
    if step.template is not None and not step.placeholders and step.template.fullmatch(deed.raw):
        return True
    asked = step.nouns if kinds else step.things
    if step.template is None:
        asked &= scene.names
    return not asked or names_any(asked, deed.names)


def bind(step: Instruction, deed: Deed, bound: Mapping[str, str]) -> dict[str, str] | None:
    """Values of the step's placeholders in the deed; None when the deed is worded otherwise, or when a placeholder
    already has another value."""
    if step.template is None:
        return {}
    match = step.template.fullmatch(deed.raw) if len(deed.raw) <= LONGEST else None
    if match is None:
        return None
    values = dict(zip(step.placeholders, match.groups(), strict=True))
    return values if all(bound.get(name, value) == value for name, value in values.items()) else None
