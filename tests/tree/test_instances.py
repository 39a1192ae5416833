"""Offline-RL instances: which, in what form, and what a completion earns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tree.test_tree_commands import lines, within
from tests.tree.trees import grow
from xskill.errors import BadRecord, NoInput, UsageError
from xskill.records import Gold, Instance, Parent, Step, Trajectory, encode
from xskill.records.instances import STEP_SHARE
from xskill.tree.completions import parse_actions
from xskill.tree.matching import canonicalizer
from xskill.tree.occurrences import InstanceChoices, build, excerpts_of, why_not
from xskill.tree.offline_instances import completion_bonus, reward_of, score
from xskill.tree.profiles import Profiles
from xskill.tree.prompts import PromptTemplate, prompt_of, read_template
from xskill.tree.replay import tiler
from xskill.tree.xtree import write_tree

TREE = grow(
    ("S0", "open<door>", "navigate<kitchen>"),
    ("S1", "S0", "take<instrument>"),
    ("S2", "measure<substance>", "wait<short>"),
)
RAW = ["open door to kitchen", "go to kitchen", "pick up thermometer", "look around", "wait1"]
TOKENS = ["open<door>", "navigate<kitchen>", "take<instrument>", "observe<room>", "wait<short>"]


def episode(name: str = "e", **fields: Any) -> Trajectory:
    steps = [Step(action=raw, observation=f"saw {i}") for i, raw in enumerate(RAW)]
    given = {"success": True, "task": "Measure it.", "env": "scienceworld", "initial_observation": "A hall.", **fields}
    return Trajectory(id=name, actions=TOKENS, steps=steps, **given)


def made(episodes: list[Trajectory], **choices: Any) -> list[Instance]:
    return list(build(episodes, tiler(TREE), InstanceChoices(**choices), PromptTemplate()))


def test_worked_rewards(vectors: Path) -> None:
    cases = json.loads((vectors / "reward.json").read_bytes())["offline"]
    assert len(cases) == 21
    for case in cases:
        reward = reward_of(case["matched"], case["length"], STEP_SHARE, completion_bonus(case["depth"]))
        assert reward == pytest.approx(case["reward"], abs=1e-8)


def test_every_node_of_the_derivation_is_an_instance() -> None:
    found = made([episode()])
    assert [(i.node, i.depth, i.start, i.length, i.turn) for i in found] == [("S1", 2, 0, 3, 0), ("S0", 1, 0, 2, 0)]
    first = found[0]
    assert first.id == "e:S1@0"
    assert first.gold == Gold(
        actions=RAW[:3], tokens=TOKENS[:3], kinds=["action"] * 3, profile="scienceworld", completion=0.6
    )
    assert [(m.role, m.content) for m in first.prompt[1:]] == [("user", "Measure it.\n\nA hall.")]


def test_the_prompt_is_the_gold_prefix_as_chat() -> None:
    messages = [(m.role, m.content) for m in prompt_of(episode(), 3, PromptTemplate(system=""))]
    assert messages == [
        ("user", "Measure it.\n\nA hall."),
        ("assistant", "open door to kitchen"),
        ("user", "saw 0"),
        ("assistant", "go to kitchen"),
        ("user", "saw 1"),
        ("assistant", "pick up thermometer"),
        ("user", "saw 2"),
    ]
    silent = Trajectory(
        id="e",
        actions=["a", "b", "c"],
        steps=[Step(action="one"), Step(action="two", turn=7, observation="x"), Step(action="three", turn=7)],
    )
    # nothing came back after "one": its message and the next turn's are one; steps of a turn are one message
    assert [(m.role, m.content) for m in prompt_of(silent, 3, PromptTemplate(system="S"))] == [
        ("system", "S"),
        ("assistant", "one\ntwo\nthree"),
        ("user", "x"),
    ]


def test_braces_in_a_log_are_no_template() -> None:
    record = episode(task="{action} {observation} {__class__}")
    assert prompt_of(record, 0, PromptTemplate())[1].content == "{action} {observation} {__class__}\n\nA hall."


def test_template_files(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text('task = "Goal: {task}"\naction = "Action: {action}"\n')
    template = read_template(str(path))
    assert [m.content for m in prompt_of(episode(), 1, template)][1:3] == [
        "Goal: Measure it.",
        "Action: open door to kitchen",
    ]
    for text in ('other = "x"', "task = 3", "= "):
        path.write_text(text)
        with pytest.raises(UsageError):
            read_template(str(path))
    with pytest.raises(NoInput):
        read_template(str(tmp_path / "none"))


def test_a_branch_gives_its_own_part_only() -> None:
    branch = episode("b", parent=Parent(id="e", turn=2))
    assert [i.node for i in made([branch])] == []
    assert why_not(episode("b", parent=Parent(id="e", turn=5))) == "without actions of its own"
    assert why_not(episode(success=None)) == "not a success"
    assert why_not(Trajectory(id="e", actions=["a"], success=True)) == "without raw steps"
    assert why_not(episode()) is None


def test_curriculum_sampling_dedupe_and_mix() -> None:
    many = [episode(f"e{i}") for i in range(10)]
    assert [i.depth for i in made(many, curriculum="depth")] == [1] * 10 + [2] * 10
    assert [i.id for i in made(many, dedupe=True)] == ["e0:S1@0", "e0:S0@0"]
    sampled = made(many, max_per_node=3, seed=1)
    assert [i.node for i in sampled].count("S0") == [i.node for i in sampled].count("S1") == 3
    assert made(many, max_per_node=3, seed=1) == sampled
    assert made(many, max_per_node=3, seed=2) != sampled
    mixed = made(many, mix=0.2)
    assert [i.kind for i in mixed].count("trajectory") == 5  # 5 of 25
    assert [i.kind for i in mixed[4::5]] == ["trajectory"] * 5  # evenly between the others
    whole = mixed[4]
    assert (whole.node, whole.depth, whole.length, whole.gold.completion) == (None, 0, 5, 0.3)
    assert len(made(many, mix=0.9)) == 30  # each episode at most once
    for bad in ({"mix": 1.0}, {"mix": -0.1}, {"max_per_node": 0}):
        with pytest.raises(UsageError):
            InstanceChoices(**bad)


def test_ablations() -> None:
    spans = made([episode()], ablation="random-span", seed=3)
    assert [(i.kind, i.length, i.depth) for i in spans] == [("span", 3, 2), ("span", 2, 1)]
    assert all(i.gold.tokens == TOKENS[i.start : i.start + i.length] for i in spans)
    starts = {
        span.start
        for seed in range(40)
        for span in excerpts_of([episode()], tiler(TREE), InstanceChoices(ablation="random-span", seed=seed))
    }
    assert starts == {0, 1, 2, 3}
    outcome = made([episode()], ablation="outcome")[0]
    assert score(outcome, "\n".join(RAW[:2])) == 0
    assert score(outcome, "\n".join(RAW[:3])) == 1


def test_score_stops_at_the_first_mismatch() -> None:
    instance = made([episode()])[0]
    assert score(instance, "open door to kitchen\ngo to kitchen\npick up thermometer") == pytest.approx(1.3)
    assert score(
        instance, "1. Open door to bedroom\n2. go to kitchen\n3. pick up thermometer\n4. wait"
    ) == pytest.approx(1.3)
    assert score(instance, "Thought: hm\nAction: open door to kitchen\nAction: look around") == pytest.approx(0.7 / 3)
    assert score(instance, "look around\nopen door to kitchen") == 0
    assert score(instance, "") == 0
    as_text = json.dumps(json.loads(encode(instance))["gold"])
    assert score(as_text, [{"role": "assistant", "content": "\n".join(RAW[:3])}]) == pytest.approx(1.3)
    assert score(json.loads(encode(instance)), "\n".join(RAW[:2])) == pytest.approx(0.7 * 2 / 3)
    for bad in ("{", "[]", "{}", '{"actions": 3}', 7):
        with pytest.raises(BadRecord, match="no gold"):
            score(bad, "x")  # type: ignore[arg-type]


def test_score_of_calls_commands_and_messages() -> None:
    gold = Gold(
        actions=['get_user({"id":1})', "echo hi\necho ho", "Done, anything else?"],
        tokens=["get<user>", "x", "respond<user>"],
        kinds=["call", "command", "respond"],
        profile="tools",
        completion=0.3,
    )
    call = {"role": "assistant", "tool_calls": [{"function": {"name": "get_user", "arguments": '{"id": 2}'}}]}
    assert score(gold, call) == pytest.approx(0.7 / 3)
    blocks = "```\nget_user({})\n```\nand\n```bash\necho hi\necho ho\n```\n```\nhello\n```"
    assert score(gold, blocks) == pytest.approx(1.0)
    message = Gold(actions=["x"], tokens=["respond<user>"], kinds=["respond"], profile="tools")
    assert score(message, "Here you are.") == pytest.approx(1.0)
    assert score(message, 'get_user({"id":1})') == 0


LETTER = "Dear Ana,\n\n- your seat is 3A\n- your bag is booked\n\nAnything else?"
CALL = 'update_seat({"seat":"3A"})'
TALK = Gold(
    actions=[LETTER, CALL, LETTER, "Bye."],
    tokens=["respond<user>", "update<seat>", "respond<user>", "respond<user>"],
    kinds=["respond", "call", "respond", "respond"],
    profile="tools",
    completion=0.3,
)


def said(*texts: str) -> list[dict[str, Any]]:
    """Messages; a call is a real one."""
    name, arguments = CALL[:-1].split("(", 1)
    call = {"role": "assistant", "content": "I do.", "tool_calls": [{"name": name, "arguments": arguments}]}
    return [call if text == CALL else {"role": "assistant", "content": text} for text in texts]


@pytest.mark.parametrize(
    ("completion", "steps"),
    [
        ("\n".join(TALK.actions), 4),
        (said(*TALK.actions), 4),
        ("\n".join(f"```\n{action}\n```" for action in TALK.actions), 4),
        (["Hi.", CALL, "Done.", "Bye."], 4),
        (f"Hi.\n{CALL}\nDone.\nBye.", 4),
        (f"Hi.\n{CALL}\nDone.", 3),
        (f"{LETTER}\nHm.", 1),
        (said(LETTER, "And one more.", CALL), 1),
        (said(CALL, LETTER), 0),
        (f'Let me see.\n<tool_call>{{"name": "update_seat", "arguments": {{}}}}</tool_call>\n{LETTER}\nBye.', 4),
        ("x\n" * 20_000 + CALL + "\n" + "y\n" * 20_000, 4),
        ("", 0),
    ],
)
def test_a_message_to_the_user_may_have_several_lines(completion: Any, steps: int) -> None:
    assert score(TALK, completion) == pytest.approx(0.7 * steps / 4 + 0.3 * (steps == 4))
    raw_only = msgspec.structs.replace(TALK, profile=None)
    if LETTER in str(completion) and steps == 4:
        assert score(raw_only, said(*TALK.actions)) == pytest.approx(1.0)


def test_text_beside_a_tag_may_be_a_thought() -> None:
    gold = Gold(
        actions=[CALL, "Bye."], tokens=["update<seat>", "respond<user>"], kinds=["call", "respond"], profile="tools"
    )
    tag = '<tool_call>{"name": "update_seat", "arguments": {}}</tool_call>'
    assert score(gold, f"I look.\n{tag}\nBye.") == pytest.approx(1.0)
    assert score(gold, f"I look.\n{CALL}\nBye.") == 0


def test_a_command_of_several_lines_is_one_action() -> None:
    edit = "edit 1:1\nimport os\nmodel = os.model()\nprint(1)\nend_of_edit"
    gold = Gold(actions=["ls", edit, "ls"], tokens=["ls", "edit<file>", "ls"], kinds=["command"] * 3, profile="tools")
    tokens = [canonicalizer("tools").action(action, kind="command")[0] for action in gold.actions]
    gold = msgspec.structs.replace(gold, tokens=tokens)
    for completion in ("\n".join(gold.actions), said(*gold.actions), ["ls", edit.replace("1)", "2)"), "ls"]):
        assert score(gold, completion) == pytest.approx(1.0)
    assert score(gold, "ls\nls\nls") < 0.5


def test_profiles_are_found_by_what_they_reproduce() -> None:
    profiles = Profiles()
    assert profiles.of(episode()) == "scienceworld"
    assert profiles.of(episode(env=None)) == "scienceworld"
    odd = Trajectory(id="e", actions=["odd<thing>"], steps=[Step(action="go to kitchen")])
    assert profiles.of(odd) is None
    with pytest.raises(UsageError, match="no profile 'nosuch'"):
        Profiles("nosuch")
    raw_only = Gold(actions=["Go  to kitchen"], tokens=["odd<thing>"], kinds=["action"])
    assert score(raw_only, "go to kitchen") == pytest.approx(1.0)
    assert score(raw_only, "go to bedroom") == 0


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("- go to x\n* take y\n3) put z", ["go to x", "take y", "put z"]),
        ("<think>go to x\n</think>\n`look`", ["look"]),
        ("<think>never closed\nlook", []),
        ("```\nlook\n```", ["look"]),
        ('<tool_call>\n{"name": "f", "arguments": {"b": 1, "a": 2}}\n</tool_call>', ['f({"a":2,"b":1})']),
        ('{"name": "f", "arguments": {}}', ["f({})"]),
        ("{not json", ["{not json"]),
        ('Observation: you see\nAction 2: "look"', ["look"]),
        (None, []),
        (3.5, []),
        (
            [{"role": "user", "content": "no"}, {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}],
            ["yes"],
        ),
        ({"tool_calls": [{"function": {"name": "f", "arguments": "{broken"}}, 3, {"name": 1}]}, ["f({broken)"]),
        ("[" * 100_000, ["[" * 100_000]),
    ],
)
def test_parse_actions(text: Any, actions: list[str]) -> None:
    assert parse_actions(text) == actions


LISTS: list[Any] = []
for _ in range(2_000):
    LISTS = [LISTS]
ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)
NO_JSON = {
    "deep": {"a": LISTS},
    "endless": ENDLESS,
    "surrogate": {"a": "\ud83d"},
    "object": {"a": object()},
    "key": {(1, 2): 3},
    "digits": 10**5000,
}


@pytest.mark.parametrize("name", NO_JSON)
def test_arguments_that_are_no_json_still_call(name: str) -> None:
    call = {"function": {"name": "look", "arguments": NO_JSON[name]}}
    gold = Gold(actions=["look({})"], tokens=["observe<room>"], kinds=["call"], profile="scienceworld")
    assert 0 <= score(gold, [{"role": "assistant", "content": None, "tool_calls": [call]}]) <= 1
    assert parse_actions({"tool_calls": [call]})[0].startswith("look(")


@pytest.mark.parametrize("levels", [200, 300, 900, 950, 1010, 100_000])
def test_nested_calls_are_no_error(levels: int) -> None:
    deep = '{"a":' + "[" * levels + "]" * levels + "}"
    gold = Gold(actions=["look({})"], tokens=["look"], kinds=["call"], profile="tools")
    calls = [{"function": {"name": "look", "arguments": deep}}]
    for completion in (
        [{"role": "assistant", "content": None, "tool_calls": calls}],
        '{"name":"look","arguments":' + deep + "}",
        '<tool_call>{"name":"look","arguments":' + deep + "}</tool_call>",
        f"look({deep})",
        deep,
        [ENDLESS],
    ):
        assert 0 <= score(gold, completion) <= 2
    assert parse_actions({"tool_calls": calls}) == [f"look({deep})"]


@given(
    st.one_of(
        st.text(),
        st.recursive(
            st.none() | st.text() | st.integers(),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(
                    st.sampled_from(["content", "tool_calls", "role", "function", "name", "arguments", "text"]), inner
                )
            ),
        ),
    )
)
def test_no_completion_is_an_error(completion: Any) -> None:
    gold = Gold(actions=["look"], tokens=["observe<room>"], kinds=["action"], profile="scienceworld")
    assert 0 <= score(gold, completion) <= 1


def test_command_writes_what_trainers_read(tmp_path: Path) -> None:
    write_tree(TREE, tmp_path / "tree.jsonl")
    episodes = b"".join(encode(record) + b"\n" for record in (episode("a"), episode("b", success=False)))
    args = ("tree", "instances", "--tree", tmp_path / "tree.jsonl")
    done = within(*args, stdin=episodes)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["a:S1@0", "a:S0@0"]
    assert b"dropped 1 (1 not a success); 2 instances" in done.stderr
    columns = {
        "verl": ["data_source", "prompt", "ability", "reward_model", "extra_info"],
        "trl": ["prompt", "ground_truth"],
        "skyrl": ["data_source", "prompt", "env_class", "reward_spec", "extra_info"],
    }
    for trainer, names in columns.items():
        path = tmp_path / f"{trainer}.parquet"
        assert within(*args, "--as", trainer, "-o", path, stdin=episodes).returncode == 0
        frame = pl.read_parquet(path)
        assert frame.columns[: len(names)] == names
        assert frame["prompt"][0].to_list()[1] == {"role": "user", "content": "Measure it.\n\nA hall."}
        rows = [json.loads(line) for line in within(*args, "--as", trainer, stdin=episodes).stdout.splitlines()]
        assert rows == frame.to_dicts()
    assert set(frame["extra_info"][0]) >= {"split", "index", "episode", "node", "depth", "turn"}
    assert score(frame["reward_spec"][0]["ground_truth"], "\n".join(RAW[:3])) == pytest.approx(1.3)
    assert within(*args, "--as", "other", stdin=episodes).returncode == 2
    assert within(*args, "--ablation", "other", stdin=episodes).returncode == 2


def test_command_refuses_a_tree_of_failures(tmp_path: Path) -> None:
    write_tree(grow(("S0", "a", "b"), outcome="failure"), tmp_path / "tree.jsonl")
    done = within("tree", "instances", "--tree", tmp_path / "tree.jsonl", stdin=lines({"id": "e", "actions": []}))
    assert done.returncode == 65
