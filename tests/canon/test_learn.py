"""Learned profiles: known grammars are found again, the profile loads, nothing of an action is lost."""

from __future__ import annotations

import gzip
import json
import random
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xskill.canon.actions.canonicalizer import Canonicalizer
from xskill.canon.actions.learn_profile import Learner
from xskill.canon.actions.profile import Profile, load_profile, parse_profile
from xskill.canon.actions.templates import mine_templates

FRUIT = ["apple", "pear", "dried plum", "ripe blood orange", "fig"]
PLACES = ["kitchen", "living room", "cellar", "garden shed", "attic"]


def kitchen_actions() -> Counter[str]:
    """Actions of a made-up kitchen: names of one to three words, with and without numbers."""
    actions: Counter[str] = Counter({"look around": 40, "rest": 3})
    for number, fruit in enumerate(FRUIT):
        actions[f"eat {fruit}"] += 1 + number
        for place in PLACES:
            actions[f"carry {fruit} to {place}"] += 1
            actions[f"cut {fruit} {number} with knife {number} in {place}"] += 1
    for place in PLACES:
        actions[f"walk to {place}"] += 10
    return actions


def learned(counts: Counter[str]) -> tuple[str, Profile]:
    learner = Learner()
    for raw, count in counts.items():
        learner.add(raw, count=count)
    text = learner.toml()
    return text, parse_profile(text, "learned.toml")


def vocabulary(profile: Profile, counts: Counter[str]) -> tuple[set[str], int, int]:
    """Tokens; steps that the profile did not know; raw actions that share token and args with another one."""
    canonicalizer = Canonicalizer(profile)
    results = {raw: canonicalizer.action(raw) for raw in counts}
    shared = Counter((token, args) for token, args, _ in results.values())
    lost = sum(number for number in shared.values() if number > 1)
    unknown = sum(counts[raw] for raw, result in results.items() if not result[2])
    return {token for token, _, _ in results.values()}, unknown, lost


def put_together(rules: list[dict[str, Any]], token: str, args: tuple[str, ...]) -> str | None:
    """The raw action from token and args alone, by the rules of the profile; None for a call."""
    (rule,) = [rule for rule in rules if rule["verb"] == token.partition("<")[0]]
    if "match" not in rule:
        return None
    template: str = rule["match"].replace(":number", "")
    values = dict(zip(rule.get("args", []), args, strict=True))
    return re.sub(r"\{([a-h])\}", lambda slot: values[slot[1]], template)


def test_the_templates_of_a_known_grammar_are_found() -> None:
    templates = {" ".join(piece or "*" for piece in t.pieces): t.count for t in mine_templates(kitchen_actions())}
    assert templates == {
        "look around": 40,
        "rest": 3,
        "eat *": 15,
        "walk to *": 50,
        "carry * to *": 25,
        "cut * with * in *": 25,
    }


def test_slots_hold_whole_names_and_their_counts() -> None:
    (carry,) = [t for t in mine_templates(kitchen_actions()) if t.pieces[0] == "carry"]
    assert carry.values == [Counter(dict.fromkeys(FRUIT, 5)), Counter(dict.fromkeys(PLACES, 5))]


def test_a_frequent_value_becomes_a_role_and_the_rest_is_other() -> None:
    counts = Counter({f"open drawer {n}": 1 for n in range(30)})
    counts.update({"open fridge 1": 50, "open safe 2": 40, "open tin": 1})
    text, profile = learned(counts)
    canonicalizer = Canonicalizer(profile)
    assert canonicalizer.action("open fridge 1") == ("open<fridge>", ("fridge 1",), True)
    assert canonicalizer.action("open drawer 99") == ("open<drawer>", ("drawer 99",), True)
    assert canonicalizer.action("open tin") == ("open<other>", ("tin",), True)
    assert 'roles = { fridge = ["fridge"], safe = ["safe"], drawer = ["drawer"] }' in text


def test_leading_words_are_literal_when_many_things_follow_them() -> None:
    counts = Counter({f"open door to room{n}x": 3 for n in range(12)})
    counts.update({f"open {thing}": 1 for thing in ["cupboard", "freezer", "fridge", "oven", "jar"]})
    assert [" ".join(piece or "*" for piece in t.pieces) for t in mine_templates(counts)] == [
        "open door to *",
        "open *",
    ]


def test_calls_and_brackets_and_numbers_have_their_own_forms() -> None:
    counts = Counter(
        {"search[red shoes]": 3, "search[blue hat]": 2, "fill('12', 'x')": 4, "fill('13', 'y')": 4, "7": 2, "12": 1}
    )
    _, profile = learned(counts)
    canonicalizer = Canonicalizer(profile)
    assert canonicalizer.action("search[green bag]") == ("search<other>", ("green bag",), True)
    assert canonicalizer.action("fill('99', 'a, b')") == ("fill", ("99", "a, b"), True)
    assert canonicalizer.action("3") == ("choose", ("3",), True)


def test_calls_and_commands_need_no_learning() -> None:
    learner = Learner()
    learner.add('get_user({"id":"1"})', "call")
    learner.add("ls -la", "command")
    learner.add("look", "action")
    assert (learner.others, dict(learner.counts)) == (2, {"look": 1})
    canonicalizer = Canonicalizer(parse_profile(learner.toml(), "learned.toml"))
    assert canonicalizer.action('get_user({"id":"1"})', kind="call")[0] == "get<user>"
    assert canonicalizer.action("ls -la", kind="command")[0] == "ls"


def test_the_order_of_the_actions_does_not_matter() -> None:
    rows = list(kitchen_actions().elements())
    texts = set()
    for seed in range(5):
        random.Random(seed).shuffle(rows)
        learner, other = Learner(), Learner()
        for position, raw in enumerate(rows):
            (learner if position % 3 else other).add(raw)
        learner.update(other)
        texts.add(learner.toml())
    assert len(texts) == 1


def test_a_learned_profile_is_written_for_people(tmp_path: Path) -> None:
    text, _ = learned(kitchen_actions())
    assert text.startswith("# Learned from 158 actions, 62 different ones: 6 templates.\n")
    assert "# 25 times, 25 different: carry apple to attic · carry apple to cellar" in text
    assert "#   {b}: attic 5 · cellar 5" in text
    file = tmp_path / "mine.toml"
    file.write_text(text.replace('verb = "walk to"', 'verb = "navigate"'), encoding="utf-8")
    assert Canonicalizer(load_profile(str(file))).action("walk to cellar")[0] == "navigate<cellar>"


def test_nothing_to_learn_gives_a_profile_that_loads() -> None:
    text, profile = learned(Counter())
    assert "0 templates" in text
    assert Canonicalizer(profile).action("look")[2] is False


actions = st.lists(
    st.lists(
        st.sampled_from(
            ["go", "Take", "to", "with", "red", "box", "3", "é", '"', "\\", "#x", "[a]", "(b)", "\x7f", "'"]
        ),
        min_size=1,
        max_size=6,
    ).map(" ".join)
    | st.text(max_size=30),
    max_size=25,
)


@settings(max_examples=200, deadline=None)
@given(raws=actions)
@example(raws=["go to x", "go to y", "go to to to z", "go with red with box"])
@example(raws=["a{b}", "x[1] [2]", "7", "-3.5", "go \x7f", 'say "x"'])
def test_any_actions_give_a_profile_that_loads_and_loses_nothing(raws: list[str]) -> None:
    learner = Learner()
    for raw in raws:
        learner.add(raw)
    text = learner.toml()
    rules = tomllib.loads(text).get("rule", [])
    canonicalizer = Canonicalizer(parse_profile(text, "learned.toml"))
    for raw in learner.counts:
        token, args, matched = canonicalizer.action(raw)
        if not raw or not any(map(str.isalnum, raw.split()[0])) or "{" in raw or "}" in raw:
            continue  # no template is promised
        assert matched, raw
        again = put_together(rules, token, args)
        assert again is None or again.casefold() == raw.casefold()


@pytest.mark.parametrize(("environment", "largest"), [("scienceworld", 125), ("alfworld", 46)])
def test_fewer_tokens_than_the_generic_rule_at_no_loss_on_real_episodes(
    shared: Path, environment: str, largest: int
) -> None:
    """Equal information: the raw action follows from token and args, up to white space and case."""
    counts: Counter[str] = Counter()
    for name in (environment, "rollouts"):
        with gzip.open(shared / "envdata" / f"{name}.jsonl.gz") as lines:
            for line in lines:
                episode = json.loads(line)
                if episode["env"] == environment:
                    counts.update(step["action"] for step in episode["steps"])
    text, profile = learned(counts)
    tokens, unknown, lost = vocabulary(profile, counts)
    generic_tokens, _, generic_lost = vocabulary(load_profile("generic"), counts)
    assert (unknown, lost) == (0, 0)
    assert generic_lost >= 0
    assert len(tokens) <= largest < len(generic_tokens) / 4
    canonicalizer = Canonicalizer(profile)
    rules = tomllib.loads(text)["rule"]
    for raw in counts:
        token, args, _ = canonicalizer.action(raw)
        assert put_together(rules, token, args) == raw


def test_what_was_learned_on_some_episodes_holds_for_others(shared: Path) -> None:
    """Learned on the ScienceWorld episodes of one file, applied to the rollouts of other tasks in another."""
    counts: dict[str, Counter[str]] = {}
    for name in ("scienceworld", "rollouts"):
        with gzip.open(shared / "envdata" / f"{name}.jsonl.gz") as lines:
            episodes = [episode for line in lines if (episode := json.loads(line))["env"] == "scienceworld"]
            counts[name] = Counter(step["action"] for episode in episodes for step in episode["steps"])
    _, profile = learned(counts["scienceworld"])
    _, unknown, lost = vocabulary(profile, counts["rollouts"])
    assert unknown == 0
    assert lost == 0
