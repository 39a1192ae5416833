"""Calls that stand in a text, and results that name no call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.command import within
from xskill.canon.reading.written_calls import written_answers, written_calls

Message = dict[str, Any]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>', [("f", {"x": 1})]),
        ('<tool_call>{"name": "f", "arguments": {"x": {"y": "}"}}}</tool_call>', [("f", {"x": {"y": "}"}})]),
        (
            '<tool_call>{"name": "f", "arguments": {}}</tool_call><tool_call>{"name": "g"}</tool_call>',
            [("f", {}), ("g", {})],
        ),
        ('<tool_call>\n{"name": "f", "arguments": {"x": 1}}', [("f", {"x": 1})]),
        ("<function=run>\n<parameter=cmd>\nls <x>\n</parameter>\n</function>", [("run", {"cmd": "ls <x>"})]),
        (
            "<tool_call>\n<function=run>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
            [("run", {"a": "1"})],
        ),
        ('<function=run>{"cmd": "ls"}</function>', [("run", {"cmd": "ls"})]),
        ("<function=finish></function>", [("finish", {})]),
        (
            '<function_calls>\n<invoke name="f">\n<parameter name="x">[1, 2]</parameter>\n</invoke>\n</function_calls>',
            [("f", {"x": [1, 2]})],
        ),
        (
            '[TOOL_CALLS] [{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]',
            [("f", {"x": 1}), ("g", {})],
        ),
    ],
)
def test_forms(text: str, calls: list[tuple[str, Any]]) -> None:
    written = written_calls(text)
    assert written is not None
    assert [(name, arguments) for _, name, arguments in written.calls] == calls
    assert written.text is None


@pytest.mark.parametrize(
    "text",
    [
        'Write it so:\n```\n<tool_call>{"name": "f", "arguments": {}}</tool_call>\n```\nand no other way.',
        "A <tool_call> is what models write.",
        "<tool_call>not JSON</tool_call>",
        '<tool_call>{"arguments": {}}</tool_call>',
        "1 < 2, and <function=f> opens it without an end or parameter, which is prose",
    ],
)
def test_what_is_no_call(text: str) -> None:
    assert written_calls(text) is None


def test_answers() -> None:
    two = "<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>"
    assert [answer.text for answer in written_answers(two)] == ["1", "2"]
    assert written_answers("EXECUTION RESULT of [run]:\nok") == [("run", "ok")]
    assert written_answers("just text") == [(None, "just text")]


def canon(*messages: Message) -> Message:
    (line,) = within("canon", "-", stdin=json.dumps({"messages": list(messages)})).stdout.splitlines()
    episode: Message = json.loads(line)
    return episode


def pairs(episode: Message) -> list[tuple[str, str | None]]:
    return [(step["action"], step.get("observation")) for step in episode["steps"]]


def test_two_written_calls_get_their_results_by_name_then_in_order() -> None:
    said = "".join(f'<tool_call>{{"name": "{name}", "arguments": {{}}}}</tool_call>' for name in "fgf")
    back = "".join(
        f"<tool_response>{json.dumps(x)}</tool_response>"
        for x in ({"name": "g", "content": "G"}, {"name": "f", "content": "F1"}, "F2")
    )
    episode = canon(
        {"role": "user", "content": "Go."}, {"role": "assistant", "content": said}, {"role": "user", "content": back}
    )
    assert pairs(episode) == [("f({})", "F1"), ("g({})", "G"), ("f({})", '"F2"')]


def call(id: str | None, name: str, n: int) -> Message:
    return {**({"id": id} if id else {}), "type": "function", "function": {"name": name, "arguments": f'{{"n":{n}}}'}}


@pytest.mark.parametrize(
    ("calls", "results", "expected"),
    [
        ([("x", "f", 1), ("x", "f", 2)], [("x", None, "A"), ("x", None, "B")], ["A", "B"]),
        ([(None, "f", 1), (None, "g", 2)], [(None, "g", "B"), (None, "f", "A")], ["A", "B"]),
        ([("a", "f", 1), ("b", "g", 2)], [(None, "g", "B")], [None, "B"]),
        ([("a", "f", 1), ("b", "g", 2)], [("b", None, "B"), ("b", None, "B"), ("a", None, "A")], ["A", "B"]),
        ([("a", "f", 1), ("b", "g", 2)], [("zzz", None, "B")], [None, None]),
        ([(None, "f", 1), (None, "f", 2)], [(None, None, "A"), (None, None, "B")], ["A", "B"]),
        ([(None, "f", 1), ("b", "f", 2)], [("zzz", None, "A")], ["A", None]),
    ],
    ids=["one id twice", "by name", "by name beside ids", "twice the same", "an id of no call", "by order", "no id"],
)
def test_results_find_their_calls(
    calls: list[tuple[str | None, str, int]], results: list[Any], expected: list[str | None]
) -> None:
    messages: list[Message] = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call(*one) for one in calls]},
    ]
    for id, name, text in results:
        named = {k: v for k, v in (("tool_call_id", id), ("name", name)) if v}
        messages.append({"role": "tool", "content": text, **named})
    assert [observation for _, observation in pairs(canon(*messages))] == expected


def test_a_function_part_of_a_content_is_a_call() -> None:
    part = call("c", "ring", 2)
    episode = canon(
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [part]},
        {"role": "tool", "tool_call_id": "c", "content": "ding"},
    )
    assert pairs(episode) == [('ring({"n":2})', "ding")]
