"""``--map``: logs with the user's own field names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.canon.logs import canon, write_lines
from tests.command import within
from xskill.canon.mapping import parse_map
from xskill.errors import BadRecord, UsageError

NESTED = {
    "meta": {"goal": "buy socks", "site": "shop"},
    "run": 7,
    "turns": [
        {"act": {"text": "search[socks]"}, "out": {"page": "3 results"}, "why": "look", "ms": 12},
        {"act": {"text": "click[buy now]"}, "out": {"page": "bought"}, "won": 1},
    ],
    "won": True,
}


def test_nested_steps(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "own.jsonl", NESTED)
    (record,) = canon(
        path,
        map="action=turns[].act.text,observation=turns[].out.page,thought=turns[].why,task=meta.goal,id=run,"
        "success=won,env='webshop'",
    )
    assert record["id"] == "7"
    assert (record["task"], record["env"], record["success"]) == ("buy socks", "webshop", True)
    assert record["actions"] == ["search<query>", "click<buy>"]
    first, second = record["steps"]
    assert (first["observation"], first["thought"], first["extra"]) == ("3 results", "look", {"ms": 12})
    assert second["extra"] == {"won": 1}
    assert record["extra"] == {"meta": {"goal": "buy socks", "site": "shop"}}  # nothing is lost
    assert record["source"]["format"] == "map"


def test_flat_rows_make_an_episode_by_their_id(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "flat.jsonl",
        {"run": "a", "cmd": "look", "reply": "a room", "score": 0},
        {"run": "a", "cmd": "go north", "reply": "a hall", "score": 1.0},
        {"run": "b", "cmd": "look", "reply": "a room", "score": 0},
    )
    first, second = canon(path, map="action=cmd,observation=reply,id=run,reward=score")
    assert (first["id"], [step["action"] for step in first["steps"]]) == ("a", ["look", "go north"])
    assert first["reward"] == 1.0
    assert first["success"] is True
    assert (second["id"], second["source"]["record"]) == ("b", 3)


def test_calls(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "c.jsonl", {"log": [{"tool": "get_user", "input": '{"id": "u1"}', "error": "no"}]})
    (record,) = canon(path, map="name=log[].tool,arguments=log[].input,error=log[].error")
    assert (record["actions"], record["args"]) == (["get<user>"], [["u1"]])
    assert record["steps"][0]["error"] is True


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("observation=x[].o", "needs action=PATH"),
        ("action=cmd", "say which field tells the episodes apart: id=PATH"),
        ("action=a[].b[].c", "only one [] is understood"),
        ("action=a[].b,observation=c[].d", "cannot lie in two lists"),
        ("action=a[].b,observation=d", "say where the list is, as in steps[].d"),
        ("acton=a[].b", "the fields are action, observation"),
        ("task=a[].b,action=a[].c", "those of a whole episode take no []"),
        ("action", "expected FIELD=PATH"),
    ],
)
def test_maps_that_do_not_parse(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        parse_map(text)


def test_a_path_that_leads_nowhere(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "own.jsonl", NESTED)
    with pytest.raises(BadRecord) as error:
        canon(path, map="action=moves[].act")
    assert str(error.value).endswith(
        "own.jsonl:1: moves: no list at 'moves' (--map); the record has meta, run, turns, won"
    )
    with pytest.raises(BadRecord) as error:
        canon(path, map="action=turns[].act.txt")
    assert "turns[0]: nothing at 'act.txt' (--map)" in str(error.value)


@pytest.mark.parametrize("text", ["call(token=SECRET)", 'call({"token":"SECRET"})'])
def test_a_call_given_as_text_is_redacted(text: str, tmp_path: Path) -> None:
    action = text.replace("SECRET", "ghp_" + "a1B2c3" * 6)
    path = write_lines(tmp_path / "x.jsonl", {"steps": [{"a": action, "k": "call"}]})
    (record,) = canon(path, map="action=steps[].a,kind=steps[].k")
    assert record["steps"] == [{"action": text.replace("SECRET", "<redacted:github-token>"), "kind": "call"}]


def test_from_and_map_exclude_one_another(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "own.jsonl", NESTED)
    assert b"exclude" in within("canon", path, "--from", "steps", "--map", "action=x[].y", check=2).stderr
    assert b"no such format" in within("canon", path, "--from", "nope", check=2).stderr
