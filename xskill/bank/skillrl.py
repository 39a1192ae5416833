"""SkillRL's skill file (``general_skills``, ``task_specific_skills``, ``common_mistakes``) ⇄ a SkillBank."""

from __future__ import annotations

from typing import Any

from xskill.bank.skillbank import Bank, make_bank
from xskill.errors import BadRecord, NoRecord
from xskill.records import Skill, Tier, decode
from xskill.records.names import known_tag, tag_in
from xskill.streams.lines import BOM, refuse_binary
from xskill.streams.source import open_inputs

TYPE_KEYS = ("task_specific_skills", "query_type_skills")
"""Both spellings that the published files use."""


def read_skillrl(path: str) -> Bank:
    """:func:`from_skillrl` of a file (stdin: ``-``; gzip and zstd by content).

    Raises:
        NoRecord: there is nothing in it.
        BadRecord: no JSON, or another file.
    """
    data = b""
    for source in open_inputs([path], lambda text: None):
        if source.container == "parquet":
            raise BadRecord("a Parquet file; `xskill bank import` reads SkillRL's JSON", file=path, byte=0)
        refuse_binary(source)
        data = source.stream.read().removeprefix(BOM)
    try:
        document = decode(data, object) if data.strip() else []
        if document == []:
            raise NoRecord(f"{path}: no record in the input")
        return from_skillrl(document)
    except BadRecord as error:
        tag = tag_in(data)
        if not error.path and tag is not None and known_tag(tag):
            error.reason = f"a stream of ours ({tag}); `xskill bank import` reads SkillRL's JSON"
        raise error.at(path) from None


def from_skillrl(document: Any) -> Bank:
    """A bank from the parsed file. What our skills have no field for is kept in ``extra``, theirs and the header's.

    A mistake's ``description`` becomes the title and ``how_to_avoid`` the principle; ``why_it_happens`` stays in
    ``extra``. A skill without an id gets one from its place.

    Raises:
        BadRecord: the document has another shape; ``path`` says where.
    """
    if not isinstance(document, dict):
        raise BadRecord("expected a SkillRL file: one JSON object with general_skills and so on")
    keys = [key for key in TYPE_KEYS if key in document]
    if not keys and "general_skills" not in document and "common_mistakes" not in document:
        raise BadRecord(
            "no SkillRL file: none of general_skills, task_specific_skills, query_type_skills, common_mistakes"
        )
    skills = [_skill(entry, "general", None, path) for path, entry in _entries(document, "general_skills")]
    types: list[str] = []
    for key in keys:
        by_type = document[key]
        if not isinstance(by_type, dict):
            raise BadRecord("expected an object: task type → skills", path=key)
        for task_type in by_type:
            types.append(task_type)
            skills += [_skill(e, "task", task_type, f"{key}.{p}") for p, e in _entries(by_type, task_type)]
    skills += [_mistake(entry, path) for path, entry in _entries(document, "common_mistakes")]
    read_here = {"general_skills", "common_mistakes", *TYPE_KEYS}
    extra = {"skillrl": {"key": (keys or TYPE_KEYS)[0], "types": types}}
    rest = {key: value for key, value in document.items() if key not in read_here}
    return make_bank(skills, extra=extra | ({"document": rest} if rest else {}))


def to_skillrl(bank: Bank) -> dict[str, Any]:
    """The bank as SkillRL's file; what was imported comes back as it was.

    Their skills have no steps and no counter-indication: steps are appended to the principle and ``when_not`` to
    ``when_to_apply``. Numbers of the evidence stay out.
    """
    origin = bank.header.extra.get("skillrl", {})
    by_type: dict[str, list[dict[str, Any]]] = {name: [] for name in origin.get("types", [])}
    for skill in bank.skills:
        if skill.tier == "task":
            by_type.setdefault(skill.task_type or "other", []).append(_skill_out(skill))
    return {
        "general_skills": [_skill_out(skill) for skill in bank.skills if skill.tier == "general"],
        origin.get("key", TYPE_KEYS[0]): by_type,
        "common_mistakes": [_mistake_out(skill) for skill in bank.skills if skill.tier == "mistake"],
        **bank.header.extra.get("document", {}),
    }


def _entries(holder: dict[str, Any], key: str) -> list[tuple[str, dict[str, Any]]]:
    entries = holder.get(key, [])
    if not isinstance(entries, list):
        raise BadRecord("expected a list of skills", path=key)
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise BadRecord("expected an object", path=f"{key}[{number}]")
    return [(f"{key}[{number}]", entry) for number, entry in enumerate(entries)]


def _text(entry: dict[str, Any], field: str, path: str, *, required: bool = True) -> str | None:
    value = entry.get(field)
    if isinstance(value, str) or (value is None and not required):
        return value
    raise BadRecord("expected a string" if field in entry else "missing", path=f"{path}.{field}")


def _skill(entry: dict[str, Any], tier: Tier, task_type: str | None, path: str) -> Skill:
    fields = ("skill_id", "title", "principle", "when_to_apply")
    return Skill(
        id=_text(entry, "skill_id", path, required=False) or _place(path),
        tier=tier,
        task_type=task_type,
        title=_text(entry, "title", path) or "",
        principle=_text(entry, "principle", path) or "",
        when_to_apply=_text(entry, "when_to_apply", path, required=False),
        extra={key: value for key, value in entry.items() if key not in fields},
    )


def _mistake(entry: dict[str, Any], path: str) -> Skill:
    fields = ("mistake_id", "description", "how_to_avoid", "task_type")
    return Skill(
        id=_text(entry, "mistake_id", path, required=False) or _place(path),
        tier="mistake",
        task_type=_text(entry, "task_type", path, required=False),
        title=_text(entry, "description", path) or "",
        principle=_text(entry, "how_to_avoid", path) or "",
        extra={key: value for key, value in entry.items() if key not in fields},
    )


def _place(path: str) -> str:
    """``task_specific_skills.clean[3]`` → ``clean_004``."""
    name, _, number = path.rpartition("[")
    return f"{name.rpartition('.')[2]}_{int(number[:-1]) + 1:03}"


def _skill_out(skill: Skill) -> dict[str, Any]:
    steps = "; ".join(f"({number}) {step}" for number, step in enumerate(skill.steps, 1))
    when = " ".join(part for part in (skill.when_to_apply, skill.when_not and f"Not when: {skill.when_not}") if part)
    out: dict[str, Any] = {
        "skill_id": skill.id,
        "title": skill.title,
        "principle": f"{skill.principle} Steps: {steps}" if steps else skill.principle,
    }
    return out | ({"when_to_apply": when} if when else {}) | _foreign(skill)


def _mistake_out(skill: Skill) -> dict[str, Any]:
    out: dict[str, Any] = {"mistake_id": skill.id, "description": skill.title}
    out["why_it_happens"] = skill.extra.get("why_it_happens") or skill.when_to_apply or ""
    out["how_to_avoid"] = skill.principle
    if skill.task_type is not None:
        out["task_type"] = skill.task_type
    return out | _foreign(skill)


def _foreign(skill: Skill) -> dict[str, Any]:
    """Fields that came from their file; ours (token lists and the like) stay with us."""
    ours = {"tokens", "pattern", "kind", "why_it_happens"}
    return {key: value for key, value in skill.extra.items() if key not in ours}
