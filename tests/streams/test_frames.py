"""Records of every contract as frames and back: the same lines, whether read by columns or row by row."""

from __future__ import annotations

import io
import json
import types
import typing
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.command import within
from xskill.errors import BadData
from xskill.records import CONTRACTS, Node, Record, Step, Trajectory, convert, decode, encode
from xskill.streams.parquet import frames
from xskill.streams.parquet.columns import schema_of
from xskill.streams.parquet.frames import frame_of, records_of, values_of

TEXT = st.text(max_size=8) | st.sampled_from(["", "{}", "null", "\x00\x1f\u2028", "😀" * 9])
WHOLE = st.integers(-(2**63), 2**63 - 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
PLAIN = {str: TEXT, int: WHOLE, float: st.floats(allow_nan=False, allow_infinity=False), bool: st.booleans(), Any: JSON}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type of a field."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if origin is typing.Annotated:
        low, high = inner[1].ge, inner[1].le
        return st.integers(low, 2**63 - 1) if inner[0] is int else st.floats(low, high, allow_infinity=False)
    if origin is typing.Literal:
        return st.sampled_from(inner)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(values, inner))
    if origin is list:
        return st.lists(values(inner[0]), max_size=3)
    if origin is tuple:
        return st.tuples(*map(values, inner))
    if origin is dict:
        return st.dictionaries(TEXT, values(inner[1]), max_size=2)
    return st.none() if hint is type(None) else records(hint)


def records(kind: type[Record]) -> st.SearchStrategy[Any]:
    """Records as readers build them: what is default is not given. (A struct has no null that would mean one.)"""
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    given = [name for name, field in fields.items() if field.required or isinstance(field.default, Record)]
    needed = {name: values(hints[name]) for name in given}
    optional = {name: values(hints[name]) for name in fields if name not in given}

    def made(chosen: dict[str, Any]) -> Any:
        told = {name: x for name, x in chosen.items() if name in given or x != fields[name].default}
        return aligned(kind(**told))

    return st.fixed_dictionaries(needed, optional=optional).map(made)


def aligned(record: Any) -> Any:
    if not isinstance(record, Trajectory):
        return record
    n = next(len(x) for x in (record.steps, record.args, record.actions) if x is not None)
    args = record.args if record.args is not None and len(record.args) == n else None
    parent = (
        record.parent if record.parent is not None and max(record.parent.turn, record.parent.step or 0) <= n else None
    )
    return msgspec.structs.replace(record, actions=(record.actions + ["x"] * n)[:n], args=args, parent=parent)


@pytest.mark.parametrize("name", CONTRACTS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_contract_comes_back_as_it_was(name: str, data: st.DataObject) -> None:
    kind = CONTRACTS[name]
    given = data.draw(st.lists(records(kind), max_size=4))
    lines = [encode(record) for record in given]
    file = io.BytesIO()
    frame_of(given, kind).write_parquet(file)
    frame = pl.read_parquet(io.BytesIO(file.getvalue()))
    assert frame.schema == schema_of(kind)
    assert list(records_of(frame, kind)) == list(zip(lines, given, strict=True))
    one_by_one = [convert(value, kind) for value in values_of(frame, kind) if isinstance(value, dict)]
    assert list(map(encode, one_by_one)) == lines


def test_null_and_empty_are_two_things() -> None:
    steps = [Step(action="x", logprob=[]), Step(action="y", logprob=[0.5]), Step(action="z", logprob_new=1.0)]
    given = [
        Trajectory(id="a", actions=[]),
        Trajectory(id="b", actions=[], args=[], steps=[], values=[]),
        Trajectory(id="c", actions=["x", "y", "z"], args=[[], ["1", ""], []], steps=steps, values=[None]),
    ]
    frame = frame_of(given, Trajectory)
    assert frame["args"].to_list() == [None, [], [[], ["1", ""], []]]
    assert frame["values"].to_list() == [None, [], [None]]
    last = frame["steps"].to_list()[2]
    assert [step["logprob_tokens"] for step in last] == [[], [0.5], None]
    assert [record for _, record in records_of(frame, Trajectory)] == given  # type: ignore[misc]


@pytest.mark.parametrize(
    ("record", "place"),
    [
        (Trajectory(id="a", actions=["x"], steps=[Step(action="x", turn=2**63)]), "steps.turn: 9223372036854775808"),
        (Node(id="S0", children=("a", "b"), depth=2**70, length=2, expansion=[], count=1), "depth: 11805916207174"),
    ],
)
def test_a_number_of_more_than_64_bits_is_refused(record: Record, place: str, tmp_path: Path) -> None:
    with pytest.raises(BadData, match=f"^{place}"):
        frame_of([record], type(record))
    path, out = tmp_path / "x.jsonl", tmp_path / "x.parquet"
    path.write_bytes(encode(record))
    done = within("head", path, "-o", out, check=65)
    assert done.stderr.decode().startswith(f"xskill: {place}")
    assert not out.exists()


@pytest.mark.parametrize("part", [1, 1 << 20], ids=["a row at a time", "all at once"])
@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        ({"steps": [None]}, "steps[0]: expected an object, got null"),
        ({"steps": [{"action": "x", "n_tokens": -1}]}, "steps[0].n_tokens: expected an integer of at least 0, got -1"),
        ({"steps": [{"action": "x", "extra": "{"}]}, "steps.extra: a cell that should be JSON text: Input data was"),
        ({"steps": [{"action": "x", "extra": "3"}]}, "steps[0].extra: expected an object, got 3"),
        ({"steps": []}, "steps: expected 1 entries, one an action, got 0"),
        ({"args": [[None]]}, "args[0][0]: expected a string, got null"),
        ({"values": [float("nan")]}, "values[0]: expected a finite number or null, got nan"),
        ({"id": None}, "missing the required field 'id'"),
        ({"schema": "xskill.node/1"}, "schema: invalid value 'xskill.node/1'"),
    ],
)
def test_a_bad_row_is_named_and_its_neighbours_are_read(
    cells: dict[str, Any], fault: str, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "_PART", part)
    good = {"schema": "xskill.trajectory/1", "id": "a", "actions": ["x"]}
    rows = list(records_of(pl.DataFrame([good, {**good, **cells}, good], schema=schema_of(Trajectory)), Trajectory))
    assert [row[1] for row in rows if isinstance(row, tuple)] == [Trajectory(id="a", actions=["x"])] * 2
    assert str(rows[1]).startswith(fault)


def test_json_text_of_others_is_written_as_ours() -> None:
    text = ' {"b" : 1e2,\n"a": 100000000000000000000000}'
    rows = {
        "schema": ["xskill.result/1"] * 2,
        "task_id": ["a", "b"],
        "metrics": ['{"m": 1}', "{}"],
        "extra": [text, None],
    }
    frame = pl.DataFrame(rows, schema_overrides={"extra": pl.String})
    kind = CONTRACTS["result"]
    found = [line for line, _ in records_of(frame, kind)]  # type: ignore[misc]
    assert found == [encode(decode(line, kind)) for line in found]
    assert json.loads(found[0])["extra"] == {"b": 100.0, "a": 10**23}
