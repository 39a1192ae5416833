"""What the follower does without a skill: a fixed exploration, and placing what the task names."""

from __future__ import annotations

from collections.abc import Iterator

from xskill.workers.follower.scene import Deed, Scene
from xskill.workers.follower.vocabulary import nouns


def explore(scene: Scene) -> Iterator[Deed]:
    """Handle what the task names, open what was gone to, go where the task says, then everywhere, open the rest."""
    yield from named(scene)
    yield from closed_here(scene)
    going = [deed for deed in scene.now if deed.place is not None and scene.is_news(deed)]
    yield from (deed for deed in going if scene.in_goal(deed.place or ""))
    yield from (deed for deed in going if deed.place not in scene.visited)
    yield from (deed for deed in scene.now if "open" in deed.verbs and deed.key not in scene.tried)
    yield from (deed for deed in going if deed.key not in scene.tried)
    yield from going


def closed_here(scene: Scene) -> list[Deed]:
    """The actions that open what was gone to."""
    return [d for d in scene.now if "open" in d.verbs and d.args == (scene.here,) and d.key not in scene.tried]


def named(scene: Scene) -> list[Deed]:
    """Taking what the task means, and putting what was taken where the task says; each once with a thing.

    It means what it names; when it says to put something somewhere, also what something was done with before.
    """
    handled = {(verb, deed.args[0]) for deed in scene.done if deed.args for verb in deed.verbs}
    fresh = [d for d in scene.now if d.args and not any((verb, d.args[0]) in handled for verb in d.verbs)]
    takes = [
        deed
        for deed in fresh
        if "take" in deed.verbs
        and (scene.in_goal(deed.args[0]) or (scene.target and deed.args[0] in scene.marked))
        and not scene.is_target(deed.args[0])
    ]
    puts = [
        deed
        for deed in fresh
        if "put" in deed.verbs and scene.was_taken(deed.args[0]) and scene.is_target(deed.args[-1])
    ]
    puts.sort(key=lambda deed: (deed.args[0] not in scene.marked, -_likeness(deed.args[0], scene)))
    return [*takes, *puts]


def _likeness(value: str, scene: Scene) -> float:
    """Share of a name's words that were words of something taken."""
    said = nouns([value])
    return len(said & scene.taken) / len(said) if said else 0.0
