"""Demonstrations: the skill is named exactly where the actions follow it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.bank.commands import within
from xskill.bank.retrieval import build_index
from xskill.bank.sft import SYSTEM, demonstration, follow
from xskill.bank.skillbank import make_bank, write_bank
from xskill.records import Skill, Step, Trajectory, encode


def routine(name, *tokens, tier="general"):
    return Skill(id=name, tier=tier, title=name, principle="p", extra={"tokens": list(tokens)})


def steps_of(found):
    return {position: (skill.id, number) for position, (skill, number) in found.items()}


def test_longest_routine_first_from_the_left():
    skills = [routine("ab", "a", "b"), routine("abc", "a", "b", "c"), routine("cd", "c", "d")]
    assert steps_of(follow(skills, list("abcdxab"))) == {
        0: ("abc", 1), 1: ("abc", 2), 2: ("abc", 3), 5: ("ab", 1), 6: ("ab", 2),
    }  # fmt: skip


def test_mistakes_and_single_actions_are_not_followed():
    assert follow([routine("m", "a", "b", tier="mistake"), routine("one", "a")], list("ab")) == {}


@given(
    st.lists(st.sampled_from("abc"), max_size=12),
    st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=4), max_size=4),
)
def test_followed_actions_are_those_of_the_skill(actions, routines):
    skills = [routine(f"s{n}", *tokens) for n, tokens in enumerate(routines)]
    for position, (skill, number) in follow(skills, actions).items():
        tokens = skill.extra["tokens"]
        start = position - number + 1
        assert actions[start : start + len(tokens)] == tokens


EPISODE = Trajectory(
    id="e1", question_id="q1", task="heat the mug", task_type="heat", success=True,
    initial_observation="You see a mug.",
    actions=["take<mug>", "heat<mug>", "put<mug>"],
    steps=[
        Step(action="take mug", observation="taken", thought="I need it."),
        Step(action="heat mug", observation=None, turn=1),
        Step(action="put mug", observation="done", turn=1),
    ],
)  # fmt: skip
BANK = make_bank([routine("warm", "take<mug>", "heat<mug>"), routine("other", "x", "y")])


def test_demonstration_by_hand():
    row = demonstration(EPISODE, build_index(BANK))
    assert row["skills"] == ["warm"]
    system, *rest = row["messages"]
    assert system["content"].startswith(SYSTEM)
    assert "**warm**" in system["content"]
    assert rest == [
        {"role": "user", "content": "heat the mug\n\nYou see a mug."},
        {"role": "assistant", "content": "I need it.\nSkill: warm, step 1 of 2\nAction: take mug"},
        {"role": "user", "content": "taken"},
        {"role": "assistant", "content": "Skill: warm, step 2 of 2\nAction: heat mug\nAction: put mug"},
    ]


def test_command_keeps_successes_and_refuses_held_out_episodes(tmp_path):
    write_bank(str(tmp_path / "b"), BANK)
    failed = Trajectory(id="e2", actions=["a"], steps=[Step(action="a")], success=False)
    file = tmp_path / "e.jsonl"
    file.write_bytes(encode(EPISODE) + b"\n" + encode(failed) + b"\n")
    done = within("bank", "sft", file, "--bank", tmp_path / "b")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["e1"]
    assert "dropped 1 (1 no success)" in done.stderr
    file.write_text(file.read_text().replace('"id":"e1"', '"id":"e1","split":"validation"'))
    refused = within("bank", "sft", file, "--bank", tmp_path / "b")
    assert refused.returncode == 65
    assert "episode 'e1' is marked validation" in refused.stderr
    assert within("bank", "sft", file, "--bank", tmp_path / "b", "--allow-split", "validation").returncode == 0
