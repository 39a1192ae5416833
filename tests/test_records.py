"""The contracts: what is read, what is refused with which path, what comes back."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xskill.canon.mapping import STEP_FIELDS as MAPPED
from xskill.canon.reading.episode import RawStep
from xskill.credit.output import ARRAYS
from xskill.errors import BadRecord
from xskill.records import (
    CONTRACTS,
    Episode,
    Node,
    Parent,
    Step,
    Trajectory,
    decode,
    encode,
    json_schema,
    turns,
)
from xskill.records.names import REGISTRY, tag_of
from xskill.records.trajectories import CREDIT_COLUMNS, STEP_FIELDS, TURN_FIELDS
from xskill.rollouts.arrays import STEP_NUMBERS
from xskill.rollouts.gather import RolloutStep, TokenStep


def line(**fields: Any) -> bytes:
    return json.dumps({"id": "a", "actions": ["x"], **fields}).encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (line(steps=[{"action": 12}]), "steps[0].action: expected a string, got 12"),
        (line(args=[]), "args: expected 1 entries, one an action, got 0"),
        (line(steps=[]), "steps: expected 1 entries, one an action, got 0"),
        (b'{"actions":[]}', "missing the required field 'id'"),
        (line(success="yes"), 'success: expected true or false or null, got "yes"'),
        (line(success=1), "success: expected true or false or null, got 1"),
        (line(steps=[{"action": "b", "kind": "jump"}]), "steps[0].kind: invalid enum value 'jump'"),
        (line(extra=3), "extra: expected an object, got 3"),
        (line(reward={"a": 1}), "reward: expected a number or null, got an object"),
        (
            b'{"id":"a","actions":["x"],"reward":NaN}',
            "not valid JSON: NaN and Infinity are no JSON numbers; write null",
        ),
        (b'{"id":"a","actions":["x"', "not valid JSON: the line ends in the middle of a value (truncated?)"),
        (b"[" * 100_000, "expected an object, got a list"),
        (b'{"id":' + b"[" * 100_000, "id: expected a string, got a list"),
        (b'{"id":"a","actions":["x"],"zz":' + b"[" * 100_000, "not valid JSON: nested too deeply"),
        (b'{"id":"\xff","actions":[]}', "not valid JSON: invalid UTF-8 encoded string"),
        (line(parent={"id": "p", "turn": -1}), "parent.turn: expected an integer of at least 0, got -1"),
        (line(parent={"id": "p", "turn": 99}), "parent.turn: expected 0 to 1, the number of actions, got 99"),
        (line(parent={"id": "p", "turn": 0, "step": 2}), "parent.step: expected 0 to 1, the number of actions, got 2"),
        (line(coverage=1.5), "coverage: expected a number of at most 1, got 1.5"),
        (b'{"schema":"xskill.node/1","id":"a","actions":[]}', "schema: invalid value 'xskill.node/1'"),
    ],
)
def test_bad_record_names_the_place(data: bytes, message: str) -> None:
    with pytest.raises(BadRecord) as caught:
        decode(data, Trajectory)
    assert str(caught.value) == message
    assert str(caught.value.at("run.jsonl", 17)) == f"run.jsonl:17: {message}"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("success", 7.5, "success: expected a number of at most 1, got 7.5"),
        ("count", -5, "count: expected an integer of at least 0, got -5"),
        ("p_value", 9, "p_value: expected a number of at most 1, got 9"),
        ("lift", -0.1, "lift: expected a number of at least 0, got -0.1"),
    ],
)
def test_numbers_of_a_node_lie_in_their_range(field: str, value: float, message: str) -> None:
    node = {"id": "S0", "children": ["a", "b"], "depth": 1, "length": 2, "expansion": ["a", "b"], "count": 4}
    with pytest.raises(BadRecord) as caught:
        decode(json.dumps({**node, field: value}).encode(), Node)
    assert str(caught.value) == message


def test_unknown_fields_are_kept_in_the_nearest_extra() -> None:
    record = decode(
        line(noise=0.3, steps=[{"action": "b", "score": [1]}], parent={"id": "p", "turn": 1, "first_diff": None}),
        Trajectory,
    )
    assert record.extra == {"noise": 0.3, "parent.first_diff": None}
    assert record.steps == [Step(action="b", extra={"score": [1]})]
    assert record.parent == Parent(id="p", turn=1)


def test_unknown_field_never_overwrites_extra() -> None:
    assert decode(line(noise=1, extra={"noise": 2}), Trajectory).extra == {"noise": 2}


def test_defaults_are_left_out_and_schema_is_first() -> None:
    assert (
        encode(decode(line(success=None, steps=[{"action": "b", "error": False, "kind": "action"}]), Trajectory))
        == b'{"schema":"xskill.trajectory/1","id":"a","actions":["x"],"steps":[{"action":"b"}]}'
    )


def test_episode_builds_only_what_mining_reads() -> None:
    episode = decode(line(task="t", success=True, steps=[{"action": "b"}], noise=1), Episode)
    assert episode == Episode(id="a", actions=["x"], success=True)


def test_turns_share_an_explicit_index_only_when_consecutive() -> None:
    steps = [Step(action="a", turn=t) for t in (0, 0, 1, None, None, 4, 4, 0)]
    assert turns(steps) == [0, 0, 1, 2, 3, 4, 4, 5]
    assert turns([]) == []


@pytest.mark.parametrize("name", CONTRACTS)
def test_json_schema_of_every_contract(name: str) -> None:
    schema = json_schema(name)
    assert schema["$id"] == f"xskill.{name}/1"
    definition = schema["$defs"][CONTRACTS[name].__name__]
    assert definition["properties"]["schema"] == {"enum": [f"xskill.{name}/1"]}
    assert set(definition["properties"]) == {
        "schema",
        *(f.encode_name for f in msgspec.structs.fields(CONTRACTS[name])),
    }


def test_what_reads_steps_in_a_form_of_its_own_uses_the_names_of_the_contract() -> None:
    assert RawStep.__struct_fields__[: len(STEP_FIELDS)] == STEP_FIELDS
    assert set(RawStep.__struct_fields__) - set(STEP_FIELDS) == {"name", "arguments", "role"}
    assert set(MAPPED) - set(STEP_FIELDS) == {"name", "arguments", "role"}
    assert set(RolloutStep.__struct_fields__) <= set(STEP_FIELDS)
    assert set(TokenStep.__struct_fields__) == {*RolloutStep.__struct_fields__, "extra"}
    assert set(TURN_FIELDS) < set(STEP_NUMBERS) < set(RolloutStep.__struct_fields__)
    assert set(ARRAYS) < set(CREDIT_COLUMNS) < set(Trajectory.__struct_fields__)


def test_every_contract_has_its_type_and_every_header_its_followers() -> None:
    assert [(name, tag_of(kind)) for name, kind in CONTRACTS.items()] == [(c.name, c.tag) for c in REGISTRY.values()]
    assert {c.name: c.followers for c in REGISTRY.values() if c.followers} == {
        "tree": ("node",),
        "credits": ("trajectory", "turn"),
        "bank": ("skill",),
    }
    assert all(follower in REGISTRY for contract in REGISTRY.values() for follower in contract.followers)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
STEPS = st.builds(
    Step,
    action=TEXT,
    observation=st.none() | TEXT,
    turn=st.none() | st.integers(0, 9),
    error=st.booleans(),
    logprob=st.none() | NUMBERS | st.lists(NUMBERS, max_size=3),
    extra=st.dictionaries(TEXT, st.none() | st.integers(-(2**53), 2**53) | TEXT, max_size=2),
)


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    steps = draw(st.lists(STEPS, max_size=3))
    return Trajectory(
        id=draw(TEXT),
        task=draw(st.none() | TEXT),
        success=draw(st.none() | st.booleans()),
        reward=draw(st.none() | NUMBERS),
        actions=[draw(TEXT) for _ in steps],
        args=draw(st.none() | st.just([[draw(TEXT)] for _ in steps])),
        steps=draw(st.none() | st.just(steps)),
        parent=draw(st.none() | st.builds(Parent, id=TEXT, turn=st.integers(0, len(steps)))),
        extra=draw(st.dictionaries(TEXT, st.booleans(), max_size=2)),
    )


@given(trajectories())
def test_encode_then_decode_is_the_same_record(record: Trajectory) -> None:
    assert decode(encode(record), Trajectory) == record


def test_released_node_is_a_node() -> None:
    node = decode(b'{"id":"S0","children":["a","b"],"depth":1,"length":2,"expansion":["a","b"],"count":4}', Node)
    assert node.success is None
    assert node.children == ("a", "b")
