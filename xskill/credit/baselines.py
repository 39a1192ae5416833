"""The table of baselines, and how one is run with options given as text."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_type_hints

from xskill.credit import group_baselines, tree_baselines
from xskill.credit.group_baselines import Baseline
from xskill.errors import UsageError
from xskill.rollouts.arrays import Rollouts
from xskill.rollouts.prefix_tree import Trie

BASELINES: dict[str, tuple[Callable[[Rollouts, Trie, Any], Baseline], type[Any]]] = {
    "grpo": (group_baselines.grpo, group_baselines.Grpo),
    "rloo": (group_baselines.rloo, group_baselines.Rloo),
    "gspo": (group_baselines.gspo, group_baselines.Gspo),
    "tree-grpo": (group_baselines.tree_grpo, group_baselines.TreeGrpo),
    "at2po": (tree_baselines.at2po, tree_baselines.At2po),
    "treepo": (tree_baselines.treepo, tree_baselines.Treepo),
    "treerl": (tree_baselines.treerl, tree_baselines.Treerl),
    "gigpo": (group_baselines.gigpo, group_baselines.Gigpo),
}
"""Name → (function, its options)."""


def run_baseline(
    rollouts: Rollouts, trie: Trie, method: str, given: Mapping[str, str]
) -> tuple[Baseline, dict[str, Any]]:
    """What a baseline gives, and its options with their defaults filled in.

    Raises:
        UsageError: no such method or option, or a value that the option cannot have.
        BadData: the method is undefined on a question.
    """
    if method not in BASELINES:
        raise UsageError(f"--method {method}: expected treeopsd, tree-pg or one of {', '.join(BASELINES)}")
    function, kind = BASELINES[method]
    options = parse_options(method, kind, given)
    return function(rollouts, trie, options), dataclasses.asdict(options)


def parse_options(method: str, kind: type[Any], given: Mapping[str, str]) -> Any:
    """The options record of a baseline from ``NAME=VALUE`` texts.

    Raises:
        UsageError: an unknown name, or a value that the option cannot take.
    """
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for name, text in given.items():
        if name not in hints:
            known = ", ".join(hints) or "none"
            raise UsageError(f"--option {name}: {method} has no such option (it has: {known})")
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
