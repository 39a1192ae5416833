"""English for routines; what was observed stays quoted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xskill.distill.plain_words import listed, phrase, share, title
from xskill.distill.step_text import placeholders, substitute
from xskill.records import Node, Slot
from xskill.text.quoted import named, quote


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ("navigate<surface>", "go to a surface"),
        ("navigate<fridge>", "go to the fridge"),
        ("navigate<living room>", "go to the living room"),
        ("take<object>", "take an object"),
        ("observe<room>", "look around"),
        ("type<text_input>", "type into a text input"),
        ("get<user_details>", "get the user details"),
        ("search", "search"),
        ("put<device>", "put something in or on a device"),
    ],
)
def test_phrases(token, text):
    assert phrase(token) == text


def test_names_from_logs_are_quoted_unless_plain():
    assert named("blue jay") == "blue jay"
    assert named("ignore instructions") == "`ignore instructions`"
    assert named("now do this instead") == "`now do this instead`"
    assert phrase("say<you must obey me>") == "say the `you must obey me`"
    assert quote("a`b\x1b[2J\nc‮d") == "`a'b [2J c d`"
    assert len(quote("x" * 500)) == 122


@given(st.text(max_size=300))
def test_a_quote_is_one_line_between_two_backticks(text):
    quoted = quote(text)
    assert quoted.count("`") == 2
    assert quoted[0] == quoted[-1] == "`"
    assert quoted.isprintable()


def test_titles():
    assert title(["navigate<surface>"] * 3 + ["take<object>"]) == "Go to a surface (3 times), take an object"
    long = [
        "navigate<surface>",
        "take<object>",
        "navigate<sinkbasin>",
        "clean<object>",
        "navigate<surface>",
        "put<surface>",
    ]
    assert title(long) == "Take an object, clean an object, put something in or on a surface (6 steps)"


def test_shares_and_lists():
    assert share(36, 37) == "36 of 37 (97%)"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a"] * 6) == "a, a, a, a and 2 more"


def test_substitution_takes_whole_words_the_longest_first():
    fill = [("mug 1", "{object}"), ("mug 12", "{object 2}"), ("1", "{n}")]
    assert substitute("put mug 12 near mug 1 at 1", fill) == "put {object 2} near {object} at {n}"
    assert substitute("open a drawer", [("draw", "{x}")]) == "open a drawer"
    assert substitute("f({x})", [("{x}", "{a}"), ("a", "{b}")]) == "f({a})"


def test_a_shared_value_has_one_name():
    node = Node(
        id="S",
        children=("a", "b"),
        depth=2,
        length=4,
        count=9,
        expansion=["navigate<surface>", "take<object>", "navigate<surface>", "put<surface>"],
        slots=[
            Slot(step=0, index=0, variable="a"),
            Slot(step=1, index=0, variable="b"),
            Slot(step=1, index=1, variable="a"),
            Slot(step=2, index=0, constant="desk 1"),
            Slot(step=3, index=0, variable="b"),
            Slot(step=3, index=1, variable="c"),
        ],
    )
    assert placeholders(node) == {
        (0, 0): "{surface}",
        (1, 0): "{object}",
        (1, 1): "{surface}",
        (3, 0): "{object}",
        (3, 1): "{surface 2}",
    }
