"""``--map``: a format made from the user's own field names.

``--map 'action=turns[].act,observation=turns[].result.text,task=meta.goal,success=won'``

* ``PATH[]`` marks the list of steps; paths behind it are read in each step, others in the record.
* Without any ``[]`` each record is one step, and consecutive records with equal ``id`` are an episode.
* ``name=`` (with ``arguments=``) in place of ``action=`` makes the steps calls.
* ``env="shop"``: a quoted value is a constant.

Fields that are not mapped are kept in ``extra``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.content_text import as_text
from xskill.canon.reading.dialog import call_arguments
from xskill.canon.reading.episode import Place, RawEpisode, RawStep
from xskill.canon.reading.fields import at, boolean, fail, integer, mapping, number, string, word
from xskill.errors import BadRecord, UsageError
from xskill.records import Parent
from xskill.records.base import KINDS

STEP_FIELDS = ("action", "observation", "thought", "kind", "name", "arguments", "role", "turn", "error", "reward",
               "logprob", "n_tokens")  # fmt: skip
EPISODE_FIELDS = ("id", "question_id", "task", "task_type", "env", "split", "initial_observation", "success", "reward",
                  "parent.id", "parent.turn", "claim")  # fmt: skip


@dataclass(frozen=True, slots=True)
class FieldPath:
    """Where a field's value is: a dotted path, or a constant."""

    text: str
    constant: str | None = None

    def get(self, holder: Any) -> Any:
        return self.constant if self.constant is not None else at(holder, self.text)


@dataclass(frozen=True, slots=True)
class FieldMap:
    """A parsed ``--map``: path of the list of steps (None = a record is a step), and the paths of both levels."""

    steps: str | None
    step: dict[str, FieldPath]
    episode: dict[str, FieldPath]


def parse_map(text: str) -> FieldMap:
    """Read ``field=path,field=path…``.

    Raises:
        UsageError: an unknown field, no action, steps in two lists, flat records without an id.
    """
    step: dict[str, FieldPath] = {}
    episode: dict[str, FieldPath] = {}
    lists: set[str] = set()
    pairs = [pair.partition("=") for pair in _split(text)]
    nested = any("[]" in path for _, _, path in pairs)
    for field, equals, path in pairs:
        field, path = field.strip(), path.strip()
        if not equals or not path:
            raise UsageError(f"--map {field}: expected FIELD=PATH")
        constant = path[1:-1] if len(path) > 1 and path[0] == path[-1] and path[0] in "\"'" else None
        before, brackets, after = path.partition("[]")
        if constant is None and brackets:
            if "[]" in after:
                raise UsageError(f"--map {field}={path}: only one [] is understood, that of the list of steps")
            lists.add(before.strip("."))
            where = FieldPath(after.strip("."))
        else:
            where = FieldPath(path, constant)
        in_step = bool(brackets) and constant is None
        if field in STEP_FIELDS and (in_step or field not in EPISODE_FIELDS):
            if nested and not in_step and constant is None:
                raise UsageError(
                    f"--map {field}={path}: a field of the steps; say where the list is, as in steps[].{path}"
                )
            step[field] = where
        elif field in EPISODE_FIELDS and not in_step:
            episode[field] = where
        else:
            names = ", ".join(dict.fromkeys(STEP_FIELDS + EPISODE_FIELDS))
            raise UsageError(f"--map {field}={path}: the fields are {names}; those of a whole episode take no []")
    if "action" not in step and "name" not in step:
        raise UsageError("--map needs action=PATH (or name=PATH for calls), for example action=steps[].action")
    if len(lists) > 1:
        raise UsageError(f"--map: the steps cannot lie in two lists ({', '.join(sorted(lists))})")
    if not lists and "id" not in episode:
        raise UsageError("--map: without [] each record is one step; say which field tells the episodes apart: id=PATH")
    return FieldMap(lists.pop() if lists else None, step, episode)


def mapped_format(fields: FieldMap) -> Format:
    """The format that a map describes."""
    if fields.steps is not None:
        return Format("map", "", "record", lambda value: isinstance(value, dict), lambda v, p: _nested(v, p, fields))
    return Format("map", "", "stream", lambda value: isinstance(value, dict), lambda v, p: _flat(v, p, fields))


def _split(text: str) -> list[str]:
    """Split at the commas outside quotes."""
    parts, quote, current = [], "", ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == ",":
            parts.append(current)
            current = ""
            continue
        current += char
    return [part for part in [*parts, current] if part.strip()]


def _nested(record: Any, place: Place, fields: FieldMap) -> Iterator[RawEpisode]:
    record = mapping(record, "")
    assert fields.steps is not None
    listed = at(record, fields.steps)
    if not isinstance(listed, list):
        keys = ", ".join(list(record)[:8])
        raise BadRecord(f"no list at {fields.steps!r} (--map); the record has {keys or 'no keys'}", path=fields.steps)
    steps = [_step(step, fields, f"{fields.steps}[{index}]") for index, step in enumerate(listed)]
    yield _episode(record, steps, fields, fields.steps)


def _flat(values: Iterator[tuple[int, Any]], place: Place, fields: FieldMap) -> Iterator[RawEpisode]:
    current: Any = None
    steps: list[RawStep] = []
    merged: dict[str, Any] = {}
    first = 1
    for number_, value in values:
        if not isinstance(value, dict):
            raise fail("", "an object", value).at(place.file or "-", number_)
        identity = fields.episode["id"].get(value)
        if steps and identity != current:
            yield _flat_episode(merged, steps, fields, first)
            steps, merged = [], {}
        if not steps:
            first = number_
        current = identity
        steps.append(_step(value, fields, ""))
        steps[-1].extra = None  # what is not mapped stands in every row; the last row's goes to the episode
        merged.update({key: item for key, item in value.items() if item is not None})
    if steps:
        yield _flat_episode(merged, steps, fields, first)


def _flat_episode(row: dict[str, Any], steps: list[RawStep], fields: FieldMap, first: int) -> RawEpisode:
    episode = _episode(row, steps, fields, "")
    used = {path.text.split(".")[0] for path in fields.step.values()}
    episode.extra = {key: value for key, value in episode.extra.items() if key not in used}
    episode.record = first
    return episode


def _step(step: Any, fields: FieldMap, path: str) -> RawStep:
    get = {field: where.get(step) for field, where in fields.step.items()}
    prefix = f"{path}." if path else ""
    raw = RawStep(observation=as_text(get.get("observation")), thought=as_text(get.get("thought")) or None)
    kind = get.get("kind")
    if "name" in fields.step and get["name"] is not None:
        raw.kind, raw.name = "call", string(get["name"], prefix + fields.step["name"].text)
        raw.arguments = call_arguments(get.get("arguments"))
    else:
        action = get.get("action")
        if action is None:
            raise BadRecord(f"nothing at {fields.step.get('action', fields.step.get('name')).text!r} (--map)",  # type: ignore[union-attr]
                            path=path)  # fmt: skip
        raw.action = as_text(action)
    if kind is not None:
        if word(kind) not in KINDS:
            raise fail(prefix + fields.step["kind"].text, "action, call, command or respond", kind)
        if kind != raw.kind:
            raw.kind = kind  # another string object of the same text would be written out as if it were no default
    raw.role = string(get.get("role"), prefix + "role")
    raw.turn = integer(get.get("turn"), prefix + "turn")
    raw.error = get.get("error") not in (None, False, "", 0)
    raw.reward = number(get.get("reward"), prefix + "reward")
    logprob = get.get("logprob")
    raw.logprob = logprob if isinstance(logprob, list) else number(logprob, prefix + "logprob")
    raw.n_tokens = integer(get.get("n_tokens"), prefix + "n_tokens")
    if isinstance(step, dict):
        used = {where.text.split(".")[0] for where in fields.step.values()}
        raw.extra = {key: value for key, value in step.items() if key not in used} or None
    return raw


def _episode(record: dict[str, Any], steps: list[RawStep], fields: FieldMap, list_path: str) -> RawEpisode:
    get = {field: where.get(record) for field, where in fields.episode.items()}
    used = {where.text.split(".")[0] for where in fields.episode.values() if "." not in where.text}
    used.add(list_path.split(".")[0])
    turn = integer(get.get("parent.turn"), "parent.turn")
    parent = string(get.get("parent.id"), "parent.id")
    return RawEpisode(
        steps=steps,
        id=string(get.get("id"), "id"),
        question_id=string(get.get("question_id"), "question_id"),
        task=as_text(get.get("task")),
        task_type=string(get.get("task_type"), "task_type"),
        env=string(get.get("env"), "env"),
        split=string(get.get("split"), "split"),
        initial_observation=as_text(get.get("initial_observation")),
        success=boolean(get.get("success"), "success"),
        reward=number(get.get("reward"), "reward"),
        claim=get.get("claim"),
        parent=Parent(id=parent, turn=turn) if parent is not None and turn is not None else None,
        extra={key: value for key, value in record.items() if key not in used},
    )
