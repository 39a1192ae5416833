"""The wire: what requests look like, and what is taken as an answer."""

from __future__ import annotations

import json

import pytest

from xskill.errors import BadRecord
from xskill.records import Step, encode
from xskill.sampling.protocol import (
    Child,
    Finish,
    Finished,
    Propose,
    Proposed,
    Request,
    Reset,
    Take,
    Taken,
    Task,
    WorkerError,
    decode_request,
    parse_answer,
)

RESET = Reset(id="q", task=Task(id="q", task="t", extra={"variation": 3}).as_record(), seed=5)
PROPOSE = Propose(id="q", prefix=["a"], k=2, skills=[], seed=6)
TAKE = Take(id="q", prefix=[], action="b")
FINISH = Finish(id="q", prefix=["a", "b"], max_turns=3, skills=[{"id": "s"}], seed=7)


def test_requests_on_the_wire() -> None:
    assert json.loads(encode(RESET)) == {
        "op": "reset",
        "id": "q",
        "task": {"id": "q", "task": "t", "variation": 3},
        "seed": 5,
    }
    assert json.loads(encode(PROPOSE)) == {
        "op": "propose", "id": "q", "prefix": ["a"], "k": 2, "skills": [], "seed": 6,
    }  # fmt: skip
    assert json.loads(encode(TAKE)) == {"op": "step", "id": "q", "prefix": [], "action": "b"}
    assert json.loads(encode(FINISH)) == {
        "op": "finish", "id": "q", "prefix": ["a", "b"], "max_turns": 3, "skills": [{"id": "s"}], "seed": 7,
    }  # fmt: skip


@pytest.mark.parametrize("request_", [RESET, PROPOSE, TAKE, FINISH])
def test_a_request_survives_the_wire(request_: Request) -> None:
    assert decode_request(encode(request_)) == request_


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b'{"op":"jump","id":"q"}', b'{"op":"step","id":"q"}', b"\xff"])
def test_what_is_no_request(line: bytes) -> None:
    with pytest.raises(BadRecord, match="not a request"):
        decode_request(line)


def test_answers() -> None:
    children = [Child(action="x", logprob=-1.0, n_tokens=2), Child(action="y", extra={"temperature": 1})]
    line = b'{"id":"q","children":[{"action":"x","logprob":-1,"n_tokens":2},{"action":"y","temperature":1}]}'
    assert parse_answer(PROPOSE, line) == Proposed(id="q", children=children)
    assert parse_answer(PROPOSE, b'{"children":[]}') == Proposed(children=[])
    line = b'{"observation":"o","done":true,"reward":1,"value":0.5,"error":true}'
    assert parse_answer(TAKE, line) == Taken(observation="o", done=True, reward=1.0, value=0.5, error=True)
    line = b'{"steps":[{"action":"a","observation":"o","reward":1.0}],"done":true}'
    assert parse_answer(FINISH, line) == Finished(steps=[Step(action="a", observation="o", reward=1.0)], done=True)
    line = b'{"steps":[{"action":"a","turn":0},{"action":"b","turn":0},{"action":"c"},{"action":"d"}],"done":true}'
    assert isinstance(parse_answer(FINISH, line), Finished)  # four steps in three turns


@pytest.mark.parametrize(
    ("request_", "line", "reason", "alive"),
    [
        (PROPOSE, b'{"id":"q","error":"no"}', "no", True),
        (TAKE, b'{"error":"no","done":true}', "no", True),
        (FINISH, b'{"error":"no"}', "no", True),
        (RESET, b'{"error":""}', "an error without a text", True),
        (PROPOSE, b'{"id":"q"}', "nonsense to propose: missing the required field 'children'", False),
        (PROPOSE, b"hello", "nonsense to propose: not valid JSON", False),
        (PROPOSE, b'{"children":[{"action":"a"},{"action":"b"},{"action":"c"}]}', "3 children instead of", False),
        (PROPOSE, b'{"children":[{"action":"a","n_tokens":0}]}', r"children\[0\].n_tokens", False),
        (PROPOSE, b'{"children":[{"action":"a","prior":-0.1}]}', r"children\[0\].prior", False),
        (PROPOSE, b'{"children":[{"action":"a","logprob":NaN}]}', "NaN", False),
        (TAKE, b'{"observation":"o"}', "missing the required field 'done'", False),
        (TAKE, b'{"id":"z","done":false}', "answered for question 'z'", False),
        (FINISH, b'{"steps":[],"done":false}', "no step, and yet not done", False),
        (FINISH, b'{"steps":[{"action":""},{"action":""},{"action":""},{"action":""}],"done":true}', "4 turns", False),
        (FINISH, b'{"steps":"all","done":true}', 'steps: expected a list, got "all"', False),
    ],
)  # fmt: skip
def test_what_is_no_answer(request_: Request, line: bytes, reason: str, alive: bool) -> None:
    with pytest.raises(WorkerError, match=reason) as caught:
        parse_answer(request_, line)
    assert caught.value.alive is alive
