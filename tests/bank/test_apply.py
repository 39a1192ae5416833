"""Edits: applied, or refused with the reason; never half, never in silence."""

from __future__ import annotations

import itertools
import json

import msgspec
import pytest

from tests.bank.commands import within
from xskill.bank.candidate import Caps, EditFailure, apply_edits, check_outcomes
from xskill.bank.changes import diff
from xskill.bank.skillbank import make_bank, read_bank, write_bank
from xskill.records import Edit, Skill, encode

NO_CAPS = Caps(None, None, None)


def skill(name, title=None, tier="general", task_type=None, sources=(), **more):
    evidence = {"sources": list(sources)} if sources else {}
    text = {"title": title or f"Title of {name}", "principle": f"Principle of {name} alone: {name * 3}"} | more
    return Skill(id=name, tier=tier, task_type=task_type, evidence=evidence, **text)


BANK = make_bank([skill("a", sources=["q1"]), skill("b", "Shared title"), skill("c", "shared  TITLE!", "task", "heat")])


def run(*edits, bank=BANK, caps=NO_CAPS):
    candidate, outcomes = apply_edits(bank, edits, caps)
    return candidate, [outcome.status for outcome in outcomes]


def test_append_replace_delete():
    new = skill("a2", title="Better", sources=["q2"])
    candidate, statuses = run(
        Edit(op="replace", target="a", skill=new), Edit(op="delete", target="c"), Edit(op="append", skill=skill("d"))
    )
    assert statuses == ["applied"] * 3
    assert [s.id for s in candidate.skills] == ["a2", "b", "d"]
    assert candidate.skills[0].evidence["sources"] == ["q1", "q2"]  # it was shaped by both
    assert candidate.header.parent == BANK.version
    assert BANK.skills[0].id == "a"


def test_no_change_is_the_same_bank():
    assert run()[0] is BANK


def test_a_title_is_a_target_when_it_is_unique():
    assert run(Edit(op="delete", target="title of A"))[1] == ["applied"]
    assert run(Edit(op="delete", target="Shared Title"))[1] == ["ambiguous target"]
    assert run(Edit(op="delete", target="nowhere"))[1] == ["missing target"]
    assert run(Edit(op="replace", target="a"), Edit(op="append"), Edit(op="delete"))[1] == ["incomplete"] * 3


def test_failures_win_over_successes_then_support_then_order():
    edits = [
        Edit(op="replace", target="a", skill=skill("a", title="one"), source="success", support=90),
        Edit(op="delete", target="a", source="failure", support=2),
        Edit(op="replace", target="a", skill=skill("a", title="two"), source="failure", support=5),
        Edit(op="replace", target="a", skill=skill("a", title="three"), source="failure", support=5),
    ]
    candidate, statuses = run(*edits)
    assert statuses == ["conflict", "conflict", "applied", "conflict"]
    assert candidate.skills[0].title == "two"


def test_the_same_edit_twice_is_a_duplicate():
    assert run(Edit(op="delete", target="a"), Edit(op="delete", target="a"))[1] == ["applied", "duplicate"]


def test_the_id_of_another_skill_is_a_conflict():
    assert run(Edit(op="replace", target="a", skill=skill("b", title="x")))[1] == ["conflict"]
    assert run(Edit(op="append", skill=skill("a", title="x", principle="wholly other words here")))[1] == ["conflict"]


def test_a_deleted_id_is_free_again():
    edits = [Edit(op="delete", target="a"), Edit(op="append", skill=skill("a", title="x", principle="quite new text"))]
    assert run(*edits)[1] == ["applied", "applied"]


def test_near_duplicates_are_merged_with_their_sources():
    words = "one two three four five six seven eight"
    old = make_bank([skill("x", title="First", principle=words, sources=["q1"])])
    # title and 8 words: 9 tokens; one replaced: 8 common of 10 = .8; two replaced: 7 of 11
    near = skill("y", title="First", principle=words.replace("eight", "nine"), sources=["q2"])
    near = msgspec.structs.replace(near, title="Premier", principle=words)  # 8 common, 10 in all
    candidate, statuses = run(Edit(op="append", skill=near), bank=old)
    assert statuses == ["duplicate"]
    assert [s.evidence["sources"] for s in candidate.skills] == [["q1", "q2"]]
    far = msgspec.structs.replace(near, principle=words.replace("eight", "nine"))
    assert run(Edit(op="append", skill=far), bank=old)[1] == ["applied"]


def test_the_same_title_in_another_type_is_no_duplicate():
    edit = Edit(op="append", skill=skill("d", "shared title", "task", "cool"))
    assert run(edit)[1] == ["applied"]
    assert run(Edit(op="append", skill=skill("d", "shared title", "task", "heat")))[1] == ["duplicate"]


def test_caps_keep_failures_and_support_first():
    edits = [
        Edit(op="append", skill=skill("p"), source="success", support=9),
        Edit(op="append", skill=skill("q"), source="failure", support=1),
        Edit(op="append", skill=skill("r"), source="failure", support=2),
        Edit(op="append", skill=skill("s"), source="success", support=8),
    ]
    candidate, statuses = run(*edits, caps=Caps(3, None, None))
    assert statuses == ["applied", "applied", "applied", "over the cap"]
    assert [s.id for s in candidate.skills][3:] == ["p", "q", "r"]
    assert run(*edits, caps=Caps(None, None, 4))[1] == ["over the cap", "over the cap", "applied", "over the cap"]
    heat = [Edit(op="append", skill=skill(n, tier="task", task_type="heat")) for n in "mn"]
    assert run(*heat, caps=Caps(None, 2, None))[1] == ["applied", "over the cap"]


def test_order_of_edits_decides_only_between_equals():
    edits = [
        Edit(op="append", skill=skill("p"), source="success", support=9),
        Edit(op="append", skill=skill("q"), source="failure", support=1),
        Edit(op="delete", target="a", source="failure", support=3),
        Edit(op="replace", target="a", skill=skill("a", "new"), source="success", support=4),
    ]
    banks = {frozenset(encode(s) for s in run(*order)[0].skills) for order in itertools.permutations(edits)}
    assert len(banks) == 1


def test_check_outcomes_names_what_failed():
    _, outcomes = apply_edits(BANK, [Edit(op="delete", target="a"), Edit(op="delete", target="zz")], NO_CAPS)
    with pytest.raises(EditFailure, match=r"1 of 2 edits failed.*edit 2 \(delete\): missing target.*'zz'"):
        check_outcomes(outcomes)


def test_diff_is_by_id():
    candidate, _ = run(Edit(op="replace", target="a", skill=skill("a", "New")), Edit(op="delete", target="b"))
    found = diff(BANK, candidate)
    assert [s.id for s in found.removed] == ["b"]
    assert [(old.id, parts) for old, _, parts in found.changed] == [("a", ("title",))]
    assert not diff(BANK, make_bank(reversed(BANK.skills)))


def lines(*edits):
    return "".join(encode(edit).decode() + "\n" for edit in edits)


@pytest.fixture
def bank_file(tmp_path):
    write_bank(str(tmp_path / "bank.jsonl"), BANK)
    return tmp_path / "bank.jsonl"


def test_command_applies_and_diff_shows_it(bank_file, tmp_path):
    edits = lines(Edit(op="append", skill=skill("d")), Edit(op="delete", target="b"))
    done = within("bank", "apply", "--bank", bank_file, stdin=edits)
    assert done.returncode == 0
    shown = within("bank", "diff", "--bank", bank_file, stdin=done.stdout)
    assert shown.stdout.splitlines()[1:] == ["+ d [general] Title of d", "- b [general] Shared title"]
    as_json = json.loads(within("bank", "diff", "--bank", bank_file, "--json", stdin=done.stdout).stdout)
    assert [s["id"] for s in as_json["added"]] == ["d"]


def test_command_fails_loudly_and_changes_nothing(bank_file, tmp_path):
    before = bank_file.read_bytes()
    edits = lines(
        Edit(op="append", skill=skill("d")), Edit(op="delete", target="shared title"), Edit(op="delete", target="z")
    )
    done = within("bank", "apply", "--bank", bank_file, "-o", bank_file, "--report", tmp_path / "r.jsonl", stdin=edits)
    assert done.returncode == 65
    assert "'shared title' is the title of b, c; use an id" in done.stderr
    assert "no skill has the id or title 'z'" in done.stderr
    assert bank_file.read_bytes() == before
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [row["status"] for row in rows] == ["applied", "ambiguous target", "missing target"]
    assert rows[2]["record"]["target"] == "z"
    partial = within("bank", "apply", "--bank", bank_file, "-o", bank_file, "--partial", stdin=edits)
    assert partial.returncode == 0
    assert [s.id for s in read_bank(str(bank_file)).skills] == ["a", "b", "c", "d"]
    assert "dropped 2 (1 ambiguous target, 1 missing target)" in partial.stderr


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]", '{"skills": [1]}'])
def test_only_wants_a_report(bank_file, tmp_path, text):
    (tmp_path / "report").write_text(text)
    done = within("bank", "apply", "--bank", bank_file, "--only", tmp_path / "report", stdin="")
    assert done.returncode == 65
    assert "no report of `xskill bank ablate --json`" in done.stderr.splitlines()[-1]


def test_command_only_and_no_edits(bank_file):
    edits = lines(Edit(op="append", skill=skill("d")), Edit(op="append", skill=skill("e")))
    done = within("bank", "apply", "--bank", bank_file, "--only", "e,zz", stdin=edits)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()[1:]] == ["a", "b", "c", "e"]
    empty = within("bank", "apply", "--bank", bank_file, stdin="")
    assert empty.returncode == 0
    assert empty.stdout == bank_file.read_text()
    missing = within("bank", "apply", "--bank", bank_file, bank_file.parent / "no such file")
    assert missing.returncode == 66
    assert missing.stdout == ""
    assert "no such file" in missing.stderr


def test_bad_edit_line_is_named(bank_file):
    done = within("bank", "apply", "--bank", bank_file, stdin='{"schema":"xskill.edit/1","op":"rename"}\n')
    assert done.returncode == 65
    assert done.stderr.startswith("xskill: -:1: op: ")
