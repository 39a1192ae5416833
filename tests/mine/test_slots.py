"""Patterns: variables, constants, top values, by hand."""

from __future__ import annotations

from xskill.mine.corpus import encode_episodes
from xskill.mine.rules import Rules
from xskill.mine.trees import mine
from xskill.records import Episode, Node


def routine(*args: list[list[str]], tokens: list[str], **fields: object) -> Node:
    """The longest node of a corpus whose episodes all do ``tokens``, with the args given for each."""
    episodes = [
        Episode(id=f"{number:04d}", actions=tokens, args=values, success=True) for number, values in enumerate(args)
    ]
    tree = mine(encode_episodes(episodes), Rules(min_frequency=2, eta=0.0, **fields))  # type: ignore[arg-type]
    return max(tree.nodes, key=lambda node: node.length)


MEASURE = ["take<instrument>", "focus<instrument>", "measure<substance>"]


def test_the_thermometer_is_one_variable() -> None:
    node = routine(
        *([[f"thermometer {n}"], [f"thermometer {n}"], [f"thermometer {n}", f"metal {n % 3}"]] for n in range(20)),
        tokens=MEASURE,
    )
    assert node.pattern == "take<instrument>(?a) → focus<instrument>(?a) → measure<substance>(?a, ?b)"
    assert node.slots is not None
    assert [slot.variable for slot in node.slots] == ["a", "a", "a", "b"]
    assert [(slot.step, slot.index) for slot in node.slots] == [(0, 0), (1, 0), (2, 0), (2, 1)]
    assert node.slots[3].values == [("metal 0", 7), ("metal 1", 7), ("metal 2", 6)]


def test_a_constant_is_written_out_from_95_percent_on() -> None:
    def pots(n_other: int) -> str | None:
        values = [[["bowl" if n < n_other else "pot"], ["stove"]] for n in range(100)]
        return routine(*values, tokens=["take<x>", "put<y>"]).pattern

    assert pots(5) == "take<x>(pot) → put<y>(stove)"
    assert pots(6) == "take<x>(?a) → put<y>(stove)"


def test_variables_are_shared_from_95_percent_on() -> None:
    def same(n_other: int) -> str | None:
        values = [[[f"v{n % 7}"], ["other" if n < n_other else f"v{n % 7}"]] for n in range(100)]
        return routine(*values, tokens=["take<x>", "put<y>"]).pattern

    assert same(5) == "take<x>(?a) → put<y>(?a)"
    assert same(6) == "take<x>(?a) → put<y>(?b)"


def test_an_argument_that_is_mostly_missing_is_no_slot() -> None:
    values = [[["a"] if n < 9 else [], [f"{n}"]] for n in range(20)]
    assert routine(*values, tokens=["list", "open<file>"]).pattern == "list → open<file>(?a)"


def test_without_arguments_the_pattern_is_the_expansion() -> None:
    node = routine([[], []], [[], []], tokens=["a<b>", "c<d>"])
    assert node.pattern == "a<b> → c<d>"
    assert node.slots is None


def test_example_is_the_smallest_success_with_its_slots() -> None:
    tokens = ["take<x>", "put<y>"]
    episodes = [
        Episode(id="0", actions=tokens, args=[["a"], []], success=False),
        Episode(id="1", actions=tokens, args=[["c", "d"], []], success=True),
        Episode(id="2", actions=tokens, args=[["b"], ["z"]], success=True),
        Episode(id="3", actions=tokens, args=[["b"], ["y"]], success=True),
        Episode(id="4", actions=tokens, args=None, success=None),
    ]
    tree = mine(encode_episodes(episodes), Rules(min_frequency=2, eta=0.0))
    assert tree.nodes[0].example == ["take<x>(b)", "put<y>(y)"]
    failures = mine(encode_episodes(episodes), Rules(min_frequency=2, eta=0.0, outcome="failure"))
    assert failures.nodes[0].example == ["take<x>(a)", "put<y>"]
