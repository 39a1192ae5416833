"""The vectorised credit equals the plain one, and holds what the specification promises, on random trees."""

from __future__ import annotations

import random
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.credit import plain
from tests.credit.make import gather, questions
from xskill.choices import resolve
from xskill.credit.choices import BACKUPS as BACKUP_TABLE
from xskill.credit.choices import METHODS, TURN_CREDITS
from xskill.credit.methods import Config, run_method
from xskill.credit.targets import target
from xskill.errors import BadData

BACKUPS, KINDS = BACKUP_TABLE.names, TURN_CREDITS.names
BASELINES = {method.name: resolve(method.options) for method in METHODS if method.options is not None}


def null(values: list[float | None]) -> Any:
    return np.array(values, np.float64)


def finished(records: list[dict[str, Any]]) -> bool:
    return any(record["reward"] is not None for record in records)


@settings(max_examples=300, deadline=None)
@given(
    questions(), questions(logprobs=False), st.sampled_from(BACKUPS), st.sampled_from(KINDS), st.sampled_from([1, 3])
)
def test_equals_the_plain_definition(
    first: list[dict[str, Any]], second: list[dict[str, Any]], backup: str, kind: str, tau: float
) -> None:
    second = [{**record, "question_id": "other"} for record in second]
    if not finished(first + second):
        return
    # Interleaved: questions do not need to stand together.
    records = [r for pair in zip(first, second, strict=False) for r in pair]
    records += first[len(second) :] + second[len(first) :]
    rollouts, trie = gather(records)
    result = run_method(rollouts, trie, Config(backup=backup, turn_credit=kind, tau=tau))
    expected = {
        (name, record["id"]): row
        for name, group in (("q", first), ("other", second))
        for record, row in zip(group, plain.credit(group, backup, kind, tau), strict=True)
    }
    assert result.value is not None
    assert result.weight is not None
    for i, record in enumerate(records):
        row = expected[record["question_id"], record["id"]]
        turns = slice(rollouts.turn_start[i], rollouts.turn_start[i + 1])
        assert result.value[turns] == pytest.approx(null(row["values"]), abs=1e-9, nan_ok=True)
        assert result.credit[turns] == pytest.approx(null(row["credits"]), abs=1e-9, nan_ok=True)
        assert result.weight[turns] == pytest.approx(row["weights"])


def by_id(records: list[dict[str, Any]], config: Config) -> dict[str, Any]:
    rollouts, trie = gather(records)
    result = run_method(rollouts, trie, config)
    turns = [slice(a, b) for a, b in zip(rollouts.turn_start[:-1], rollouts.turn_start[1:], strict=True)]
    return {name: result.credit[turns[i]] for i, name in enumerate(rollouts.ids)}


@settings(max_examples=100, deadline=None)
@given(questions(), st.randoms(use_true_random=False), st.sampled_from(BACKUPS))
def test_the_order_of_trajectories_does_not_matter(
    records: list[dict[str, Any]], rng: random.Random, backup: str
) -> None:
    if not finished(records):
        return
    shuffled = records[:]
    rng.shuffle(shuffled)
    one, other = (by_id(order, Config(backup=backup)) for order in (records, shuffled))
    for name, credit in one.items():
        assert other[name] == pytest.approx(credit, abs=1e-9, nan_ok=True)


@settings(max_examples=100, deadline=None)
@given(questions(), st.sampled_from([-3.0, 0.5, 1000.0]))
def test_a_constant_on_all_rewards_changes_nothing(records: list[dict[str, Any]], constant: float) -> None:
    if not finished(records):
        return
    moved = [{**r, "reward": None if r["reward"] is None else r["reward"] + constant} for r in records]
    one, other = by_id(records, Config()), by_id(moved, Config())
    for name, credit in one.items():
        assert other[name] == pytest.approx(credit, abs=1e-7, nan_ok=True)


@settings(max_examples=100, deadline=None)
@given(questions(), st.sampled_from(["weight", "once"]))
def test_weights_of_a_shared_turn_sum_to_one(records: list[dict[str, Any]], shared: Any) -> None:
    if not finished(records):
        return
    rollouts, trie = gather(records)
    result = run_method(rollouts, trie, Config(shared=shared))
    assert result.weight is not None
    total = np.bincount(trie.node, result.weight, trie.n_nodes)[1:]
    assert total == pytest.approx(np.ones(len(total)))
    if shared == "once":
        chosen = result.weight == 1
        has_generator = np.bincount(trie.node, rollouts.generated, trie.n_nodes) > 0
        assert (rollouts.generated | ~has_generator[trie.node])[chosen].all()


@given(questions(), st.sampled_from([0.0, 0.7, 1.0]))
def test_equal_rewards_give_zeros_and_say_so(records: list[dict[str, Any]], reward: float) -> None:
    same = [{**record, "reward": reward} for record in records]
    rollouts, trie = gather(same)
    result = run_method(rollouts, trie, Config(turn_credit="listwise"))
    assert (result.credit == 0).all()
    assert result.target is not None
    assert (result.target == 0.5).all()
    assert set(result.skipped.tolist()) == {2 if len(records) > 1 else 3}
    assert result.stats["zero_variance"] + result.stats["single_leaf"] == 1


@settings(max_examples=60, deadline=None)
@given(questions(max_rollouts=4), st.sampled_from(sorted(BASELINES)))
def test_baselines_survive_any_tree(records: list[dict[str, Any]], method: str) -> None:
    """No official rule for unfinished rollouts or those that end at an inner node: no crash, no infinity."""
    if not finished(records):
        return
    rollouts, trie = gather(records)
    try:
        credit = run_method(rollouts, trie, Config(method=method)).credit
    except BadData:
        assert method == "treerl"
        return
    assert not np.isinf(credit).any()
    assert len(credit) == rollouts.n_turns


def choices_of_a_question() -> list[tuple[str, dict[str, str]]]:
    """Each method with its defaults, and with each value that an option may have, but for those that look at the run.

    (TreePO's subgroups reach as deep as the deepest rollout of the run, and it whitens over all tokens.)
    """
    found: list[tuple[str, dict[str, str]]] = [("treeopsd", {}), ("tree-pg", {})]
    for method, kind in BASELINES.items():
        found.append((method, {}))
        for name, hint in get_type_hints(kind).items():
            values = ("true", "false") if hint is bool else get_args(hint) or ("0.5",)
            found += [(method, {name: value}) for value in values]
    alone = [{"estimator": "spo"}, {"estimator": "segment", "whiten": "false", "eta": "0.5"}]
    return [pair for pair in found if pair[0] != "treepo"] + [("treepo", options) for options in alone]


@pytest.mark.parametrize(("method", "options"), choices_of_a_question(), ids=str)
@settings(max_examples=15, deadline=None)
@given(first=questions(max_rollouts=4), second=questions(max_rollouts=4))
def test_a_question_is_credited_as_if_it_were_alone(
    method: str, options: dict[str, str], first: list[dict[str, Any]], second: list[dict[str, Any]]
) -> None:
    config = Config(method=method, options=options)
    second = [{**record, "question_id": "other"} for record in second]
    if not finished(first) or not finished(second):
        return
    try:
        alone = run_method(*gather(first), config).credit
        together = run_method(*gather(second + first), config).credit
    except BadData:
        return
    assert together[len(together) - len(alone) :] == pytest.approx(alone, abs=1e-9, nan_ok=True)


@given(
    st.floats(-1e6, 1e6, allow_subnormal=False),
    st.sampled_from(["odds", "probability", "logistic"]),
    st.floats(1e-3, 0.49),
    st.floats(0.01, 100),
)
def test_a_target_lies_on_the_side_of_its_credit(credit: float, kind: Any, radius: float, scale: float) -> None:
    q, ratio = target(np.array([credit]), kind, radius, scale)
    assert 0 < q[0] < 1
    assert ratio[0] == pytest.approx(q[0] / (1 - q[0]))
    if abs(credit / scale) > 1e-9:
        assert np.sign(q[0] - 0.5) == np.sign(credit)


def test_huge_and_tiny_rewards_stay_finite() -> None:
    """1e308 overflows a square; 0.1 + 0.2 style noise must not become variance."""
    step = [{"action": "a", "observation": "x"}]
    other = [{"action": "b", "observation": "x"}]

    def credits(rewards: list[float]) -> Any:
        records = [
            {"id": str(i), "question_id": "q", "reward": r, "steps": step if i % 2 else other}
            for i, r in enumerate(rewards)
        ]
        return run_method(*gather(records), Config()).credit

    assert credits([1e308, -1e308]) == pytest.approx([1.0, -1.0])
    assert (credits([0.7] * 7) == 0).all()


def test_grpo_of_equal_rewards_has_no_float_noise() -> None:
    """The official float32 code gives 0.056 here (docs/methods/baselines.md)."""
    records = [
        {"id": str(i), "question_id": "q", "reward": 0.7, "steps": [{"action": str(i), "observation": ""}]}
        for i in range(7)
    ]
    assert (run_method(*gather(records), Config(method="grpo")).credit == 0).all()
