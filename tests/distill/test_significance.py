"""Tests by which skills are called supported: exact sums, cases by hand, and banks from outcomes without meaning."""

from __future__ import annotations

import random
from collections import defaultdict

import msgspec
import numpy as np
import pytest
from scipy import stats

from tests.bank.commands import within
from tests.distill.corpora import cleaning, episode
from tests.distill.test_evidence import cleaning_question
from xskill.bank.skillbank import make_bank
from xskill.distill import significance
from xskill.distill.evidence import gather
from xskill.distill.experience import read_experience
from xskill.distill.lessons import compare, lesson_edits
from xskill.distill.significance import blocks, p_value, q_values, status, upper_tail
from xskill.distill.stage import learn
from xskill.distill.statistical import Limits
from xskill.distill.statistical import distill_experience as distill
from xskill.mine.from_corpus import mine_corpus as mine
from xskill.mine.rules import MineRules
from xskill.records import Parent, Step, Trajectory, decode
from xskill.tree.xtree import XTree


def test_the_tail_by_hand():
    # 2 of 4 drawn, 2 of 4 positive: P(2) = 1/6, P(1) = 4/6; one drawn of two, one positive: 1/2
    numbers = [np.array(column) for column in ([4, 2], [2, 1], [2, 1])]
    assert upper_tail(*numbers, 3) == pytest.approx(1 / 12)
    assert upper_tail(*numbers, 2) == pytest.approx(1 / 12 + 1 / 12 + 4 / 12)
    certain = [np.array(column) for column in ([4, 2, 3, 5, 4], [2, 1, 3, 0, 3], [2, 1, 1, 2, 4])]
    assert upper_tail(*certain, 3 + 1 + 0 + 3) == pytest.approx(1 / 12)  # what is certain says nothing
    assert upper_tail(np.array([3]), np.array([3]), np.array([2]), 2) == 1.0


@pytest.mark.parametrize("seed", range(6))
def test_the_approximation_for_many_strata_is_close(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    totals = rng.integers(2, 13, 400)
    positives, held = rng.binomial(totals, rng.uniform(0.1, 0.9)), rng.binomial(totals, rng.uniform(0.1, 0.9))
    totals[0], positives[0], held[0] = 5000, 2000, 800
    mean = (held * positives / totals).sum()
    deviation = np.sqrt((held * positives * (totals - positives) * (totals - held) / totals**2 / (totals - 1)).sum())
    hits = [int(mean + z * deviation) for z in (-1, 0.6, 1, 2, 4, 6)]
    approximate = [upper_tail(totals, positives, held, n) for n in hits]
    every = int(np.minimum(positives, held).sum())
    best = upper_tail(totals, positives, held, every)
    monkeypatch.setattr(significance, "EXACT", 10**6)
    exact = [upper_tail(totals, positives, held, n) for n in hits]
    assert approximate[0] == pytest.approx(exact[0], rel=0.01)
    assert approximate[1:] == pytest.approx(exact[1:], rel=0.01)
    assert best == pytest.approx(upper_tail(totals, positives, held, every), rel=1e-6, abs=1e-300)


def test_episodes_of_one_question_are_compared_with_each_other():
    """Done in the easy questions and not in the hard ones: within none of them does it make a difference."""
    easy = [
        episode(f"e{q}-{n}", "look; go: sink 1; clean: mug 1, sink 1", True, question=f"e{q}")
        for q in range(10)
        for n in range(4)
    ]
    hard = [
        episode(f"h{q}-{n}", "look; go: shelf 1; look", False, question=f"h{q}") for q in range(10) for n in range(4)
    ]
    experience = read_experience(easy + hard)
    assert p_value(blocks(experience.corpus), np.arange(40), 1) == 1.0
    skills = distill(experience, None).skills
    assert skills
    assert {skill.status for skill in skills} == {"unproven"}
    alone = [msgspec.structs.replace(record, question_id=None) for record in easy + hard]
    clean = next(s for s in distill(read_experience(alone), None).skills if "clean<object>" in s.extra["tokens"])
    assert clean.status == "supported"
    # and where it does: in each of 12 questions the one of four that cleans is the one that succeeds
    mixed = [
        msgspec.structs.replace(easy[0] if n == 0 else hard[0], id=f"m{q}-{n}", question_id=f"m{q}")
        for q in range(12)
        for n in range(4)
    ]
    clean = next(s for s in distill(read_experience(mixed), None).skills if "clean<object>" in s.extra["tokens"])
    assert clean.evidence["p_value"] == pytest.approx(0.25**12)
    assert clean.status == "supported"


def test_one_family():
    p = [[0.01, 0.5], [], [0.04, 0.001, 0.2]]
    first, none, second = q_values(*p)
    assert [*first, *none, *second] == pytest.approx(stats.false_discovery_control([0.01, 0.5, 0.04, 0.001, 0.2]))
    assert [status(0.05), status(0.051), status(None), status(0.01, 0.05), status(0.01, 0.06)] == [
        "supported", "unproven", "unproven", "supported", "unproven",
    ]  # fmt: skip


def test_the_trees_own_permutations_are_heard_about_the_same_episodes():
    experience = read_experience(cleaning(8))
    tree = mine(experience.corpus, MineRules())

    def cleaned(p_adjusted, episodes=experience):
        nodes = tuple(msgspec.structs.replace(node, p_adjusted=p_adjusted) for node in tree.nodes)
        skills = distill(episodes, XTree(tree.header, nodes)).skills
        return next(s for s in skills if s.tier != "mistake" and "clean<object>" in s.extra["tokens"])

    assert "p_adjusted" not in cleaned(None).evidence
    assert (cleaned(0.02).status, cleaned(0.02).evidence["p_adjusted"]) == ("supported", 0.02)
    assert cleaned(0.2).status == "unproven"
    other = cleaned(0.2, read_experience(cleaning(7)))  # the tree speaks of other episodes than these
    assert (other.status, "p_adjusted" in other.evidence) == ("supported", False)


def test_a_lesson_by_hand():
    """In each question one of the two rollouts compared succeeds, and it is the one that went to the sink: p = 1/2."""
    records = [record for n in range(8) for record in cleaning_question(f"q{n}")]
    compared = compare(gather(records))
    assert [lesson.p_value for lesson in compared] == pytest.approx([0.5**8] * len(compared))
    for lesson in compared:
        lesson.q_value = 0.04
    avoid = next(edit.skill for edit in lesson_edits(compared, make_bank([])) if edit.skill.tier == "mistake")
    assert avoid.status == "supported"
    assert [avoid.evidence[name] for name in ("comparisons", "equivalent", "rollouts", "positives", "q_value")] == [
        8, 0, 8, 8, 0.04,
    ]  # fmt: skip
    few = compare(gather(records[:12]))  # four questions
    assert {lesson.p_value for lesson in few} == {None}
    assert {edit.skill.status for edit in lesson_edits(few, make_bank([]))} == {"unproven"}


def test_evidence_that_does_not_say_how_rollouts_ended_is_told_and_not_tested():
    records = [record for n in range(8) for record in cleaning_question(f"q{n}")]
    found = gather(records)
    for first in (None, {}, {"elite": 1, "siblings": []}, {"elite": True, "siblings": [True] * 9}):
        bare = [msgspec.structs.replace(e, extra={**e.extra, "first": first}) for e in found]
        edits = lesson_edits(compare(bare), make_bank([]))
        assert edits
        assert {edit.skill.status for edit in edits} == {"unproven"}
    assert [lesson.p_value for lesson in compare([*found, *found])] == [lesson.p_value for lesson in compare(found)]


# -- outcomes that mean nothing ---------------------------------------------------------------------------------------


def shuffled(records, seed, *, blocks):
    """Outcomes shuffled within task types; ``blocks``: among questions of a size, and then within questions."""
    rng, groups, outcomes = random.Random(seed), defaultdict(list), {}
    questions = defaultdict(list)
    for number, record in enumerate(records):
        questions[record.task_type, record.question_id if blocks else number].append(number)
    for (task_type, _), members in questions.items():
        groups[task_type, len(members)].append(members)
    for members in groups.values():
        given = [[records[number].success for number in question] for question in members]
        rng.shuffle(given)
        for question, values in zip(members, given, strict=True):
            rng.shuffle(values)
            outcomes |= zip(question, values, strict=True)
    return [msgspec.structs.replace(r, success=outcomes[n], reward=None, split=None) for n, r in enumerate(records)]


def most(n):
    """More banks than this with anything supported, each with probability 5%, have a chance below 0.1%."""
    return stats.binom.ppf(0.999, n, 0.05)


def test_banks_from_noise_are_called_supported_no_more_often_than_they_may(sample_data, tmp_path):
    banks = []
    for name, kept, n in (("scienceworld", False, 5), ("scienceworld", True, 5), ("rollouts", True, 8)):
        assert within("canon", sample_data / f"{name}.jsonl.gz", "-q", "-o", tmp_path / name).returncode == 0
        records = [decode(line, Trajectory) for line in (tmp_path / name).read_bytes().splitlines()]
        banks += [learn(shuffled(records, seed, blocks=kept), None, Limits()).distilled for seed in range(n)]
    assert all(len(bank.skills) > 15 for bank in banks)
    assert sum(any(skill.status == "supported" for skill in bank.skills) for bank in banks) <= most(len(banks))


def searched(seed, rate, questions=40):
    """4 chains and 8 branches a question. Actions differ in how usual they are and one ends the episode, none matters;
    questions differ in difficulty, and half of the branches end as their chain does."""
    rng, found = random.Random(seed), []

    def acts(prefix):
        taken = list(prefix)
        while len(taken) < 6 and "stop" not in taken:
            taken.append(rng.choices(["a", "b", "c", "d", "stop"], [10, 5, 2, 1, 2])[0])
        return taken

    def add(name, question, words, success, parent=None):
        steps = [Step(action=word, observation="") for word in words]
        actions = [f"do<{word}>" for word in words]
        found.append(
            Trajectory(
                id=name,
                question_id=question,
                task_type="t",
                actions=actions,
                steps=steps,
                success=success,
                parent=parent,
            )
        )

    for q in range(questions):
        easy = rng.betavariate(2, 2 / rate - 2)
        for c in range(4):
            words, won = acts([]), rng.random() < easy
            add(f"{q}-{c}", f"q{q}", words, won)
            for b in range(2):
                turn = rng.randrange(len(words))
                ended = won if rng.random() < 0.5 else rng.random() < easy
                add(f"{q}-{c}-{b}", f"q{q}", acts(words[:turn]), ended, Parent(id=f"{q}-{c}", turn=turn))
    return found


@pytest.mark.parametrize("rate", [0.15, 0.5])
def test_lessons_from_noise_are_called_supported_no_more_often_than_they_may(rate):
    n, wrong, told = 8, 0, 0
    for seed in range(n):
        learned = learn(searched(seed, rate), None, Limits())
        told += len(learned.lessons)
        wrong += any(edit.skill.status == "supported" for edit in learned.lessons if edit.skill is not None)
    assert told > 5 * n
    assert wrong <= most(n)
