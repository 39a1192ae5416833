"""How a baseline, built in or of another package, is run with options given as text."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from xskill.choices import resolve
from xskill.credit.choices import METHODS
from xskill.credit.group_baselines import Baseline
from xskill.errors import BadPlugIn, UsageError
from xskill.rollouts.arrays import Rollouts
from xskill.rollouts.prefix_tree import Trie


@dataclass(frozen=True, slots=True)
class NoOptions:
    """Of a method that has none."""


def run_baseline(
    rollouts: Rollouts, trie: Trie, name: str, given: Mapping[str, str]
) -> tuple[Baseline, dict[str, Any]]:
    """What a baseline gives, and its options with their defaults filled in.

    Raises:
        UsageError: no such method or option, or a value that the option cannot have.
        BadData: the method is undefined on a question.
    """
    method = METHODS[name]
    options = parse_options(name, NoOptions if method.options is None else resolve(method.options), given)
    result: Baseline = method.load()(rollouts, trie, options)
    if result.turn.shape != (rollouts.n_turns,) or (result.rollout is not None and len(result.rollout) != rollouts.n):
        raise BadPlugIn(f"--method {name} gave {result.turn.shape} numbers for {rollouts.n_turns} turns")
    return result, dataclasses.asdict(options)


def parse_options(method: str, kind: type[Any], given: Mapping[str, str]) -> Any:
    """The options record of a baseline from ``NAME=VALUE`` texts.

    Raises:
        UsageError: an unknown name, or a value that the option cannot take.
    """
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for name, text in given.items():
        if name not in hints:
            names = ", ".join(hints) or "none"
            raise UsageError(f"--option {name}: {method} has no such option (it has: {names})")
        allowed = get_args(hints[name]) or (("true", "false") if hints[name] is bool else ())
        if allowed and text not in allowed:
            raise UsageError(f"--option {name}={text}: expected one of {', '.join(map(str, allowed))}")
        try:
            values[name] = text == "true" if hints[name] is bool else float(text) if hints[name] is float else text
            if hints[name] is float and not math.isfinite(values[name]):
                raise ValueError
        except ValueError:
            raise UsageError(f"--option {name}={text}: expected a finite number") from None
    return kind(**values)
