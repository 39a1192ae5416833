"""What ``canon --as atif`` writes comes back through ``canon`` as the trajectory that it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.canon.logs import LOGS, canon, write_lines
from tests.command import run_with, within
from xskill.canon.accounts.totals import Totals
from xskill.canon.formats.atif import own_trajectory
from xskill.canon.formats.atif_export import to_atif
from xskill.records import Parent, Step, Trajectory, convert

SAMPLES = LOGS.parent.parent.parent / "sample_data"
FILES = sorted(path for path in LOGS.rglob("*") if path.is_file())
FILES += sorted(path for path in SAMPLES.iterdir() if path.suffix != ".md")

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
MAYBE = st.none() | TEXT
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
LIKELIHOOD = st.none() | NUMBERS | st.lists(NUMBERS, max_size=3)
VALUES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | NUMBERS | TEXT | st.lists(TEXT, max_size=2)
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=3)
CALLS = st.builds(lambda name, value: f"{name}({msgspec.json.encode(value).decode()})", TEXT, OBJECTS)
STEPS = st.builds(
    Step,
    action=TEXT | CALLS | st.sampled_from(["f()", "f({})", "apply_patch(*** Begin)", 'f({"b":1, "a":-0})', "()", "("]),
    observation=MAYBE,
    thought=MAYBE,
    kind=st.sampled_from(["action", "call", "command", "respond"]),
    turn=st.none() | st.integers(0, 2),
    error=st.booleans(),
    reward=st.none() | NUMBERS,
    logprob=LIKELIHOOD,
    logprob_new=LIKELIHOOD,
    n_tokens=st.none() | st.integers(0, 9),
    q=st.none() | NUMBERS,
    visits=st.none() | st.integers(0, 9),
    prior=st.none() | st.floats(0, 1),
    extra=OBJECTS,
)
EXTRA = st.dictionaries(st.sampled_from(["agent", "model", "version", "parent_session", "x"]), VALUES, max_size=4)


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    steps = draw(st.lists(STEPS, max_size=5))
    n = len(steps)
    column = st.none() | st.lists(st.none() | NUMBERS, min_size=n, max_size=n)
    return Trajectory(
        id=draw(TEXT),
        question_id=draw(MAYBE),
        task=draw(MAYBE),
        task_type=draw(MAYBE),
        env=draw(MAYBE),
        split=draw(st.sampled_from([None, "train", "validation"])),
        initial_observation=draw(MAYBE),
        success=draw(st.none() | st.booleans()),
        reward=draw(st.none() | NUMBERS),
        actions=[draw(TEXT) for _ in steps],
        args=draw(st.none() | st.lists(st.lists(TEXT, max_size=2), min_size=n, max_size=n)),
        steps=draw(st.none() | st.just(steps)),
        parent=draw(st.none() | st.builds(Parent, id=TEXT, turn=st.integers(0, n), step=st.none() | st.integers(0, n))),
        extra=draw(EXTRA),
        shaped_reward=draw(st.none() | NUMBERS),
        values=draw(column),
        weights=draw(column),
        skipped=draw(MAYBE),
    )


FULL: dict[str, Any] = {
    "schema": "xskill.trajectory/1",
    "id": "q1/b",
    "question_id": "q1",
    "task": "find the cup",
    "task_type": "find",
    "env": "kitchen",
    "split": "evolve",
    "initial_observation": "You are in a kitchen.",
    "success": False,
    "reward": 0.25,
    "actions": ["own<token>", "open<drawer>", "get<cup>", "run<file>", "respond<user>", "respond<user>"],
    "args": [["a"], ["drawer 1"], ["7"], ["x.py"], [], []],
    "steps": [
        {"action": "look", "observation": "", "thought": "Hm.", "reward": 0.5, "logprob": -1.5, "logprob_new": [-1.0],
         "n_tokens": 3, "q": 0.75, "visits": 4, "prior": 0.125, "extra": {"score": 7}},
        {"action": "open drawer 1", "thought": "First.", "turn": 4, "logprob": [-0.5, -0.25], "n_tokens": 2},
        {"action": 'get({"id":7})', "thought": "Then.", "kind": "call", "turn": 4, "error": True, "observation": "no"},
        {"action": "python x.py", "kind": "command", "turn": 9, "observation": "1\n"},
        {"action": "Done.", "kind": "respond", "turn": 11, "observation": "Sure?"},
        {"action": "Yes.", "kind": "respond", "turn": 11, "observation": "Fine."},
    ],
    "parent": {"id": "q1/a", "turn": 2, "step": 3},
    "source": {"format": "steps", "file": "k.jsonl", "record": 2},
    "extra": {"version": "2", "marks": ["pruned"], "claim": "done"},
    "tiles": [{"node": "S0", "start": 0, "length": 6}],
    "coverage": 1.0,
    "tokens_per_action": 0.5,
    "bonus": 0.5,
    "bonus_weight": 0.25,
    "shaped_reward": 0.375,
    "shaping": [0.5, None, None, None, None, None],
    "advantage": -1.5,
    "values": [0.5, 0.5, None, 0.25, 0.25, None],
    "credits": [1.0, 1.0, None, 1.0, 1.0, None],
    "targets": [1.0, 1.0, None, 1.0, 1.0, None],
    "target_ratios": [1.0, 1.0, None, 1.0, 1.0, None],
    "weights": [1.0, 1.0, None, 1.0, 1.0, None],
    "residuals": [0.5, 0.5, None, 0.5, 0.5, None],
    "losses": [0.25, 0.25, None, 0.25, 0.25, None],
    "sequence_ratio": 1.25,
    "skipped": "nothing",
}  # fmt: skip


def atif(record: dict[str, Any]) -> dict[str, Any]:
    """The document that is written for a record, as JSON gives it back."""
    made: dict[str, Any] = json.loads(msgspec.json.encode(to_atif(convert(record, Trajectory))))
    return made


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_log_comes_back(path: Path, tmp_path: Path) -> None:
    before = canon(path, bad=[])
    documents = write_lines(tmp_path / "atif.jsonl", *map(atif, before))
    assert (canon(documents) if before else []) == before


def test_a_record_with_every_field_comes_back_byte_by_byte(tmp_path: Path) -> None:
    told = {key for step in FULL["steps"] for key in step}
    assert told == set(Step.__struct_fields__)
    assert FULL.keys() == {"schema", *Trajectory.__struct_fields__}
    own = write_lines(tmp_path / "own.jsonl", FULL)
    for jobs in ("1", "2"):
        document = run_with(jobs)("canon", own, "--as", "atif", "-j", jobs).stdout
        assert run_with(jobs)("canon", "-j", jobs, stdin=document).stdout == within("canon", own).stdout


def test_its_document_is_valid_and_uses_what_atif_has_fields_for() -> None:
    made = atif(FULL)
    pytest.importorskip("atif").Trajectory.model_validate(made)
    assert [step.get("is_copied_context", False) for step in made["steps"]] == [False, *[True] * 2, *[False] * 4]
    assert made["steps"][2]["reasoning_content"] == "First.\n\nThen."
    assert made["steps"][2]["metrics"] == {"logprobs": [-0.5, -0.25]}
    assert made["extra"]["success"] is False
    assert made["agent"] == {"name": "unknown", "version": "2"}


@given(trajectories())
def test_any_record_comes_back(record: Trajectory) -> None:
    assert own_trajectory(json.loads(msgspec.json.encode(to_atif(record)))) == record


def test_mine_and_credit_see_the_same(tmp_path: Path) -> None:
    source, back = tmp_path / "own.jsonl", tmp_path / "back.jsonl"
    within("canon", SAMPLES / "rollouts.jsonl.gz", "-o", source)
    back.write_bytes(within("canon", stdin=within("canon", source, "--as", "atif").stdout).stdout)
    for command in ("mine", "credit"):
        assert within(command, source).stdout == within(command, back).stdout


def test_a_document_with_other_steps_since_is_read_as_any_other(tmp_path: Path) -> None:
    made = atif(FULL)
    del made["steps"][2]
    totals = Totals()
    (record,) = canon(write_lines(tmp_path / "x.jsonl", made), totals=totals)
    assert [step["action"] for step in record["steps"]] == ["python x.py", "Done.", "Yes."]  # the rest is copied
    assert (record["env"], record["question_id"]) == ("kitchen", "q1")
    assert record.keys().isdisjoint({"parent", "values"})
    assert totals.tally("atif").skipped["columns and link of a trajectory whose steps were changed"] == 1

    plain = {**FULL, "parent": None}
    made = atif(plain)
    made["steps"].append({"step_id": 8, "source": "agent", "message": "Bye."})
    (record,) = canon(write_lines(tmp_path / "x.jsonl", made))
    steps = record["steps"]
    dense = [{**step, "turn": turn} for step, turn in zip(FULL["steps"], [0, 1, 1, 2, 3, 3], strict=True)]
    assert steps == [*dense, {"action": "Bye.", "kind": "respond", "turn": 4}]


def test_options_are_those_of_our_own_records(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", atif(FULL))
    assert canon(path, drop=frozenset({"pruned"})) == []
    (record,) = canon(path, profile="generic", respond=False)
    assert record["actions"][0] == "look"
    assert len(record["actions"]) == len(record["values"]) == 4


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda made: made["steps"][1]["extra"]["xskill"][0].update(q="high"), "steps[1].extra.xskill[0].q"),
        (lambda made: made["extra"]["xskill"]["parent"].update(turn=-1), "extra.xskill.parent.turn"),
        (lambda made: made["extra"].update(success="yes"), "extra.success"),
        (lambda made: made.pop("trajectory_id"), "id"),
    ],
)
def test_a_bad_value_is_told_by_its_place(change: Any, where: str, tmp_path: Path) -> None:
    made = atif(FULL)
    change(made)
    bad: list[Any] = []
    assert canon(write_lines(tmp_path / "x.jsonl", made), bad=bad) == []
    assert [error.path for error in bad] == [where]
