"""Profiles: the canonicalization rules of one kind of log, as a TOML file that a user can read and write.

A file holds ``name``, ``summary`` and

* ``[detect]``: ``environments`` (parts of an environment's name), ``signature`` (patterns, one of which
  fits the typical raw action), ``text_is`` (read a plain action as a ``text`` or as a shell ``command``);
* ``[clean]``: ``value`` (patterns removed from every slot value), ``head`` (removed before it is classed);
* ``[slots]``: named patterns for ``{slot:name}``;
* ``[classes.NAME]``: class tables (:mod:`xskill.canon.actions.classes`): ``by``, ``otherwise``, ``missing``, ``roles``;
* ``[shell]``: word lists for reading command lines (:mod:`xskill.canon.actions.parse_shell`);
* ``[[rule]]``: first match wins. What it reads is ``match`` (one template or several), ``call`` (names,
  with ``params`` for positional values; no name = any call) or ``on = "command"``; then ``where``
  (slot → pattern), ``verb``, ``role``, ``args`` (:mod:`xskill.canon.actions.rule_language`), or
  a slot that gives the token instead: ``command_in`` (it holds a shell line), ``action_in`` (an action in words),
  ``name_from`` (it names what is called);
* ``include``: profiles whose rules, classes and lists come after its own;
* ``[[example]]``: ``raw``, ``token`` and what else the action came with; the project's tests run them.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from xskill.canon.actions.classes import By, ClassTable, make_lookup
from xskill.canon.actions.parse_shell import ShellWords
from xskill.canon.actions.rule_language import (
    BUILT_IN_FILTERS,
    On,
    Rule,
    bare_name,
    compile_output,
    compile_template,
    first_word,
)
from xskill.errors import UsageError

_FOLDER = Path(__file__).parent / "profiles"
_TRIED_FIRST = ("alfworld", "scienceworld", "webshop", "miniwob", "webarena", "gui", "tools", "shell", "generic")
"""Where two fit equally well, the earlier one is detected; other files of the folder follow by name."""


def _names() -> tuple[str, ...]:
    files = {name.removesuffix(".toml") for name in os.listdir(_FOLDER) if name.endswith(".toml")}
    return (*_TRIED_FIRST, *sorted(files.difference(_TRIED_FIRST)))


PROFILE_NAMES: tuple[str, ...] = _names()
"""Shipped profiles: the TOML files of the folder ``profiles``, in the order in which they are tried."""

_TOP = {"name", "summary", "detect", "clean", "slots", "classes", "shell", "rule", "include", "example"}
_BORROWING = ("command_in", "action_in", "name_from")
_RULE = {"match", "call", "on", "params", "where", "verb", "role", "args", *_BORROWING}
_NAME_SLOTS = {"first", "rest", "name"}


@dataclass(frozen=True, slots=True)
class Profile:
    """A compiled profile."""

    name: str
    summary: str
    rules: tuple[Rule, ...]
    classes: Mapping[str, ClassTable]
    clean: tuple[re.Pattern[str], ...]
    shell: ShellWords
    text_is: Literal["text", "command"] = "text"
    uses_goal: bool = False
    uses_role: bool = False
    examples: tuple[Mapping[str, Any], ...] = ()

    def by_word(self, on: On) -> tuple[dict[str, tuple[Rule, ...]], tuple[Rule, ...]]:
        """Rules of one kind by first word, and those for any word, which stand in every list in the file's order."""
        kind = [rule for rule in self.rules if rule.on == on]
        words = sorted({word for rule in kind for word in rule.words})
        table = {word: tuple(rule for rule in kind if not rule.words or word in rule.words) for word in words}
        return table, tuple(rule for rule in kind if not rule.words)


def load_profile(name_or_path: str) -> Profile:
    """A shipped profile by its name, or the profile in a TOML file.

    Raises:
        UsageError: no such name or file, no valid TOML, or a rule that does not compile; the text says which.
    """
    if name_or_path in PROFILE_NAMES:
        return _shipped(name_or_path)
    path = Path(name_or_path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"no profile {name_or_path!r}: neither a file nor one of {', '.join(PROFILE_NAMES)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the profile {name_or_path!r}: {error}") from None
    return parse_profile(text, name_or_path)


def parse_profile(text: str, source: str) -> Profile:
    """Compile the TOML text of a profile; ``source`` is named in errors.

    Raises:
        UsageError: as :func:`load_profile`.
    """
    try:
        return _compile(_with_included(tomllib.loads(text), source))
    except (tomllib.TOMLDecodeError, ValueError, TypeError, KeyError, AttributeError, re.error) as error:
        raise UsageError(f"{source}: not a valid profile: {error}") from None


def detect_profile(env: str | None, actions: Sequence[tuple[str, str]]) -> str:
    """Name of the shipped profile for a source.

    By the environment's name first; else by the actions, ``(kind, raw)`` samples: the profile whose signature
    fits most of them, if it fits at least 60%; else ``tools`` when calls dominate, ``shell`` when commands
    do, else ``generic``. ``respond`` steps do not count.
    """
    if env:
        name = re.sub(r"[^a-z0-9]", "", env.lower())
        for candidate in PROFILE_NAMES:
            if any(part in name for part in _detection(candidate)[0]):
                return candidate
    sample = [(kind, raw) for kind, raw in actions if kind != "respond" and raw.strip()]
    if not sample:
        return "generic"
    best, best_share = "", 0.0
    for candidate in PROFILE_NAMES:
        signature = _detection(candidate)[1]
        if not signature:
            continue
        share = sum(any(pattern.search(raw) for pattern in signature) for _, raw in sample) / len(sample)
        if share > best_share:
            best, best_share = candidate, share
    if best_share >= 0.6:
        return best
    kinds = Counter(kind for kind, _ in sample)
    kind, count = max(kinds.items(), key=lambda item: (item[1], item[0]))
    if count * 2 >= len(sample):
        return {"call": "tools", "command": "shell"}.get(kind, "generic")
    return "generic"


@cache
def _shipped(name: str) -> Profile:
    return _compile(_with_included(_shipped_toml(name), name))


@cache
def _detection(name: str) -> tuple[tuple[str, ...], tuple[re.Pattern[str], ...]]:
    """Parts of environment names and signature patterns of a shipped profile, without compiling its rules."""
    detect = _shipped_toml(name).get("detect", {})
    signature = tuple(re.compile(pattern, re.I | re.S) for pattern in detect.get("signature", ()))
    return tuple(detect.get("environments", ())), signature


@cache
def _shipped_toml(name: str) -> dict[str, Any]:
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def _with_included(data: dict[str, Any], source: str) -> dict[str, Any]:
    """The profile's tables with those of the included shipped profiles after them."""
    unknown = sorted(set(data) - _TOP)
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}; a profile has {', '.join(sorted(_TOP))}")
    merged = dict(data)
    merged["rule"] = list(data.get("rule", []))
    merged["classes"] = dict(data.get("classes", {}))
    merged["shell"] = dict(data.get("shell", {}))
    for name in data.get("include", []):
        if name not in PROFILE_NAMES or name == source:
            raise ValueError(f"cannot include {name!r}: one of {', '.join(PROFILE_NAMES)}")
        other = _with_included(_shipped_toml(name), name)
        merged["rule"] += other["rule"]
        merged["classes"] = {**other["classes"], **merged["classes"]}
        merged["shell"] = {**other["shell"], **merged["shell"]}
    return merged


def _compile(data: dict[str, Any]) -> Profile:
    head = tuple(re.compile(pattern, re.I | re.S) for pattern in data.get("clean", {}).get("head", []))
    classes = {name: _table(name, table, head) for name, table in data["classes"].items()}
    filters = [*classes, *BUILT_IN_FILTERS]
    rules: list[Rule] = []
    for number, rule in enumerate(data["rule"], 1):
        try:
            rules += _rules(rule, data.get("slots", {}), filters)
        except (ValueError, TypeError, KeyError, re.error) as error:
            raise ValueError(f"rule {number}: {error}") from None
    outputs = [output for rule in rules for output in (rule.verb, rule.role) if output is not None]
    detect = data.get("detect", {})
    return Profile(
        name=str(data.get("name", "profile")),
        summary=str(data.get("summary", "")),
        rules=tuple(rules),
        classes=classes,
        clean=tuple(re.compile(pattern, re.I | re.S) for pattern in data.get("clean", {}).get("value", [])),
        shell=ShellWords.from_table(data["shell"]),
        text_is="command" if detect.get("text_is") == "command" else "text",
        uses_goal=any("goal" in output.filters for output in outputs),
        uses_role=any("role" in output.slots for output in outputs),
        examples=tuple(data.get("example", ())),
    )


def _table(name: str, table: Mapping[str, Any], head: tuple[re.Pattern[str], ...]) -> ClassTable:
    by = table.get("by", "substring")
    if by not in get_args(By):
        raise ValueError(f"classes.{name}: by = {by!r} is none of {', '.join(get_args(By))}")
    lookup = make_lookup(by, table.get("roles", {}))
    return ClassTable(name, lookup, head, table.get("otherwise"), table.get("missing"))


def _rules(rule: Mapping[str, Any], patterns: Mapping[str, str], filters: Sequence[str]) -> list[Rule]:
    """Compile one ``[[rule]]``: as many rules as it has templates."""
    unknown = sorted(set(rule) - _RULE)
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}; a rule has {', '.join(sorted(_RULE))}")
    borrowed = {key: rule[key] for key in _BORROWING if key in rule}
    if "verb" not in rule and not borrowed:
        raise ValueError("it has no verb")
    if borrowed and "call" not in rule:
        raise ValueError(f"{next(iter(borrowed))} is for rules with call")
    if "args" in rule and "match" not in rule:
        raise ValueError("args is for rules with match: the args of a call or a command are all its values")
    if "match" in rule and ("call" in rule or "params" in rule or "on" in rule):
        raise ValueError("match goes without call, params and on")
    whole = Rule(
        rule.get("on", "call"),
        compile_output(rule.get("verb", ""), filters),
        compile_output(rule["role"], filters) if rule.get("role") else None,
        where=tuple((slot, re.compile(pattern, re.I | re.S)) for slot, pattern in rule.get("where", {}).items()),
        args=tuple(rule["args"]) if "args" in rule else None,
        **borrowed,
    )
    if whole.on not in get_args(On):
        raise ValueError(f"on = {whole.on!r} is none of {', '.join(get_args(On))}")
    if "match" in rule:
        templates = [rule["match"]] if isinstance(rule["match"], str) else rule["match"]
        return [_text_rule(template, patterns, whole) for template in templates]
    names = rule.get("call", [])
    names = [names] if isinstance(names, str) else names
    slots = whole.verb.slots | (whole.role.slots if whole.role else set())
    return [
        replace(
            whole,
            words=frozenset(bare_name(name) for name in names),
            params=tuple(rule.get("params", ())),
            by_name=slots <= _NAME_SLOTS and not whole.where and not borrowed,
        )
    ]


def _text_rule(template: str, patterns: Mapping[str, str], rule: Rule) -> Rule:
    """The rule for one template: its pattern, the word that dispatches it, its args."""
    pattern = compile_template(template, patterns)
    word = first_word(template.split("{")[0]) if not template.startswith("{") else ""
    dispatched = bool(word) and (len(template) == len(word) or template[len(word)] in " ([")
    groups = tuple(pattern.groupindex)
    missing = sorted(set(rule.args or ()) - set(groups))
    if missing:
        raise ValueError(f"args names {missing[0]!r}, which {template!r} does not hold")
    args = rule.args
    if args is None:
        args = tuple(group for group in groups if rule.role is None or group not in rule.role.plain)
    return replace(rule, on="text", pattern=pattern, words=frozenset([word]) if dispatched else frozenset(), args=args)
