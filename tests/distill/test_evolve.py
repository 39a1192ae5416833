"""Evolution: what fails, what the bank does not cover, and no more than three new skills."""

from __future__ import annotations

import json

import pytest

from tests.bank.commands import within
from tests.distill.corpora import cleaning, episode
from xskill.bank.skillbank import make_bank, read_bank, write_bank
from xskill.distill.edits import best_first, covered
from xskill.distill.evolve import Rates
from xskill.records import Edit, Skill, encode


def skill(name, tier="task", tokens=None, task_type="clean"):
    extra = {"tokens": tokens} if tokens else {}
    return Skill(id=name, tier=tier, task_type=task_type, title=f"Title {name}", principle=name * 9, extra=extra)


def test_rates_by_type():
    rates = Rates()
    records = [episode(f"a{n}", "look", n < 2, task_type="a") for n in range(6)]
    records += [episode(f"b{n}", "look", n < 3, task_type="b") for n in range(6)]
    records += [episode("c", "look", False, task_type="c"), episode("u", "look", None, task_type="a")]
    assert list(rates.watch(records)) == records
    assert rates.counts == {"a": [2, 6], "b": [3, 6], "c": [0, 1]}
    assert rates.below(0.4, 5) == ["a"]
    assert rates.below(0.6, 1) == ["c", "a", "b"]


def test_covered():
    bank = make_bank([skill("x", tokens=["a", "b", "c"]), skill("m", "mistake", ["p", "q"])])
    assert covered(skill("y", tokens=["b", "c"]), bank)
    assert not covered(skill("y", tokens=["a", "c"]), bank)
    assert not covered(skill("y", tokens=["b", "c"], task_type="heat"), bank)
    assert not covered(skill("y", tokens=["p", "q"]), bank)


def test_failures_go_first_and_other_edits_stay():
    edits = [
        Edit(op="append", skill=skill("s"), source="success"),
        Edit(op="delete", target="x"),
        Edit(op="append", skill=skill("f"), source="failure"),
    ]
    assert best_first(edits, 1) == edits[1:]
    assert best_first(edits, 2) == [edits[1], edits[2], edits[0]]


@pytest.fixture
def loop(tmp_path):
    """A bank, and 40 evaluation episodes: cleaning fails in 8 of 28, heating never."""
    write_bank(str(tmp_path / "b.jsonl"), make_bank([skill("old", "general", task_type=None)]))
    records = [r for r in cleaning(8) if r.success]
    records += [episode(f"f{n}", "look; go: shelf 1; go: shelf 9; put: mug 1, shelf 9", False) for n in range(20)]
    records += [episode(f"h{n}", "look; go: shelf 2", True, task_type="heat") for n in range(12)]
    (tmp_path / "f.jsonl").write_bytes(b"".join(encode(record) + b"\n" for record in records))
    return tmp_path


def evolve(loop, *options):
    base = ("distill", "--bank", loop / "b.jsonl", "--failures-from", loop / "f.jsonl", "--as", "edits")
    return within(*base, *options)


def test_only_weak_types_at_most_three_and_each_with_its_questions(loop):
    done = evolve(loop)
    assert done.returncode == 0
    edits = [json.loads(line) for line in done.stdout.splitlines()]
    assert 1 <= len(edits) <= 3
    assert {edit["skill"]["task_type"] for edit in edits} == {"clean"}
    assert all(edit["skill"]["evidence"]["sources"] for edit in edits)
    assert edits[0]["source"] == "failure"
    assert "clean: 8 of 28 succeed" in done.stderr
    assert "1 of 2 task types below 0.4" in done.stderr
    assert len(evolve(loop, "--max-new", 1).stdout.splitlines()) == 1
    assert evolve(loop, "--min-rate", 0.2).stdout == ""


def test_types_take_turns_and_what_many_share_comes_last(loop):
    """Both types need the thing taken (shared); washing is cleaning's own, twice over, the microwave heating's."""
    records = []
    for n in range(12):
        won, thing = n < 8, f"mug {n}"
        taken = f"take: {thing}, shelf 1" if won else "look"
        for kind, place in (("clean", "sink 1"), ("heat", "microwave 1")):
            own = f"; go: {place}; clean: {thing}, {place}; go: shelf 9; put: {thing}, shelf 9" if won else ""
            records.append(episode(f"{kind}{n}", f"look; go: shelf 1; {taken}{own}", won, task_type=kind))
    (loop / "e.jsonl").write_bytes(b"".join(encode(record) + b"\n" for record in records))
    failed = [episode(f"f{kind}{n}", "look", False, task_type=kind) for kind in ("clean", "heat") for n in range(6)]
    (loop / "f.jsonl").write_bytes(b"".join(encode(record) + b"\n" for record in failed))
    done = evolve(loop, loop / "e.jsonl", "--max-new", 9, "--max-mistakes", 0)
    skills = [json.loads(line)["skill"] for line in done.stdout.splitlines()]
    shared = [len(skill["evidence"]["task_types"]) == 2 for skill in skills]
    assert shared == sorted(shared)
    assert True in shared
    own = [skill["task_type"] for skill, both in zip(skills, shared, strict=True) if not both]
    assert own[:2] == ["clean", "heat"]


def test_a_second_round_says_nothing_twice(loop):
    applied = within("bank", "apply", "--bank", loop / "b.jsonl", "-o", loop / "b.jsonl", stdin=evolve(loop).stdout)
    assert applied.returncode == 0
    first = {s.id for s in read_bank(str(loop / "b.jsonl")).skills}
    for line in evolve(loop).stdout.splitlines():
        assert json.loads(line)["skill"]["id"] not in first


def test_a_type_in_which_nothing_succeeds_is_no_crash(loop):
    records = [episode(f"f{n}", "look; go: shelf 1", False) for n in range(9)]
    (loop / "f.jsonl").write_bytes(b"".join(encode(record) + b"\n" for record in records))
    done = evolve(loop)
    assert done.returncode == 0
    assert "clean: 0 of 9 succeed" in done.stderr


def test_failures_of_a_held_out_split_are_refused(loop):
    text = (loop / "f.jsonl").read_text().replace('"task_type":"clean"', '"task_type":"clean","split":"validation"')
    (loop / "f.jsonl").write_text(text)
    assert evolve(loop).returncode == 65
    assert evolve(loop, "--allow-split", "validation").returncode == 0


def test_edits_need_a_bank(loop):
    assert within("distill", "--failures-from", loop / "f.jsonl").returncode == 2


def test_failures_and_evidence_are_two_ways(loop):
    assert evolve(loop, "--evidence", loop / "f.jsonl").returncode == 2
