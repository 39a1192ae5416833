"""Request logs: which requests are one run, which are runs of their own, and which are one request logged twice."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.command import within

Message = dict[str, Any]


def ask(*messages: Message, answer: Message | None, id: str | None = None, n: list[Message] | None = None) -> Message:
    choices = [{"index": i, "message": m} for i, m in enumerate([answer, *(n or [])] if answer else [])]
    response: Message = {"choices": choices} if answer else {"error": {"message": "overloaded"}}
    return {"request": {"messages": list(messages)}, "response": response | ({"id": id} if id else {})}


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def says(text: str) -> Message:
    return {"role": "assistant", "content": text}


def calls(name: str, id: str, **arguments: Any) -> Message:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}],
    }


def result(id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": id, "content": text}


def canon(*lines: Message) -> tuple[list[Message], str]:
    done = within("canon", "--from", "openai-chat-log", "-", stdin="\n".join(json.dumps(line) for line in lines) + "\n")
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


def run(k: int) -> list[Message]:
    """Three requests of one run; runs differ in what they call, from one prompt."""
    start, call, back = user("Find the key."), calls("open", f"c{k}", drawer=k), result(f"c{k}", f"drawer {k}")
    more, again = calls("look", f"d{k}", under=k), result(f"d{k}", f"under {k}")
    return [
        ask(start, answer=call, id=f"r{k}a"),
        ask(start, call, back, answer=more, id=f"r{k}b"),
        ask(start, call, back, more, again, answer=says(f"It is {k}."), id=f"r{k}c"),
    ]


def raw(episode: Message) -> list[str]:
    return [step["action"] for step in episode["steps"]]


@pytest.mark.parametrize("seed", range(6))
def test_runs_of_one_prompt_stay_apart_however_they_are_interleaved(seed: int) -> None:
    lots = random.Random(seed)
    queues = [run(k) for k in range(1, 5)]
    lines = []
    while any(queues):
        lines.append(lots.choice([queue for queue in queues if queue]).pop(0))
    episodes, _ = canon(*lines)
    assert sorted(map(raw, episodes)) == sorted(map(raw, canon(*run(1), *run(2), *run(3), *run(4))[0]))
    assert len({episode["id"] for episode in episodes}) == 4
    assert all("parent" not in episode for episode in episodes)
    assert [len(episode["steps"]) for episode in episodes] == [3, 3, 3, 3]


def test_equal_answers_under_other_ids_are_other_runs() -> None:
    one = ask(user("A colour?"), answer=says("Red."), id="a")
    other = ask(user("A colour?"), answer=says("Red."), id="b")
    assert len(canon(one, other)[0]) == 2


@pytest.mark.parametrize("id", ["a", None])
def test_an_exchange_that_is_logged_twice_counts_once_and_is_said(id: str | None) -> None:
    line = ask(user("A colour?"), answer=says("Red."), id=id)
    episodes, _ = canon(line, line)
    assert [raw(episode) for episode in episodes] == [["Red."]]


def test_a_failed_request_and_its_retry_are_one_run_at_any_place() -> None:
    first, second, third = run(1)
    failed = ask(*second["request"]["messages"], answer=None)
    episodes, _ = canon(first, failed, second, third)
    assert len(episodes) == 1
    assert len(episodes[0]["steps"]) == 3


def test_a_request_that_fails_where_another_was_answered_is_no_run() -> None:
    start = user("A colour?")
    assert len(canon(ask(start, answer=says("Red.")), ask(start, answer=None))[0]) == 1


def test_requests_out_of_order_are_the_run_that_they_are_in_order() -> None:
    first, second, third = run(1)
    (episode,) = canon(second, first, third)[0]
    assert len(episode["steps"]) == 3


def test_a_run_that_leaves_another_in_the_middle_is_its_branch() -> None:
    first, second, third = run(1)
    turned = ask(*second["request"]["messages"], answer=says("I give up."), id="other")
    whole, branch = canon(first, second, third, turned)[0]
    assert branch["parent"] == {"id": whole["id"], "turn": 1, "step": 1} or branch["parent"] == {
        "id": whole["id"],
        "turn": 1,
    }
    assert raw(branch) == [raw(whole)[0], "I give up."]


def test_an_answer_that_a_client_changed_before_it_sent_it_back_is_still_that_answer() -> None:
    start = user("Find the key.")
    told = {**calls("open", "c1", drawer=1), "content": " \n"}
    sent = {**calls("open", "c1", drawer=1), "content": "(called)"}
    lines = [ask(start, answer=told, id="a"), ask(start, sent, result("c1", "a key"), answer=says("Here."), id="b")]
    (episode,) = canon(*lines)[0]
    assert [step["kind"] for step in episode["steps"]] == ["call", "respond"]


def test_each_choice_is_a_run_and_each_may_go_on() -> None:
    start, left, right = user("Where?"), calls("dig", "l", at="left"), calls("dig", "r", at="right")
    lines = [
        ask(start, answer=left, n=[right], id="a"),
        ask(start, right, result("r", "gold"), answer=says("Right!"), id="b"),
        ask(start, left, result("l", "mud"), answer=says("Wrong."), id="c"),
    ]
    episodes, _ = canon(*lines)
    assert [raw(episode)[-1] for episode in episodes] == ["Wrong.", "Right!"]
    assert [episode["steps"][0]["observation"] for episode in episodes] == ["mud", "gold"]


def stream(*deltas: tuple[int, Message]) -> Message:
    chunks = [{"id": "s", "choices": [{"index": index, "delta": delta}]} for index, delta in deltas]
    return {"request": {"messages": [user("Go.")]}, "response_chunks": chunks}


def piece(name: str | None, arguments: str | None, **more: Any) -> Message:
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    return {"tool_calls": [{"function": function, **more}]}


@pytest.mark.parametrize(
    "deltas",
    [
        [piece("cup", '{"n":', id="a", index=0), piece(None, "1}", index=0), piece("cup", '{"n":2}', id="b", index=1)],
        [piece("cup", '{"n":', id="a"), piece(None, "1}"), piece("cup", '{"n":2}', id="b")],
        [piece("cup", '{"n":', id="a", index=0), piece(None, "1}"), piece("cup", '{"n":2}', id="b", index=0)],
        [piece("cup", '{"n":1}'), piece("cup", '{"n":2}')],
        [
            piece("cup", '{"n":', id="a", index=0),
            piece("cup", "1}", id="a", index=0),
            piece("cup", '{"n":2}', id="b", index=1),
        ],
        [piece("cu", None, id="a", index=0), piece("p", '{"n":1}', index=0), piece("cup", '{"n":2}', id="b", index=1)],
    ],
    ids=["usual", "no index", "index again", "neither", "name repeated", "name in pieces"],
)
def test_streamed_calls(deltas: list[Message]) -> None:
    (episode,) = canon(stream((0, {"role": "assistant"}), *((0, delta) for delta in deltas)))[0]
    assert raw(episode) == ['cup({"n":1})', 'cup({"n":2})']


def test_interleaved_choices_refusals_reasoning_and_legacy_calls() -> None:
    left, right = {"content": "le"}, {"refusal": "no"}
    episodes, _ = canon(stream((0, left), (1, right), (0, {"content": "ft"}), (1, {"refusal": "pe"})))
    assert [raw(episode) for episode in episodes] == [["left"], ["nope"]]
    parts = [{"reasoning_content": "hm"}, {"function_call": {"name": "cup", "arguments": '{"n":'}}]
    (episode,) = canon(stream(*((0, part) for part in parts), (0, {"function_call": {"arguments": "1}"}})))[0]
    assert raw(episode) == ['cup({"n":1})']
    assert episode["steps"][0]["thought"] == "hm"
