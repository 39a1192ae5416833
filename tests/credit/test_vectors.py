"""The worked numbers of the specification and of the baselines' official code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.credit.make import gather
from xskill.credit.choices import METHODS
from xskill.credit.methods import Config, run_method
from xskill.credit.targets import student, target
from xskill.rollouts.prefix_tree import check_links

VECTORS = Path(__file__).resolve().parent.parent / "data" / "vectors"


def cases(name: str) -> list[Any]:
    return list(json.loads((VECTORS / f"{name}.json").read_text())["cases"])


def null(values: list[float | None]) -> Any:
    return np.array(values, np.float64)


@pytest.mark.parametrize("case", cases("credit"), ids=lambda case: case["name"])
def test_credit(case: dict[str, Any]) -> None:
    rollouts, trie = gather(case["rollouts"])
    assert check_links(rollouts, trie) == {}
    found = {
        kind: run_method(rollouts, trie, Config(turn_credit=kind, **case["options"]))
        for kind in ("pointwise", "listwise")
    }
    for i, expected in enumerate(case["expected"]):
        turns = slice(rollouts.turn_start[i], rollouts.turn_start[i + 1])
        point, listed = found["pointwise"], found["listwise"]
        assert point.advantage is not None
        assert point.value is not None
        assert point.weight is not None
        assert point.advantage[i] == pytest.approx(null([expected["advantage"]])[0], abs=1e-6, nan_ok=True)
        assert point.value[turns] == pytest.approx(null(expected["values"]), abs=1e-6, nan_ok=True)
        assert point.credit[turns] == pytest.approx(null(expected["pointwise"]), abs=1e-6, nan_ok=True)
        assert listed.credit[turns] == pytest.approx(null(expected["listwise"]), abs=1e-6, nan_ok=True)
        assert point.weight[turns] == pytest.approx(null(expected["weights"]), abs=1e-6, nan_ok=True)


def test_there_are_as_many_cases_as_were_computed() -> None:
    assert len(cases("credit")) == 15
    assert len(cases("baselines")) == 56


@pytest.mark.parametrize("case", cases("baselines"), ids=lambda case: case["name"])
def test_baseline_equals_its_official_code(case: dict[str, Any]) -> None:
    rollouts, trie = gather(case["rollouts"])
    # The vectors name the tree of tree-grpo, which has no other.
    options = {k: v for k, v in case["options"].items() if (case["method"], k) != ("tree-grpo", "tree")}
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
    result = run_method(rollouts, trie, Config(method=case["method"], options=texts))
    for i, expected in enumerate(case["expected"]):
        turns = slice(rollouts.turn_start[i], rollouts.turn_start[i + 1])
        assert result.credit[turns] == pytest.approx(np.array(expected["turn_advantages"]), abs=1e-6, rel=1e-6)
        if "sequence_ratio" in expected:
            assert result.sequence_ratio is not None
            assert result.sequence_ratio[i] == pytest.approx(expected["sequence_ratio"], rel=1e-6)


def test_every_baseline_has_cases() -> None:
    assert {case["method"] for case in cases("baselines")} == {
        method.name for method in METHODS if method.options is not None
    }


def test_targets() -> None:
    for case in json.loads((VECTORS / "teacher.json").read_text())["target"]:
        q, ratio = target(np.array([float(case["credit"])]), case["kind"], case["radius"], case["scale"])
        assert (q[0], ratio[0]) == pytest.approx((case["q"], case["ratio"]), abs=1e-7), case


def test_residuals() -> None:
    for case in json.loads((VECTORS / "teacher.json").read_text())["residual"]:
        state = student(np.array([float(case["log_ratio"])]), np.array([case["q"]]))
        expected = (case["p"], case["residual"], case["loss"])
        assert (state.p[0], state.residual[0], state.loss[0]) == pytest.approx(expected, abs=1e-7), case
        assert state.clamped == (abs(case["log_ratio"]) > 20)
