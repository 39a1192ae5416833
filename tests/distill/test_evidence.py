"""Evidence from rollout trees, by hand; and what the teacher makes of it."""

from __future__ import annotations

import json
import random

import msgspec
import pytest

from tests.bank.commands import within
from tests.distill.corpora import episode
from xskill.bank.skillbank import make_bank
from xskill.distill.evidence import gather, of_question
from xskill.distill.lessons import compare, lesson_edits
from xskill.records import Candidate, Step, Trajectory


def rollout(name, text, success, *, reward="same", **more):
    """``a b c`` → one action a word; the observation is the action's upper case."""
    words = text.split()
    return Trajectory(
        id=name,
        question_id="q",
        task_type="t",
        success=success,
        reward=(None if success is None else float(success)) if reward == "same" else reward,
        actions=[f"do<{word}>" for word in words],
        steps=more.pop("steps", [Step(action=word, observation=word.upper()) for word in words]),
        **more,
    )


def test_by_hand():
    # root ─ a ─ b (win, id 1) · a ─ c (lose) · a ─ d ─ e (win, deeper) · x (lose, twice)
    records = [
        rollout("1", "a b", True),
        rollout("2", "a c", False),
        rollout("3", "a d e", True),
        rollout("4", "x", False),
        rollout("5", "x", False),
    ]
    found = of_question("q", records)
    assert [(e.depth, e.verdict, e.prefix) for e in found] == [
        (1, "avoid", []),
        (2, "avoid", ["a"]),
        (2, "equivalent", ["a"]),
    ]
    first, second, third = found
    assert first.elite == Candidate(action="a", q=2 / 3, n=3, outcome=True, completed_by="1")
    assert first.siblings == [Candidate(action="x", q=0.0, n=2, outcome=False, completed_by="4")]
    assert second.siblings == [Candidate(action="c", q=0.0, n=1, outcome=False, completed_by="2")]
    assert third.siblings == [Candidate(action="d", q=1.0, n=1, outcome=True, completed_by="3")]
    assert second.extra["tokens"] == {"prefix": ["do<a>"], "elite": ["do<b>"], "siblings": [["do<c>"]]}
    random.Random(0).shuffle(records)
    assert of_question("q", records) == found


def test_without_a_success_the_best_explored_failure_is_revised():
    records = [
        rollout("1", "a", False, reward=0.2),
        rollout("2", "b", False, reward=0.5),
        rollout("3", "b", False, reward=0.5),
    ]
    (found,) = gather(records)
    assert (found.verdict, found.elite.action, found.elite.completed_by) == ("revise", "b", "2")
    assert found.elite.outcome is False


def test_q_and_n_of_the_search_come_first():
    def searched(name, word, success, q, n):
        return rollout(name, word, success, steps=[Step(action=word, observation="", q=q, visits=n)])

    (found,) = gather([searched("1", "a", True, 0.7, 12), searched("2", "b", False, 0.1, 3)])
    assert (found.elite.q, found.elite.n) == (0.7, 12)
    assert (found.siblings[0].q, found.siblings[0].n) == (0.1, 3)


def test_the_best_failure_is_told_by_what_the_search_saw_of_it():
    """A leaf that the search did not reach was completed straight: its last turns have neither Q nor N."""

    def searched(name, word, q, n):
        steps = [Step(action=word, observation="", q=q, visits=n), Step(action="wait", observation="")]
        return rollout(name, f"{word} wait", False, steps=steps)

    (found,) = gather([searched("1", "a", 0.1, 1), searched("2", "b", 0.9, 9)])
    assert (found.elite.action, found.elite.completed_by) == ("b", "2")


def test_a_sibling_with_unfinished_rollouts_has_not_failed():
    records = [rollout("1", "a", True), rollout("2", "b", False), rollout("3", "b c", None)]
    assert gather(records) == []
    (found,) = gather([*records, rollout("4", "b d", True)])
    assert (found.verdict, found.siblings[0].outcome) == ("equivalent", True)
    (found,) = gather([rollout("1", "a", False, reward=0.5), *records[1:]])
    assert (found.verdict, found.siblings[0].outcome) == ("revise", None)


def test_values_of_credit_are_used():
    (found,) = gather([rollout("1", "a", True, values=[1.5]), rollout("2", "b", False, values=[-0.5])])
    assert (found.elite.q, found.siblings[0].q) == (1.5, -0.5)


def test_observations_of_one_action_are_one_candidate():
    def seen(name, answer, success):
        return rollout(name, "a", success, steps=[Step(action="a", observation=answer)])

    records = [seen("1", "x", True), seen("2", "y", False), seen("3", "y", False), rollout("4", "b", False)]
    (found,) = gather(records)
    assert found.elite.n == 3
    assert found.elite.q == pytest.approx(1 / 3)


def test_parallel_calls_are_one_turn():
    def turn(name, words, success):
        return rollout(name, " ".join(words), success, steps=[Step(action=w, observation="", turn=0) for w in words])

    (found,) = gather([turn("1", ["a", "b"], True), turn("2", ["a", "c"], False)])
    assert (found.depth, found.elite.action, found.siblings[0].action) == (1, "a; b", "a; c")


def test_what_gives_no_evidence():
    assert gather([rollout("1", "a b", True)]) == []  # no siblings
    assert gather([rollout("1", "a", None), rollout("2", "b", None)]) == []  # nothing finished
    (found,) = gather([rollout("1", "a", True), rollout("2", "b", None), rollout("3", "c", False)])
    assert [s.action for s in found.siblings] == ["c"]  # unknown is not failure
    alone = msgspec.structs.replace(rollout("1", "a", True), question_id=None)
    assert gather([alone, rollout("2", "b", False)]) == []


def cleaning_question(name):
    """The paper's example: clean at the sinkbasin, not at the countertop or in the microwave."""

    def branch(suffix, text, success):
        return episode(f"{name}-{suffix}", text, success, question=name, task_type="pick_clean")

    start = "go: shelf 1; take: mug 1, shelf 1"
    return [
        branch("1", f"{start}; go: sink 1; clean: mug 1, sink 1; go: shelf 9; put: mug 1, shelf 9", True),
        branch("2", f"{start}; go: countertop 1; put: mug 1, countertop 1", False),
        branch("3", f"{start}; go: sink 1; go: microwave 1", False),
    ]


def test_the_papers_example():
    records = [record for n in range(3) for record in cleaning_question(f"q{n}")]
    edits = lesson_edits(compare(gather(records)), make_bank([]))
    titles = {edit.skill.title: edit for edit in edits}
    avoid = titles["After this: take an object, do not go to a surface"]
    assert avoid.source == "failure"
    assert avoid.support == 3
    assert avoid.skill.principle.startswith("Go to the sinkbasin instead: in 3 of 3 comparisons")
    assert avoid.skill.evidence["sources"] == ["q0", "q1", "q2"]
    assert "After this: go to the sinkbasin, do not go to the microwave" in titles
    prefer = titles["After this: go to the sinkbasin, clean an object"]
    assert prefer.skill.tier == "task"
    assert prefer.skill.steps == ["Clean an object: `clean mug 1 with sink 1`"]


def test_equal_branches_teach_nothing():
    both = [rollout("1", "a b", True), rollout("2", "a c", True)]
    assert lesson_edits(compare(gather(both)), make_bank([])) == []


def test_what_the_bank_covers_is_not_said_again():
    records = [record for n in range(3) for record in cleaning_question(f"q{n}")]
    edits = lesson_edits(compare(gather(records)), make_bank([]))
    assert edits
    assert lesson_edits(compare(gather(records)), make_bank([edit.skill for edit in edits])) == []


@pytest.fixture(scope="module")
def rollouts(shared, tmp_path_factory):
    file = tmp_path_factory.mktemp("rollouts") / "r.jsonl"
    assert within("canon", shared / "envdata" / "rollouts.jsonl.gz", "-o", file).returncode == 0
    return file


def test_real_rollouts_say_clean_at_the_sinkbasin(rollouts, tmp_path):
    """In the real ALFWorld rollouts the branch that left the sinkbasin without cleaning failed."""
    assert within("distill", rollouts, "--as", "evidence", "-o", tmp_path / "ev.jsonl").returncode == 0
    rows = [json.loads(line) for line in (tmp_path / "ev.jsonl").read_text().splitlines()]
    clean = [
        row
        for row in rows
        if row["extra"].get("task_type") == "pick_clean_then_place_in_recep" and row["verdict"] == "avoid"
        and row["extra"]["tokens"]["elite"] == ["clean<object>"]
    ]  # fmt: skip
    assert [(r["elite"]["action"], [s["action"] for s in r["siblings"]]) for r in clean] == [
        ("clean soapbar 1 with sinkbasin 2", ["go to toilet 1"])
    ]
    (tmp_path / "empty.jsonl").write_bytes(b'{"schema":"xskill.bank/1","version":"e3b0c44298fc1c14"}\n')
    base = ("distill", rollouts, "--bank", tmp_path / "empty.jsonl", "--as", "edits", "--max-new", 99, "-q")
    titles = [json.loads(line)["skill"]["title"] for line in within(*base).stdout.splitlines()]
    assert "After this: go to the sinkbasin, do not go to a surface" in titles


def test_evidence_is_an_input_too(rollouts, tmp_path):
    assert within("distill", rollouts, "--as", "evidence", "-o", tmp_path / "ev.jsonl").returncode == 0
    flat = tmp_path / "flat.jsonl"
    lines = [json.loads(line) for line in rollouts.read_text().splitlines()]
    flat.write_text("".join(json.dumps({k: v for k, v in line.items() if k != "parent"}) + "\n" for line in lines))
    plain = within("distill", flat, "-q").stdout
    taught = within("distill", flat, "--evidence", tmp_path / "ev.jsonl", "-q").stdout
    assert "do not go to a surface" in taught
    assert "do not go to a surface" not in plain
