"""head, check, schema, stats, filter, split on small streams with known answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command import within
from xskill.errors import UsageError
from xskill.records import Parent, Trajectory
from xskill.verbs.partition import Partition, parse_parts


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def ids(output: bytes) -> list[str]:
    return [json.loads(line)["id"] for line in output.splitlines() if b'"id"' in line]


T = "xskill.trajectory/1"
EPISODES = lines(
    {
        "schema": T,
        "id": "e1",
        "question_id": "q1",
        "task_type": "heat",
        "env": "alf",
        "success": True,
        "actions": ["a", "b", "a"],
    },
    {
        "schema": T,
        "id": "e2",
        "question_id": "q1",
        "task_type": "heat",
        "env": "alf",
        "success": False,
        "actions": ["a"],
    },
    {"schema": T, "id": "e3", "question_id": "q2", "task_type": "cool", "env": "alf", "actions": []},
    {"schema": T, "id": "e4", "success": True, "actions": ["c", "a"], "parent": {"id": "e1", "turn": 1}, "reward": 0.5},
)


def node(id: str, children: list[str], depth: int, expansion: list[str], count: int) -> dict[str, Any]:
    node = {"schema": "xskill.node/1", "id": id, "children": children, "depth": depth, "length": len(expansion)}
    return {**node, "expansion": expansion, "count": count}


TREE = lines(
    {"schema": "xskill.tree/1", "n_nodes": 3},
    node("S0", ["a", "b"], 1, ["a", "b"], 9),
    node("S1", ["c", "c"], 1, ["c", "c"], 5),
    node("S2", ["S0", "c"], 2, ["a", "b", "c"], 4),
)


def test_head_passes_bytes_through() -> None:
    first = EPISODES.splitlines(keepends=True)
    assert within("head", "-n", "2", stdin=EPISODES).stdout.decode() == first[0] + first[1]
    assert within("head", "-n", "0", stdin=EPISODES).stdout == b""
    assert ids(within("head", stdin=EPISODES).stdout) == ["e1", "e2", "e3", "e4"]


def test_head_of_a_tree_is_a_tree() -> None:
    out = within("head", "-n", "2", stdin=TREE.replace('": 3', '":3')).stdout
    assert json.loads(out.splitlines()[0])["n_nodes"] == 2
    assert ids(out) == ["S0", "S1"]
    within("check", stdin=out)


def test_head_reads_no_further_than_it_must(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(EPISODES + "no json at all\n")
    assert ids(within("head", "-n", "4", path).stdout) == ["e1", "e2", "e3", "e4"]
    assert b":5: expected a JSON object" in within("head", "-n", "5", path, check=65).stderr


@pytest.mark.parametrize("cut", [b'{"id":"e5","acti', b'{"id":"e5","extra":{}', b'{"id":"e5","task":"caf\xc3'])
def test_head_tells_a_last_line_that_is_cut(cut: bytes, tmp_path: Path) -> None:
    path, out = tmp_path / "x.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(EPISODES.encode() + cut)
    out.write_text("old")
    done = within("head", path, check=65)
    assert done.stdout.decode() == EPISODES
    assert done.stderr.decode().startswith(f"xskill: {path}:5: not valid JSON: ")
    within("head", path, "-o", out, check=65)
    assert out.read_text() == "old"
    done = within("head", path, "--rejects", tmp_path / "rejects")
    assert done.stdout.decode() == EPISODES
    assert json.loads((tmp_path / "rejects").read_text())["line"] == 5
    assert within("head", "-n", "4", path).stdout.decode() == EPISODES


def test_head_passes_on_a_last_line_without_its_newline() -> None:
    assert within("head", stdin=EPISODES.rstrip("\n")).stdout.decode() == EPISODES


def test_schema_lists_and_prints() -> None:
    assert within("schema").stdout.split()[:3] == [b"trajectory", b"tree", b"node"]
    assert json.loads(within("schema", "node").stdout)["$id"] == "xskill.node/1"
    assert b"one of trajectory" in within("schema", "nodule", check=2).stderr


def test_check_tells_every_bad_record() -> None:
    done = within("check", "--json", stdin=EPISODES + TREE)
    assert json.loads(done.stdout) == {
        "records": 8,
        "good": {"node": 3, "trajectory": 4, "tree": 1},
        "bad": 0,
        "repeated_ids": 0,
        "shared_question_ids": 0,
    }
    bad = (
        EPISODES
        + 'x\n{"id":"e1"}\n{"schema":"xskill.trajectory/1","id":"e1","actions":[]}\n{"schema":"xskill.what/1"}\n'
    )
    done = within("check", "--json", stdin=bad, check=65)
    assert json.loads(done.stdout) == {
        "records": 8,
        "good": {"trajectory": 5},
        "bad": 3,
        "repeated_ids": 1,
        "shared_question_ids": 0,
    }
    told = done.stderr.decode().splitlines()
    assert told[0] == "xskill check: -:5: expected a JSON object"
    assert told[1] == "xskill check: -:6: no `schema` field; name the contract with --as"
    assert told[2] == "xskill check: -:8: unknown contract 'xskill.what/1'; `xskill schema` lists those there are"
    assert "3 of 8 records break their contract" in told[3]


def test_check_names_the_contract_and_the_order_of_a_tree() -> None:
    within("check", "--as", "trajectory", stdin='{"id":"a","actions":[]}\n')
    swapped = "".join(TREE.splitlines(keepends=True)[i] for i in (0, 3, 1, 2))
    assert (
        b"-:2: children[0]: S2 needs S0, which must stand before it" in within("check", stdin=swapped, check=65).stderr
    )
    cut = "".join(TREE.splitlines(keepends=True)[:3])
    assert b"promises 3 nodes, 2 follow" in within("check", stdin=cut, check=65).stderr


def test_stats_counts() -> None:
    report = json.loads(within("stats", "--json", stdin=EPISODES).stdout)
    assert report["episodes"] == 4
    assert report["steps"] == 6
    assert report["branches"] == 1
    assert report["questions"] == 2
    assert report["outcomes"] == {"successes": 2, "failures": 1, "unknown": 1}
    assert report["success_rate"] == pytest.approx(2 / 3)
    assert report["lengths"] == {"min": 0, "q25": 0, "median": 1, "q75": 2, "max": 3}
    assert report["task_types"]["heat"] == {
        "episodes": 2,
        "successes": 1,
        "failures": 1,
        "unknown": 0,
        "success_rate": 0.5,
    }
    assert report["tokens"] == {"a": 4, "b": 1, "c": 1}
    text = within("stats", stdin=EPISODES).stdout.decode()
    assert "2 successes (67% of those with an outcome), 1 failures, 1 unknown" in text


@pytest.mark.parametrize(
    ("expression", "kept"),
    [
        ("success", ["e1", "e4"]),
        ("not success", ["e2"]),
        ("success is null", ["e3"]),
        ("success and n_steps < 3", ["e4"]),
        ("task_type = 'heat' or reward > 0.4", ["e1", "e2", "e4"]),
        ("id in ('e2', 'e3')", ["e2", "e3"]),
        ("id like 'e%' and env is not null", ["e1", "e2", "e3"]),
        ("true", ["e1", "e2", "e3", "e4"]),
    ],
)
def test_filter(expression: str, kept: list[str]) -> None:
    assert ids(within("filter", expression, stdin=EPISODES).stdout) == kept


def test_filter_invert_and_errors() -> None:
    assert ids(within("filter", "-v", "success", stdin=EPISODES).stdout) == ["e2", "e3"]
    assert (
        b"no column 'sucess'; there are id, question_id" in within("filter", "sucess", stdin=EPISODES, check=2).stderr
    )
    assert b"not an SQL expression" in within("filter", "success and (", stdin=EPISODES, check=2).stderr
    assert b"not true or false" in within("filter", "n_steps + 1", stdin=EPISODES, check=2).stderr


@pytest.mark.parametrize(
    "expression",
    [
        "count(*) > 1",
        "sum(reward) > 1",
        "reward > avg(reward)",
        "row_number() over (order by id) < 3",
        "reward > lag(reward) over (order by id)",
        "rank() over (order by id) > 1",
        "quantile_cont(reward, 0.5) > 1",
        "corr(reward, coverage) > 0",
        "count(distinct id) > 1",
        "first(id) = 'a'",
        "unnest(actions) = 'a'",
        "success and not (max(n_steps) < 3)",
    ],
)
def test_filter_judges_each_record_by_itself(expression: str) -> None:
    """Over batches of a stream, an aggregate or a window would be that of the batch."""
    done = within("filter", expression, stdin=EPISODES, check=2)
    assert b"counts or compares over many records; each is judged by itself" in done.stderr
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("expression", "kept"),
    [
        ("upper(id) = 'E1' or id = 'Len' or task_type = 'Agg'", ["e1"]),
        ("actions[1] = 'a' and array_length(actions) = 3", ["e1"]),
        ("coalesce(reward, 1) > 0.7 and greatest(n_steps, 1) = 1", ["e2", "e3"]),
        ("case when success then n_steps > 2 else false end", ["e1"]),
        ("parent.turn = 1", ["e4"]),
    ],
)
def test_functions_of_one_record_are_fine(expression: str, kept: list[str]) -> None:
    assert ids(within("filter", expression, stdin=EPISODES).stdout) == kept


def test_filter_says_how_to_look_into_json_text() -> None:
    done = within("filter", "extra.x = 1", stdin=EPISODES, check=2)
    assert b"extra is JSON text here: extra like '%\"NAME\":VALUE%'" in done.stderr
    line = '{"id":"a","actions":[],"extra":{"x":1}}\n{"id":"b","actions":[],"extra":{"x":2}}\n'
    assert ids(within("filter", "extra like '%\"x\":1%'", stdin=line).stdout) == ["a"]


def test_part_of_a_tree_does_not_keep_what_all_of_it_did() -> None:
    """The header's ``symbols`` are what the whole tree makes of the corpus: `2.1x shorter`."""
    header = {"schema": "xskill.tree/1", "n_nodes": 3, "stats": {"steps": 40, "symbols": 20, "base_rate": 0.5}}
    tree = json.dumps(header) + "\n" + TREE.split("\n", 1)[1]

    def stats(*words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(within(*words, stdin=tree).stdout.splitlines()[0])["stats"]
        return found

    assert stats("filter", "true") == stats("head") == header["stats"]
    assert stats("filter", "count = 4") == stats("head", "-n", "2") == {"steps": 40, "base_rate": 0.5}


def test_filter_cannot_reach_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    done = within("filter", f"id in (select a from read_csv('{secret}'))", stdin=EPISODES, check=None)
    assert done.returncode == 2
    assert done.stdout == b""


def test_filter_of_a_tree_keeps_the_descendants() -> None:
    out = within("filter", "count = 4", stdin=TREE).stdout
    assert ids(out) == ["S0", "S2"]
    assert json.loads(out.splitlines()[0])["n_nodes"] == 2
    within("check", stdin=out)


def test_filter_from_and_to_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    within("filter", "true", "-o", path, stdin=EPISODES)
    assert ids(within("filter", "success", path).stdout) == ["e1", "e4"]
    assert within("filter", "true", path).stdout == within("filter", "true", stdin=EPISODES).stdout


def test_split_keeps_questions_together_and_says_the_counts() -> None:
    done = within("split", "--parts", "train=0.5,test=0.5", stdin=EPISODES)
    parts = {json.loads(line)["id"]: json.loads(line)["split"] for line in done.stdout.splitlines()}
    assert parts["e1"] == parts["e2"]
    assert set(parts.values()) <= {"train", "test"}
    assert b"train " in done.stderr


def test_split_into_files(tmp_path: Path) -> None:
    within("split", "--parts", "train=0.5,test=0.5", "--into", tmp_path, stdin=EPISODES)
    found = ids((tmp_path / "train.jsonl").read_bytes()) + ids((tmp_path / "test.jsonl").read_bytes())
    assert sorted(found) == ["e1", "e2", "e3", "e4"]


@given(
    st.lists(st.text(max_size=5), unique=True, max_size=30),
    st.lists(st.text(max_size=5), max_size=30),
    st.integers(0, 3),
)
def test_adding_episodes_moves_none(old: list[str], new: list[str], seed: int) -> None:
    def parts(keys: list[str]) -> dict[str, str | None]:
        partition = Partition("id", {"train": 0.6, "test": 0.4}, seed)
        return {key: next(partition.place(Trajectory(id=key, actions=[]))).split for key in keys}

    before, after = parts(old), parts([*new, *reversed(old)])
    assert all(after[key] == before[key] for key in old)


def test_shares_are_met_and_seeds_differ() -> None:
    records = [Trajectory(id=str(i), actions=[], extra={"game": i % 1000}) for i in range(4000)]
    partition = Partition("extra.game", parse_parts("train=0.7,evolve=0.1,validation=0.1,test=0.1"), 0)
    placed = [next(partition.place(record)).split for record in records]
    assert partition.counts["train"] == pytest.approx(2800, abs=200)  # 3.5 standard deviations of 1,000 games
    assert placed[:1000] == placed[1000:2000]
    other = Partition("extra.game", parse_parts("train=0.7,evolve=0.1,validation=0.1,test=0.1"), 1)
    assert [next(other.place(record)).split for record in records] != placed


def branch(name: str, parent: str, **fields: Any) -> Trajectory:
    return Trajectory(id=name, actions=["x"], parent=Parent(id=parent, turn=1), **fields)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_rollout_tree_never_lies_in_two_parts(backwards: bool) -> None:
    """Chains of branches of branches, the root with a question and without, in either order."""
    records: list[Trajectory] = []
    for tree in range(40):
        question = f"q{tree}" if tree % 2 else None
        records.append(Trajectory(id=f"{tree}.0", question_id=question, actions=[]))
        records += [branch(f"{tree}.{i + 1}", f"{tree}.{i}") for i in range(5)]
    partition = Partition("question_id", {"train": 0.5, "test": 0.5}, 0)
    placed = [one for record in (records[::-1] if backwards else records) for one in partition.place(record)]
    placed += partition.rest()
    parts: dict[str, set[str | None]] = {}
    for record in placed:
        parts.setdefault(record.id.split(".")[0], set()).add(record.split)
    assert len(placed) == len(records)
    assert all(len(found) == 1 for found in parts.values())
    assert set().union(*parts.values()) == {"train", "test"}


def test_orphans_go_together_by_their_oldest_known_ancestor() -> None:
    partition = Partition("question_id", {"train": 0.5, "test": 0.5}, 0)
    lost = [branch(f"b{i}", "gone") for i in range(5)] + [branch("c", "b0")]
    assert [one for record in lost for one in partition.place(record)] == []
    placed = {record.id: record.split for record in partition.rest()}
    assert set(placed) == {record.id for record in lost}
    assert len(set(placed.values())) == 1
    assert list(partition.cyclic()) == []


@pytest.mark.parametrize("command", ["check", "split", "mine"])
def test_parent_links_in_a_circle_are_bad_records(command: str, tmp_path: Path) -> None:
    """A good tree; two branches of each other, with one below them; a branch of its own."""
    parents = {"a": None, "b": "a", "x": "y", "y": "x", "z": "x", "self": "self"}
    links = {name: None if parent is None else {"id": parent, "turn": 1} for name, parent in parents.items()}
    path = tmp_path / "cycles.jsonl"
    records = [{"schema": T, "id": name, "actions": ["go", "go"], "parent": link} for name, link in links.items()]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    error = within(command, path, check=65).stderr.decode()
    assert "cycles.jsonl:3: parent.id: the parent links above 'x' form a cycle" in error
    rejects = tmp_path / "rejects.jsonl"
    done = within(command, path, "--rejects", rejects, check=65 if command == "check" else 0)
    assert sorted(json.loads(line)["line"] for line in rejects.read_text().splitlines()) == [3, 4, 5, 6]
    if command == "split":
        assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["a", "b"]


def test_a_kept_split_holds_for_the_branches_too() -> None:
    partition = Partition("question_id", {"train": 0.5, "test": 0.5}, 0, keep=True)
    for split in ("test", "train"):
        (root,) = partition.place(Trajectory(id=split, actions=[], split=split))  # type: ignore[arg-type]
        assert root.split == split
        (grown,) = partition.place(branch(f"b{split}", split))
        assert grown.split == split


@pytest.mark.parametrize(
    "text",
    [
        "train=0.5",
        "train=0.5,tset=0.5",
        "train=x,test=0.5",
        "train=0,test=1",
        "train=1.5,test=-0.5",
        "train=.5,train=.5",
    ],
)
def test_bad_parts(text: str) -> None:
    with pytest.raises(UsageError):
        parse_parts(text)


def test_shares_that_nearly_sum_to_one_are_shown_in_full() -> None:
    with pytest.raises(UsageError, match=r"sum to 1\.000001, not 1"):
        parse_parts("train=0.5,test=0.500001")


def test_split_makes_the_folder_and_does_not_ignore_the_output(tmp_path: Path) -> None:
    within("split", "--parts", "train=1", "--into", tmp_path / "new" / "folder", stdin=EPISODES)
    assert (tmp_path / "new/folder/train.jsonl").read_bytes().count(b"\n") == 4
    done = within("split", "--into", tmp_path, "-o", tmp_path / "x", stdin=EPISODES, check=2)
    assert b"give one of the two" in done.stderr


def test_head_to_parquet_and_its_rejects(tmp_path: Path) -> None:
    within("head", "-n", "2", "-o", tmp_path / "h.parquet", stdin=TREE)
    assert json.loads(within("check", "--json", tmp_path / "h.parquet").stdout)["good"] == {"node": 2, "tree": 1}
    done = within("head", "-n", "2", "--rejects", tmp_path / "r", stdin="nope\n" + EPISODES)
    assert ids(done.stdout) == ["e1", "e2"]
    assert json.loads((tmp_path / "r").read_text())["raw"] == "nope"


def test_check_writes_its_report_and_rejects(tmp_path: Path) -> None:
    done = within("check", "-o", tmp_path / "report", "--rejects", tmp_path / "r", stdin=EPISODES + "nope\n", check=65)
    assert done.stdout == b""
    assert (tmp_path / "report").read_text() == "5 records; good: trajectory 4; bad: 1\n"
    assert json.loads((tmp_path / "r").read_text())["line"] == 5


def test_a_field_that_no_record_has_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"schema": "xskill.trajectory/1", "id": "a", "actions": ["x"]}\n')
    assert b"no record has extra.typo" in within("split", "--by", "extra.typo", path).stderr
    assert b"no record has" not in within("split", path).stderr


def test_a_tree_behind_trajectories_is_another_stream(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    tree = '{"schema": "xskill.tree/1", "n_nodes": 0}'
    path.write_text('{"schema": "xskill.trajectory/1", "id": "a", "actions": ["x"]}\n' + tree + "\n")
    assert (
        b"x.jsonl:2: a tree (xskill.tree/1); filter reads trajectories"
        in within("filter", "true", path, check=65).stderr
    )
    done = within("filter", "true", path, "--rejects", tmp_path / "bad")
    assert b"read 2; kept 1; rejected 1" in done.stderr
