"""The prompt of an instance: the task and the gold prefix as chat messages."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from xskill.errors import NoInput, UsageError
from xskill.records import Message, Step, Trajectory, turns

_PLACE = re.compile(r"\{(task|task_type|env|observation|action|thought)\}")


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """Texts with ``{task} {task_type} {env} {observation} {action} {thought}``; what is not known is empty.

    A message that comes out empty is left out. Only these names are replaced, once: braces in a log stay as they are.
    """

    system: str = (
        "You act in a text environment. Reply with the next actions that you take, one a line, and nothing else."
    )
    task: str = "{task}\n\n{observation}"
    """First user message; its observation is the initial one."""
    action: str = "{action}"
    """Assistant message of a turn; once for each of its steps, joined by newlines."""
    observation: str = "{observation}"
    """User message after a turn; likewise."""

    def fill(self, text: str, **values: str | None) -> str:
        return _PLACE.sub(lambda match: values.get(match.group(1)) or "", text).strip()


def read_template(path: str) -> PromptTemplate:
    """A template from a TOML file with some of the keys ``system, task, action, observation``.

    Raises:
        NoInput: no such file. UsageError: no TOML, an unknown key, or a value that is no text.
    """
    try:
        value = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise NoInput(f"{path}: cannot read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from None
    names = [field.name for field in fields(PromptTemplate)]
    for key, text in value.items():
        if key not in names or not isinstance(text, str):
            raise UsageError(f"{path}: {key}: expected a text under one of {', '.join(names)}")
    return PromptTemplate(**value)


def prompt_of(record: Trajectory, start: int, template: PromptTemplate) -> list[Message]:
    """The messages before action ``start``: system, task, and a pair for each turn of the prefix.

    Two messages of one role in a row are joined: chat templates want them to take turns.
    """
    steps = (record.steps or [])[:start]
    about = {"task": record.task, "task_type": record.task_type, "env": record.env}
    messages = [
        ("system", template.fill(template.system, **about)),
        ("user", template.fill(template.task, observation=record.initial_observation, **about)),
    ]
    for turn in _turns(steps):
        acts = [template.fill(template.action, action=step.action, thought=step.thought, **about) for step in turn]
        seen = [template.fill(template.observation, observation=step.observation, **about) for step in turn]
        messages += [("assistant", "\n".join(filter(None, acts))), ("user", "\n".join(filter(None, seen)))]
    joined: list[tuple[str, str]] = []
    for role, content in messages:
        if joined and joined[-1][0] == role and content:
            joined[-1] = role, f"{joined[-1][1]}\n{content}"
        elif content:
            joined.append((role, content))
    return [Message(role=role, content=content) for role, content in joined]  # type: ignore[arg-type]


def _turns(steps: list[Step]) -> Iterable[list[Step]]:
    groups: dict[int, list[Step]] = {}
    for turn, step in zip(turns(steps), steps, strict=True):
        groups.setdefault(turn, []).append(step)
    return groups.values()
