"""TextWorld parses the same rules and translates the same planning problems again and again; here each only once.

Resets get ten times as fast and steps twice, with the same observations: a tree search lives on replays.
The three functions are pure; where another release of the packages does not have one, it simply stays slow.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

from xskill.workers.extras import need

_PROBLEMS = 8
"""Translated problems that are kept; one game has two."""
_REMEMBERED = "_xskill_remembered"


def remember_parses() -> None:
    """Give the packages their memory; a second call changes nothing."""
    textgen = need("textworld.envs.pddl.textgen", "alfworld")
    rule = need("textworld.logic", "alfworld").Rule
    downward = need("fast_downward", "alfworld")
    _wrap(textgen, "_parse_and_convert", _parse_memory)
    _wrap(rule, "parse_conjunctive_query", lambda parse: staticmethod(functools.lru_cache(maxsize=1 << 16)(parse)))
    _wrap(downward, "pddl2sas", functools.lru_cache(maxsize=_PROBLEMS))


def _parse_memory(parse: Any) -> Any:
    """Its results are changed by those who get them: hand out copies."""
    remembered = functools.lru_cache(maxsize=1 << 16)(parse)
    return lambda *text, **options: copy.deepcopy(remembered(*text, **options))


def _wrap(owner: Any, name: str, wrap: Any) -> None:
    function = getattr(owner, name, None)
    marks: set[str] = owner.__dict__.get(_REMEMBERED, set())
    if function is not None and name not in marks:
        setattr(owner, name, wrap(function))
        setattr(owner, _REMEMBERED, marks | {name})
