"""Hand-made episodes for the teacher."""

from __future__ import annotations

from xskill.records import Step, Trajectory

RAW = {
    "go": "go to {}",
    "take": "take {} from {}",
    "clean": "clean {} with {}",
    "put": "put {} in/on {}",
    "look": "look",
}
ROLE = {"sink": "sinkbasin", "microwave": "microwave"}
TOKEN = {
    "go": "navigate<{}>",
    "take": "take<object>",
    "clean": "clean<object>",
    "put": "put<surface>",
    "look": "observe<room>",
}


def step(text):
    """``go sink 1`` → token, args, raw action. Places are named ``sink 1`` or ``shelf 2``, objects ``mug 3``."""
    verb, *values = [part.strip() for part in text.replace(":", ",").split(",")]
    role = ROLE.get(values[0].split()[0], "surface") if verb == "go" else ""
    return TOKEN[verb].format(role), values, RAW[verb].format(*values)


def episode(name, text, success, *, task_type="clean", question=None, answers=None, **more):
    """``go: sink 1; clean: mug 1, sink 1`` → a trajectory."""
    parts = [step(part.strip()) for part in text.split(";")]
    answers = answers or [f"seen {number}" for number in range(len(parts))]
    steps = [Step(action=raw, observation=answer) for (_, _, raw), answer in zip(parts, answers, strict=True)]
    return Trajectory(
        id=name,
        question_id=question or f"q-{name}",
        task=more.pop("task", "clean some mug and put it on a shelf"),
        task_type=task_type,
        success=success,
        actions=[token for token, _, _ in parts],
        args=[values for _, values, _ in parts],
        steps=more.pop("steps", steps),
        **more,
    )


def cleaning(n, *, good="abcdefghijkl", bad="mnopqrst"):
    """Episodes in which cleaning at the sink and putting the thing away succeeds, and putting it away dirty fails."""
    found = []
    for number, name in enumerate(good[:n]):
        thing, place = f"mug {number}", f"shelf {number % 3}"
        text = f"look; go: {place}; take: {thing}, {place}; go: sink 1; clean: {thing}, sink 1; "
        text += f"go: shelf 9; put: {thing}, shelf 9"
        found.append(episode(f"good-{name}", text, True))
    for number, name in enumerate(bad[:n]):
        thing, place = f"mug {number}", f"shelf {number % 3}"
        text = f"look; go: {place}; take: {thing}, {place}; go: shelf 9; put: {thing}, shelf 9"
        found.append(episode(f"bad-{name}", text, False))
    return found
