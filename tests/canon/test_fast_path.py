"""What the fast way of reading step lists makes, the slow way makes too; and batches do not show."""

from __future__ import annotations

import dataclasses
import gzip
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from xskill.canon.assemble import Assembler
from xskill.canon.canon_options import CanonOptions
from xskill.canon.convert import Converter
from xskill.canon.formats.steps import FORMAT
from xskill.canon.formats.table import FORMATS
from xskill.canon.reading.episode import Place
from xskill.errors import BadRecord

SLOW = dataclasses.replace(FORMAT, fast=None)
ANY = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        1,
        7,
        -3,
        2.5,
        1e300,
        10**19,
        "",
        "text",
        "1.5",
        "call",
        [],
        [0.5, None],
        {},
        {"a": 1},
        "\ud83d",
    ]
)
WORDS = st.text(st.sampled_from('abc go take 1\n{}"\\é\u2028😀'), max_size=12)
STEP = st.fixed_dictionaries(
    {"action": WORDS},
    optional={
        "observation": WORDS | st.none(),
        "thought": WORDS,
        "kind": st.sampled_from(["action", "call", "command", "respond"]),
        "turn": st.integers(0, 3),
        "error": st.booleans(),
        "reward": st.floats(-2, 2) | st.integers(-2, 2),
        "logprob": st.floats(-9, 0) | st.lists(st.floats(-9, 0), max_size=2),
        "n_tokens": st.integers(0, 9),
        "name": WORDS,
        "arguments": st.dictionaries(WORDS, st.integers(0, 9), max_size=2),
        "role": WORDS,
        "extra": st.dictionaries(WORDS, st.integers(0, 9), max_size=2),
        "note": WORDS,
    },
)
RECORD = st.fixed_dictionaries(
    {"steps": st.lists(STEP, max_size=4)},
    optional={
        "id": WORDS | st.integers(0, 9),
        "question_id": WORDS,
        "task": WORDS,
        "goal": WORDS,
        "task_type": WORDS,
        "env": st.sampled_from(["alfworld", "webshop", "other"]),
        "environment": WORDS,
        "split": st.sampled_from(["train", "valid_unseen", "odd"]),
        "initial_observation": WORDS,
        "success": st.booleans() | st.sampled_from([0, 1, None]),
        "reward": st.floats(0, 1),
        "score": st.integers(0, 1),
        "parent": st.fixed_dictionaries({"id": WORDS, "turn": st.integers(0, 2)}, optional={"first_diff": ANY}),
        "extra": st.dictionaries(WORDS, st.integers(0, 9), max_size=2),
        "source": WORDS,
        "n_actions": st.integers(0, 9),
        "game": WORDS,
        "variation": st.integers(-1, 1 << 40),
    },
)


@st.composite
def odd(draw: st.DrawFn) -> Any:
    """A record some of whose values are of another type than they should be."""
    record: Any = draw(RECORD)
    for holder in [record, *record["steps"]]:
        for key in draw(st.lists(st.sampled_from([*sorted(holder), "claim", "turn", "options"]), max_size=2)):
            holder[key] = draw(ANY)
        if not isinstance(record["steps"], list):
            break
    return record


def _made(fmt: Any, lines: list[bytes], batch: int = 1000) -> list[Any]:
    assembler = Assembler(CanonOptions())
    place = Place("stem", "file.jsonl")
    events: list[Any] = []
    for start in range(0, len(lines), batch):
        numbered = list(enumerate(lines[start : start + batch], start + 1))
        events.extend(Converter(assembler).lines(fmt, numbered, place))
    unmatched = {name: actions.canonicalizer.unmatched for name, actions in assembler.actions.items()}
    counts = {name: (one.total, one.distinct) for name, one in unmatched.items()}
    told: list[Any] = [
        (event.line, event.path, event.reason) if isinstance(event, BadRecord) else event for event in events
    ]
    return [told, assembler.counts, place.tally, counts]


@given(st.lists(RECORD | odd(), max_size=5))
@example([{"steps": [{"action": "a"}], "a": 1}, {"steps": [{"action": "a", "b": {}}], "c": None}])
@example([{"steps": [{"action": "a", "extra": {"n": 1}, "n": 2}], "extra": {"m": 1}, "m": 2}])
def test_both_ways_make_the_same(records: list[Any]) -> None:
    lines = [json.dumps(record).encode() for record in records]
    assert _made(FORMAT, lines) == _made(SLOW, lines)


@given(st.lists(RECORD, max_size=6), st.integers(1, 3))
def test_batches_do_not_show(records: list[Any], batch: int) -> None:
    lines = [json.dumps(record).encode() for record in records]
    assert _made(FORMAT, lines, batch) == _made(FORMAT, lines)


def test_the_sample_data_both_ways(sample_data: Any) -> None:
    for name in ("alfworld", "rollouts"):
        lines = gzip.decompress((sample_data / f"{name}.jsonl.gz").read_bytes()).splitlines()
        assert b'"schema"' not in lines[0]
        assert _made(FORMAT, lines) == _made(SLOW, lines)


def test_numbers_keep_their_digits() -> None:
    line = b'{"steps": [{"action": "a", "reward": 1, "logprob": -0.1, "deep": 12345678901234567890}], "big": 1e22}'
    fast, slow = _made(FORMAT, [line]), _made(SLOW, [line])
    assert fast == slow
    assert b"12345678901234567890" in fast[0][0]
    assert FORMATS["steps"] is FORMAT


@pytest.mark.parametrize(
    ("fields", "question"),
    [
        ({"game": "train/pick-Mug-Desk-3/trial_1", "variation": 0}, "train/pick-Mug-Desk-3/trial_1"),
        ({"variation": 12}, "boil-12"),  # as `xskill worker` names its ScienceWorld tasks
        ({"variation": 12, "question_id": "q"}, "q"),
        ({"variation": 12, "task_type": None}, None),
        ({"variation": "12"}, None),
        ({}, None),
    ],
)
def test_episodes_of_one_game_share_a_question(fields: dict[str, Any], question: str | None) -> None:
    line = json.dumps({"task_type": "boil", **fields, "steps": [{"action": "look"}]}).encode()
    for fmt in (FORMAT, SLOW):
        ((made,), *_) = _made(fmt, [line])
        assert json.loads(made).get("question_id") == question
