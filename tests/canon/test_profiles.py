"""Shipped profiles: every example in the files, the authors' pairs, the table of the method, real episodes."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from xskill.canon.actions.canonicalizer import Canonicalizer
from xskill.canon.actions.profile import PROFILE_NAMES, detect_profile, load_profile

EXAMPLES = [(name, example) for name in PROFILE_NAMES for example in load_profile(name).examples]


def canonical(profile: str, raw: str, **more: Any) -> tuple[str, list[str], bool]:
    token, args, matched = Canonicalizer(load_profile(profile)).action(raw, **more)
    return token, list(args), matched


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[f"{name}: {e['raw'][:50]!r}" for name, e in EXAMPLES])
def test_every_example_in_a_profile_holds(name: str, example: dict[str, Any]) -> None:
    found = canonical(
        name,
        example["raw"],
        kind=example.get("kind", "action"),
        role=example.get("role"),
        goal_options=example.get("goal"),
    )
    assert found == (example["token"], example["args"], True)


@pytest.mark.parametrize("name", PROFILE_NAMES)
def test_every_constant_verb_of_a_profile_has_an_example(name: str) -> None:
    """A rule without an example is a rule that nobody looked at."""
    profile = load_profile(name)
    shown = {example["token"].split("<")[0] for example in profile.examples}
    own = [rule for rule in profile.rules if (rule.command_in, rule.action_in, rule.name_from) == (None, None, None)]
    verbs = {rule.verb.text for rule in own if "{" not in rule.verb.text}
    assert verbs - shown == set()


@pytest.mark.parametrize(
    ("profile", "raw", "more", "token", "args"),
    [
        ("webarena", "fill('925','03/01/2023')", {"role": "textbox"}, "type<text_input>", ["925", "03/01/2023"]),
        ("webarena", "click('1301')", {"role": "button"}, "click<button>", ["1301"]),
        ("scienceworld", "go to kitchen", {}, "navigate<kitchen>", []),
        ("scienceworld", "pick up thermometer", {}, "take<instrument>", ["thermometer"]),
        (
            "scienceworld",
            "use thermometer in inventory on gallium",
            {},
            "measure<substance>",
            ["thermometer", "gallium"],
        ),
        ("scienceworld", "move metal pot to stove", {}, "put<device>", ["metal pot", "stove"]),
        ("scienceworld", "wait1", {}, "wait<short>", []),
        ("scienceworld", "look around", {}, "observe<room>", []),
        ("scienceworld", "inventory", {}, "observe<inventory>", []),
        (
            "scienceworld",
            "connect battery anode to yellow wire terminal 1",
            {},
            "connect<device>",
            ["battery anode", "yellow wire terminal 1"],
        ),
        ("webshop", "search[laundry bag]", {}, "search<query>", ["laundry bag"]),
        ("webshop", "click[b093k5jk25]", {}, "click<item>", ["b093k5jk25"]),
        ("webshop", "click[buy now]", {}, "click<buy>", []),
        ("webshop", "click[next >]", {}, "click<next>", []),
        ("webshop", "click[< prev]", {}, "click<prev>", []),
        ("webshop", "click[back to search]", {}, "click<back>", []),
        ("webshop", "click[large]", {"goal_options": {"size": "large"}}, "click<option-size>", ["large"]),
        ("webshop", "click[large]", {}, "click<option>", ["large"]),
        ("tools", 'get_user_details({"user_id":"u_1"})', {"kind": "call"}, "get<user_details>", ["u_1"]),
    ],
)
def test_the_table_of_the_method(profile: str, raw: str, more: dict[str, Any], token: str, args: list[str]) -> None:
    assert canonical(profile, raw, **more) == (token, args, True)


@pytest.fixture(scope="module")
def pairs(shared: Path) -> list[dict[str, Any]]:
    pairs: list[dict[str, Any]] = json.loads((shared / "xtree" / "canon_pairs.json").read_text())
    return pairs


def test_all_scienceworld_pairs_of_the_authors(pairs: list[dict[str, Any]]) -> None:
    rows = [pair for pair in pairs if pair["env"] == "ScienceWorld"]
    assert len(rows) == 82
    wrong = [
        (pair["raw"], found) for pair in rows if (found := canonical("scienceworld", pair["raw"])[0]) != pair["token"]
    ]
    assert wrong == []


def test_all_webshop_pairs_given_the_options_of_the_goal(pairs: list[dict[str, Any]]) -> None:
    """The options of a goal are taken from the readable forms of the same file (``click size "16foot"``)."""
    rows = [pair for pair in pairs if pair["env"] == "WebShop"]
    goal: dict[str, str] = {}
    for pair in rows:
        if pair["form"] == "grounded" and pair["token"].startswith("click<option-"):
            option, _, value = pair["raw"].removeprefix("click ").partition(' "')
            goal[option + " " * len([name for name in goal if name.strip() == option])] = value.rstrip('"')
    assert len(rows) == 24 + 2
    wrong = []
    for pair in rows:
        options = {name.strip(): value for name, value in goal.items() if f"[{value}]" in pair["raw"]}
        found = canonical("webshop", pair["raw"], goal_options=options)
        if (found[0], found[2]) != (pair["token"], True):
            wrong.append((pair["raw"], found))
    assert wrong == []


def test_web_pairs_given_the_role_of_the_element(pairs: list[dict[str, Any]]) -> None:
    """What the page says is put back from the authors' token: the mapping of verbs and roles is what is tested."""
    page = {"text_input": "textbox", "select": "combobox", "input_checkbox": "input type=checkbox", "text": "span"}
    wrong = []
    rows = [pair for pair in pairs if pair["env"] in ("WebArena", "MiniWoB++")]
    for pair in rows:
        role = pair["token"].partition("<")[2].rstrip(">")
        profile = {"WebArena": "webarena", "MiniWoB++": "miniwob"}[pair["env"]]
        found = canonical(profile, pair["raw"], role=page.get(role, role))
        if (found[0], found[2]) != (pair["token"], True):
            wrong.append((pair["raw"], found))
    assert len(rows) == 202 - 82 - 26
    assert wrong == []


@pytest.mark.parametrize(
    ("profile", "files", "largest"),
    [("scienceworld", ["scienceworld", "rollouts"], 150), ("alfworld", ["alfworld", "rollouts"], 38)],
)
def test_real_episodes_leave_no_action_unknown_and_need_few_tokens(
    shared: Path, profile: str, files: list[str], largest: int
) -> None:
    """143 ScienceWorld tokens, of which the expert alone uses 59: the others come from random valid actions."""
    canonicalizer = Canonicalizer(load_profile(profile))
    tokens: Counter[str] = Counter()
    for name in files:
        with gzip.open(shared / "envdata" / f"{name}.jsonl.gz") as lines:
            for line in lines:
                episode = json.loads(line)
                if episode["env"] == profile:
                    tokens.update(canonicalizer.action(step["action"])[0] for step in episode["steps"])
    assert canonicalizer.unmatched.total == 0
    assert sum(tokens.values()) > 12_000
    assert len(tokens) <= largest


def test_detection_by_the_name_of_the_environment() -> None:
    assert detect_profile("AlfWorld", []) == "alfworld"
    assert detect_profile("ScienceWorld-v1", [("action", "click[x]")]) == "scienceworld"
    assert detect_profile("browsergym/webarena.12", []) == "webarena"
    assert detect_profile("MiniWoB++", []) == "miniwob"


@pytest.mark.parametrize(
    ("actions", "profile"),
    [
        (
            ["go to cabinet 1", "open cabinet 1", "take mug 1 from cabinet 1", "look", "put mug 1 in/on shelf 2"],
            "alfworld",
        ),
        (["go to desk 1", "move pen 1 to drawer 2", "inventory"], "alfworld"),
        (["open door to kitchen", "go to kitchen", "pick up thermometer", "look around", "wait1"], "scienceworld"),
        (["search[red shoes]", "click[b012345678]", "click[red]", "click[Buy Now]"], "webshop"),
        (["Search[Milhouse]", "Search[Allie Goertz]", "Finish[Richard Nixon]"], "generic"),
        (['type(ref=3, "x")', "click(ref=4)"], "miniwob"),
        (["click('a12')", "fill('13', 'x')", "scroll(0, 100)"], "webarena"),
        (["click [12]", "type [3] [x] [1]", "stop [done]"], "webarena"),
        (["pyautogui.click(1, 2)", "pyautogui.write('x')"], "gui"),
        (["Click at (1, 2)", "Double-click at (3, 4)"], "gui"),
        (["dance", "sing the song"], "generic"),
    ],
)
def test_detection_by_the_actions(actions: list[str], profile: str) -> None:
    assert detect_profile(None, [("action", raw) for raw in actions]) == profile
    assert detect_profile("some env", [("action", raw) for raw in actions]) == profile


def test_detection_by_the_kind_of_the_actions() -> None:
    call = ("call", 'get_user({"id":"1"})')
    command = ("command", "ls -la")
    assert detect_profile(None, [call, call, ("respond", "Hello")]) == "tools"
    assert detect_profile(None, [command, command, call]) == "shell"
    assert detect_profile(None, [("respond", "Hello")]) == "generic"
    assert detect_profile(None, []) == "generic"
    assert detect_profile(None, [("call", 'computer({"action":"left_click","coordinate":[1,2]})')] * 3) == "gui"
