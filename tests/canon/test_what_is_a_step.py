"""What counts as a step, the same for every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.canon.logs import canon, log, write_lines


def chat(tmp_path: Path, *messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    (record,) = canon(write_lines(tmp_path / "chat.jsonl", {"messages": list(messages), **fields}))
    return record


def call(identity: str | None, name: str, arguments: Any) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def agent(*calls: dict[str, Any], content: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {})}


def tool(identity: str | None, content: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, **({"tool_call_id": identity} if identity else {})}


USER = {"role": "user", "content": "Do it."}


def test_parallel_calls_share_a_turn_and_keep_their_results(tmp_path: Path) -> None:
    record = chat(
        tmp_path,
        {"role": "system", "content": "be kind"},
        USER,
        agent(call("a", "get_x", '{"k":1}'), call("b", "get_y", '{"k":2}'), content="Both."),
        tool("b", "second"),
        tool("a", "first"),
        agent(call("c", "get_z", "{}")),
        tool("c", "third"),
        agent(content="Done."),
    )
    assert record["actions"] == ["get<x>", "get<y>", "get<z>", "respond<user>"]
    assert [step["turn"] for step in record["steps"]] == [0, 0, 1, 2]
    assert [step.get("observation") for step in record["steps"]] == ["first", "second", "third", None]
    assert record["steps"][0]["thought"] == "Both."
    assert "thought" not in record["steps"][1]
    assert record["task"] == "Do it."


def test_turns_are_left_out_when_each_step_is_one(tmp_path: Path) -> None:
    record = chat(tmp_path, USER, agent(call("a", "x", "{}")), tool("a", "1"), agent(content="Done."))
    assert all("turn" not in step for step in record["steps"])


def test_results_without_ids_belong_to_the_oldest_open_call(tmp_path: Path) -> None:
    record = chat(tmp_path, USER, agent(call("a", "x", "{}"), call("b", "y", "{}")), tool(None, "1"), tool(None, "2"))
    assert [step["observation"] for step in record["steps"]] == ["1", "2"]


def test_a_user_s_answer_is_the_observation_of_the_respond_before_it(tmp_path: Path) -> None:
    record = chat(
        tmp_path, USER, agent(content="Which?"), {"role": "user", "content": "The red one."}, agent(content="Done.")
    )
    assert [step.get("observation") for step in record["steps"]] == ["The red one.", None]
    assert {step["kind"] for step in record["steps"]} == {"respond"}


def test_a_call_without_a_result_has_no_observation_and_an_empty_one_has_an_empty_one(tmp_path: Path) -> None:
    record = chat(tmp_path, USER, agent(call("a", "x", "{}"), call("b", "y", "{}")), tool("b", ""))
    assert "observation" not in record["steps"][0]
    assert record["steps"][1]["observation"] == ""


def test_action_text_of_a_call_has_sorted_keys(tmp_path: Path) -> None:
    record = chat(tmp_path, USER, agent(call("a", "f", '{"b": 1, "a": {"d": 2, "c": null}}')))
    assert record["steps"][0]["action"] == 'f({"a":{"c":null,"d":2},"b":1})'
    assert record["args"] == [['{"c":null,"d":2}', "1"]]


def test_arguments_that_are_no_object_stay_text(tmp_path: Path) -> None:
    record = chat(tmp_path, USER, agent(call("a", "f", "{broken"), call("b", "g", None), call("c", "h", {"x": 1})))
    assert [step["action"] for step in record["steps"]] == ["f({broken)", "g({})", 'h({"x":1})']
    assert record["args"] == [["{broken"], [], ["1"]]


def test_a_step_list_with_a_call_as_text(tmp_path: Path) -> None:
    (record,) = canon(
        write_lines(tmp_path / "s.jsonl", {"steps": [{"action": 'get_user({"id":"u1"})', "kind": "call"}], "env": "x"})
    )
    assert (record["actions"], record["args"]) == (["get<user>"], [["u1"]])


def test_an_empty_message_is_no_step(tmp_path: Path) -> None:
    assert chat(tmp_path, USER, agent(content=""), agent(content="  \n"))["actions"] == []


def test_anthropic_parts(tmp_path: Path) -> None:
    record = chat(
        tmp_path,
        USER,
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "t1", "name": "get_x", "input": {"k": 1}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": [{"type": "text", "text": "no"}]},
            {"type": "text", "text": "Try harder."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "I give up."}]},
    )  # fmt: skip
    first, second = record["steps"]
    assert (first["thought"], first["observation"], first["error"]) == ("Hm.\n\nLooking.", "no", True)
    assert first["extra"] == {"user": "Try harder."}
    assert second["action"] == "I give up."


def test_no_respond_leaves_messages_out(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "c.jsonl", {"messages": [USER, agent(content="Hi"), agent(call("a", "x", "{}")), tool("a", "1")]}
    )
    (record,) = canon(path, respond=False)
    assert record["actions"] == ["x"]


def test_tools_of_the_user_are_no_actions() -> None:
    """tau2: the user simulator can call tools too, and the first greeting is scripted."""
    made = canon(log("e_tau/tau2_airline_grok-3.json"))
    assert all(step["action"] != "Hi! How can I help you today?" for record in made for step in record["steps"])


def test_prompts_that_speak_for_the_agent_are_no_actions(tmp_path: Path) -> None:
    """Few-shot turns of a prompt were not generated in this rollout."""
    row = {
        "prompt": [USER, agent(content="An example answer."), {"role": "user", "content": "Now you."}],
        "completion": [agent(content="Mine.")],
        "reward": 1.0,
    }
    (record,) = canon(write_lines(tmp_path / "r.jsonl", row))
    assert [step["action"] for step in record["steps"]] == ["Mine."]


def test_history_that_every_request_repeats_counts_once() -> None:
    made = canon(log("traces/raw_openai_chat.jsonl"))
    assert sum(len(record["actions"]) for record in made) == 40  # 33 calls, 7 answers; 38 requests


def test_a_retried_request_is_one(tmp_path: Path) -> None:
    request = {"model": "m", "messages": [USER]}
    answer = {"choices": [{"message": agent(content="Done.")}]}
    path = write_lines(
        tmp_path / "log.jsonl",
        {"request": request, "response": {"error": {"message": "overloaded"}}, "status_code": 529},
        {"request": request, "response": answer},
    )
    (record,) = canon(path)
    assert record["actions"] == ["respond<user>"]


def test_two_agents_of_one_session_are_two_episodes(tmp_path: Path) -> None:
    def line(system: str, text: str) -> dict[str, Any]:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
        answer = {"choices": [{"message": agent(content=f"{system} says")}]}
        return {"session_id": "s", "request": {"messages": messages}, "response": answer}

    made = canon(write_lines(tmp_path / "l.jsonl", line("planner", "plan"), line("writer", "write")))
    assert [record["id"] for record in made] == ["s", "s-2"]
    assert [record["task"] for record in made] == ["plan", "write"]
