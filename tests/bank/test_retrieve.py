"""Retrieval against a plain TF-IDF, and the rules around it."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bank.commands import within
from xskill.bank.embed import encoder
from xskill.bank.retrieval import STOP_WORDS, build_index, retrieve
from xskill.bank.similarity import words
from xskill.bank.skillbank import make_bank, write_bank
from xskill.errors import UsageError
from xskill.records import Skill


def skill(name, text, tier="task", task_type=None):
    return Skill(id=name, tier=tier, task_type=task_type, title=text, principle="")


def plain_scores(documents, query):
    """Cosine of TF-IDF vectors, written out term by term."""
    bags = [Counter(w for w in words(d) if w not in STOP_WORDS) for d in documents]
    bag = Counter(w for w in words(query) if w not in STOP_WORDS)
    n = len(documents)

    def vector(counts):
        df = {w: sum(w in b for b in bags) for w in counts}
        return {w: (1 + math.log(c)) * (math.log((1 + n) / (1 + df[w])) + 1) for w, c in counts.items()}

    q = vector(bag)
    scores = []
    for d in map(vector, bags):
        norm = math.sqrt(sum(v * v for v in d.values())) * math.sqrt(sum(v * v for v in q.values()))
        scores.append(sum(value * q.get(word, 0) for word, value in d.items()) / norm if norm else 0.0)
    return scores


VOCABULARY = st.sampled_from(["clean", "apple", "fridge", "heat", "mug", "sink", "the", "lamp", "put"])
TEXT = st.lists(VOCABULARY, min_size=1, max_size=6).map(" ".join)


@given(st.lists(TEXT, min_size=1, max_size=6), TEXT)
@settings(deadline=None, max_examples=80)
def test_lexical_scores_are_the_cosine(documents, query):
    bank = make_bank(skill(f"s{n}", text) for n, text in enumerate(documents))
    hits = retrieve(build_index(bank), query, threshold=-1.0, top=99)
    expected = plain_scores(documents, query)
    assert {hit.skill.id: hit.similarity for hit in hits} == pytest.approx({f"s{n}": s for n, s in enumerate(expected)})
    assert [hit.similarity for hit in hits] == sorted((hit.similarity for hit in hits), reverse=True)


def test_when_not_to_use_a_skill_is_no_reason_to_retrieve_it():
    cool = Skill(
        id="cool", tier="task", title="Cool it", principle="Use the fridge.",
        when_not="Never when you heat an apple with the microwave, and never to heat an egg in the microwave.",
    )  # fmt: skip
    assert retrieve(build_index(make_bank([cool])), "heat an egg with the microwave") == []


BANK = make_bank(
    [
        skill("g1", "always look", "general"),
        skill("g2", "always think", "general"),
        skill("h1", "heat mug microwave", task_type="heat"),
        skill("h2", "open microwave first", task_type="heat"),
        skill("c1", "clean apple sink", task_type="clean"),
        skill("m0", "loops", "mistake"),
        skill("m1", "cold microwave", "mistake", "heat"),
        skill("m2", "dirty sink", "mistake", "clean"),
    ]
)


def ids(*arguments, **options):
    return [hit.skill.id for hit in retrieve(build_index(BANK), *arguments, **options)]


def test_the_type_comes_before_the_words():
    assert ids("clean the apple in the sink", "heat") == ["g1", "g2", "h1", "h2", "c1", "m0", "m1"]
    assert ids("clean the apple in the sink", "heat", threshold=0.99) == ["g1", "g2", "h1", "h2", "m0", "m1"]


def test_without_a_type_the_best_hit_tells_it():
    assert ids("clean apple sink") == ["g1", "g2", "c1", "m0", "m2"]
    assert ids("nothing known here") == ["g1", "g2", "m0"]


def test_top_and_ties_keep_bank_order():
    bank = make_bank(skill(f"s{n:02}", "same words", task_type="t") for n in range(20))
    assert [h.skill.id for h in retrieve(build_index(bank), "same words", top=6)] == [f"s{n:02}" for n in range(6)]
    assert retrieve(build_index(bank), "same words", top=0) == []


def test_budget_keeps_task_skills_first():
    # each skill is one line "- **…** (id): " of 24 to 38 characters: 7 to 10 tokens
    assert ids("clean apple sink", budget=10_000) == ["g1", "g2", "c1", "m0", "m2"]
    assert ids("clean apple sink", budget=9) == ["c1"]
    assert ids("clean apple sink", budget=17) == ["g1", "c1"]
    assert ids("clean apple sink", budget=0) == []


def test_empty_bank():
    assert retrieve(build_index(make_bank([])), "x") == []


def test_embeddings_take_the_place_of_words():
    def encode(texts):
        return np.asarray([[text.count("microwave"), text.count("sink"), 0.0] for text in texts])

    hits = retrieve(build_index(BANK, encode), "sink sink", threshold=0.9)
    assert [hit.skill.id for hit in hits] == ["g1", "g2", "c1", "m0", "m2"]
    assert hits[2].similarity == pytest.approx(1.0)


def test_embed_option_is_checked():
    with pytest.raises(UsageError, match="expected openai:MODEL or local:MODEL"):
        encoder("word2vec")


@pytest.fixture
def bank_file(tmp_path):
    write_bank(str(tmp_path / "bank.jsonl"), BANK)
    return tmp_path / "bank.jsonl"


def test_command_on_one_task(bank_file):
    done = within("bank", "retrieve", "--bank", bank_file, "--task", "heat the mug", "--task-type", "heat")
    assert done.returncode == 0
    sections = [line for line in done.stdout.splitlines() if line.startswith("## ")]
    assert sections == ["## General principles", "## Skills for this kind of task", "## Mistakes to avoid"]
    assert "(h1)" in done.stdout
    assert "(c1)" not in done.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--task", "x", "tasks.jsonl"), "--task TEXT is the one task"),
        (("--task", "x", "--rejects", "r"), "--task TEXT is the one task"),
        (("--task-type", "heat"), "belong to --task"),
        (("--json",), "belong to --task"),
        (("--task", "x", "--base-url", "http://localhost"), "--embed openai:MODEL"),
        (("--task", "x", "--threshold", "nan"), "nan is not a finite number"),
        (("--task", "x", "--threshold", "2"), "--threshold 2"),
    ],
)
def test_options_that_would_be_ignored_are_refused(bank_file, options, told):
    done = within("bank", "retrieve", "--bank", bank_file, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_a_task_that_is_nested_too_deeply_is_a_bad_record(bank_file, tmp_path):
    deep = '{"task_id": "a", "task": "t", "x": ' + "[" * 100_000 + "]" * 100_000 + "}\n"
    (tmp_path / "deep").write_text(deep)
    for name, *options in (
        ["retrieve", tmp_path / "deep"],
        ["evaluate", "--tasks", tmp_path / "deep", "--run", "true {bank} {tasks} {out}"],
    ):
        done = within("bank", name, "--bank", bank_file, *options)
        assert done.returncode == 65
        assert f"{tmp_path}/deep:1: not valid JSON: nested too deeply" in done.stderr.splitlines()[-1]


def test_a_bank_without_a_skill_is_told(tmp_path):
    write_bank(str(tmp_path / "empty.jsonl"), make_bank([]))
    done = within("bank", "retrieve", "--bank", tmp_path / "empty.jsonl", "--task", "x")
    assert done.returncode == 0
    assert "empty.jsonl: the bank holds no skill" in done.stderr
    assert within("bank", "retrieve", "--bank", tmp_path / "empty.jsonl", "--task", "x", "-q").stderr == ""


def test_command_on_a_stream(bank_file):
    tasks = [
        {"task_id": "t1", "task": "clean apple sink", "more": [1]},
        {
            "schema": "xskill.trajectory/1",
            "id": "e",
            "question_id": "q",
            "task": "x",
            "task_type": "heat",
            "actions": [],
        },
    ]
    done = within("bank", "retrieve", "--bank", bank_file, stdin="".join(json.dumps(t) + "\n" for t in tasks))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in rows] == ["t1", "q"]
    assert [[s["id"] for s in row["skills"]] for row in rows] == [
        ["g1", "g2", "c1", "m0", "m2"],
        ["g1", "g2", "h1", "h2", "m0", "m1"],
    ]
    assert rows[0]["tokens"] == -(-len(rows[0]["prompt"]) // 4)
    bad = within("bank", "retrieve", "--bank", bank_file, stdin='{"task_id":"t1"}\n')
    assert bad.returncode == 65
    assert "-:1" in bad.stderr
    assert "task" in bad.stderr


def test_a_bank_is_indexed_where_it_is_not_an_index():
    bank = make_bank([Skill(id="t", tier="task", task_type="clean", title="Clean a mug", principle="At the sink.")])
    assert retrieve(bank, "clean the mug") == retrieve(build_index(bank), "clean the mug") != []
