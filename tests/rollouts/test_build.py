"""Rollout trees: the trie against a plain one, parent links, turns of several steps, and the summary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.command import within
from tests.credit.make import gather, questions
from xskill.errors import BadData
from xskill.rollouts.prefix_tree import build, check_links, origin, root_ancestor, summary


def step(action: str, observation: str | None = "", **more: Any) -> dict[str, Any]:
    return {"action": action, "observation": observation, **more}


def rollout(name: str, actions: str, reward: float | None = 1.0, parent: Any = None, question: str = "q") -> Any:
    link = {"id": parent[0], "turn": parent[1]} if parent else None
    return {
        "schema": "xskill.trajectory/1",
        "id": name,
        "question_id": question,
        "reward": reward,
        "parent": link,
        "actions": list(actions),
        "steps": [step(action) for action in actions],
    }


def write(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@settings(max_examples=200, deadline=None)
@given(questions(), questions())
def test_a_node_is_a_prefix(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> None:
    records = first + [{**record, "question_id": "other"} for record in second]
    rollouts, trie = gather(records)
    prefixes: dict[Any, list[int]] = {}
    actions: dict[Any, set[int]] = {}
    for i, record in enumerate(records):
        path: tuple[Any, ...] = (record["question_id"],)
        for t, one in enumerate(record["steps"]):
            turn = int(rollouts.turn_start[i]) + t
            node = int(trie.node[turn])
            actions.setdefault((path, one["action"]), set()).add(int(trie.group[node]))
            parent, path = path, (*path, (one["action"], one.get("observation")))
            prefixes.setdefault(path, []).append(node)
            expected = int(trie.node[turn - 1]) if t else int(rollouts.question[i])
            assert trie.parent[node] == expected
            assert trie.depth[node] == t + 1
            assert trie.group_parent[trie.group[node]] == expected
            assert parent == path[:-1]
        assert trie.end[i] == (prefixes[path][-1] if record["steps"] else rollouts.question[i])
    nodes = [set(members) for members in prefixes.values()]
    assert all(len(members) == 1 for members in nodes)  # equal prefixes are one node
    assert len(set().union(*nodes)) == len(prefixes)  # different prefixes are different nodes
    assert trie.n_nodes == len(prefixes) + 2
    for path, members in prefixes.items():
        assert trie.shared[members[0]] == len(members), path
    assert all(len(groups) == 1 for groups in actions.values())
    assert len(set().union(*actions.values())) == trie.n_groups == len(actions)
    assert (trie.parent[2:] < np.arange(2, trie.n_nodes)).all()
    questions_of = {int(node): path[0] for path, members in prefixes.items() for node in members}
    assert all(rollouts.questions[trie.question[node]] == name for node, name in questions_of.items())


def test_a_turn_of_several_steps_is_one_node() -> None:
    """Parallel calls: two rollouts share the turn (a, b) though a third took a alone and a fourth b, a."""
    made = []
    for name, turns in {"r1": ["ab", "c"], "r2": ["ab", "d"], "r3": ["a", "b"], "r4": ["ba", "c"]}.items():
        steps = [step(action, turn=index) for index, turn in enumerate(turns) for action in turn]
        made.append({"id": name, "question_id": "q", "reward": 0, "steps": steps})
    rollouts, trie = gather(made)
    assert rollouts.lengths.tolist() == [2, 2, 2, 2]
    first = trie.node[rollouts.turn_start[:-1]]
    assert first[0] == first[1]
    assert len(set(first.tolist())) == 3
    assert rollouts.turn_of_step.tolist() == [0, 0, 1, 2, 2, 3, 4, 5, 6, 6, 7]


def test_steps_without_a_turn_index_are_turns_of_their_own() -> None:
    steps = [step("a", turn=3), step("b", turn=3), step("c"), step("d"), step("e", turn=None), step("f", turn=0)]
    rollouts, _ = gather([{"id": "r", "question_id": "q", "steps": steps}])
    assert rollouts.turn_of_step.tolist() == [0, 0, 1, 2, 3, 4]


def test_identity_keeps_equal_siblings_apart() -> None:
    """r1 and r2 generated the same turn b; with the turn of origin as identity, the copies of r0 stay shared."""
    records = [rollout("r0", "abc"), rollout("r1", "ab", parent=("r0", 1)), rollout("r2", "ab", parent=("r0", 1))]
    rollouts, merged = gather(records)
    assert merged.n_nodes - 1 == 3
    apart = build(rollouts, origin(rollouts))
    assert apart.n_nodes - 1 == 5  # a, then b three times, c
    assert apart.node[0] == apart.node[3] == apart.node[5]


def test_origin_climbs_to_the_trajectory_that_generated_the_turn() -> None:
    records = [rollout("r0", "abc"), rollout("r1", "abd", parent=("r0", 2)), rollout("r2", "abe", parent=("r1", 1))]
    rollouts, _ = gather(records)
    assert origin(rollouts).tolist() == [0, 1, 2, 0, 1, 5, 0, 7, 8]
    assert root_ancestor(rollouts).tolist() == [0, 0, 0]


def test_parent_links_in_a_circle_are_an_error() -> None:
    rollouts, _ = gather([rollout("a", "x", parent=("b", 0)), rollout("b", "x", parent=("a", 0))])
    with pytest.raises(BadData, match="cycle"):
        root_ancestor(rollouts)


def test_a_parent_link_that_leads_into_a_circle_is_a_bad_link() -> None:
    """c stands below the circle of a and b; d names itself; f stands before its parent and is good."""
    parents = {"a": "b", "b": "a", "c": "a", "d": "d", "f": "e"}
    records = [rollout(name, "x", parent=(parent, 0)) for name, parent in parents.items()]
    bad = check_links(*gather([*records, rollout("e", "x")]))
    assert sorted(bad) == [0, 1, 2, 3]
    assert str(bad[2]) == "test.jsonl:3: parent.id: the parent links above 'c' form a cycle"


@pytest.mark.parametrize("command", [("credit",), ("rollout", "build"), ("rollout", "check"), ("rollout", "show")])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_commands_refuse_parent_links_in_a_circle(command: tuple[str, ...], kind: str, tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", [rollout("a", "xy", parent=("b", 1)), rollout("b", "xz", parent=("a", 1))])
    if kind == "parquet":
        within("filter", "reward >= 0", path, "-o", tmp_path / "r.parquet")
        path = tmp_path / "r.parquet"
    error = within(*command, path, check=65).stderr.decode()
    assert f"r.{kind}:1: parent.id: the parent links above 'a' form a cycle" in error


def test_a_prefix_that_differs_names_the_first_differing_turn() -> None:
    records = [rollout("r0", "abc"), rollout("r1", "abd", parent=("r0", 2)), rollout("r2", "xbd", parent=("r0", 2))]
    records[1]["steps"][1]["observation"] = "other"
    rollouts, trie = gather(records)
    bad = check_links(rollouts, trie)
    assert {i: error.reason for i, error in bad.items()} == {
        1: "2, but turn 1 differs from the parent 'r0': observation 'other', the parent's ''",
        2: "2, but turn 0 differs from the parent 'r0': action 'x', the parent's 'a'",
    }
    assert str(bad[1]).startswith("test.jsonl:2: parent.turn: ")


def test_a_branch_longer_than_its_parent_or_shorter_than_its_prefix_is_an_error() -> None:
    records = [rollout("r0", "ab"), rollout("r1", "abcd", parent=("r0", 3)), rollout("r2", "a", parent=("r0", 2))]
    bad = check_links(*gather(records))
    assert bad[1].reason == "3, but the parent 'r0' has 2 turns"
    assert bad[2].reason == "2, but the trajectory has 1 turns"


def test_a_branch_may_repeat_its_parent_and_orphans_are_kept() -> None:
    records = [rollout("r0", "ab"), rollout("r1", "ab", parent=("r0", 2)), rollout("r2", "ax", parent=("gone", 1))]
    rollouts, trie = gather(records)
    assert check_links(rollouts, trie) == {}
    found = summary(rollouts, trie)
    assert (found["orphans"], found["duplicates"], found["leaves"], found["nodes"]) == (1, 1, 2, 3)


def test_cost_is_in_full_rollouts() -> None:
    """4 rollouts of 4 turns and from each two branches at turn 2: 4 + 8/2 = 8 full rollouts."""
    records = [rollout(f"r{i}", f"{i}bcd") for i in range(4)]
    records += [rollout(f"r{i}.{b}", f"{i}b{b}d", parent=(f"r{i}", 2)) for i in range(4) for b in range(2)]
    rollouts, trie = gather(records)
    found = summary(rollouts, trie)
    assert found["cost"] == 8
    assert (found["depth"], found["branch_points"], found["branching"]) == (4, 5, 3.2)


def test_select_makes_orphans_of_the_branches_of_what_is_left_out() -> None:
    records = [rollout("r0", "abc"), rollout("r1", "abd", parent=("r0", 2)), rollout("r2", "z")]
    rollouts, _ = gather(records)
    left = rollouts.select(np.array([False, True, True]))
    assert left.parent.tolist() == [-2, -1]
    assert left.ids == ["r1", "r2"]
    again, trie = gather([rollout("r1", "abd", parent=("r0", 2)), rollout("r2", "z")])
    assert build(left).parent.tolist() == trie.parent.tolist()
    assert left.turn_start.tolist() == again.turn_start.tolist()
    assert left.first_step.tolist() == again.first_step.tolist()


@given(st.integers(2, 3000))
@settings(max_examples=5, deadline=None)
def test_a_deep_shared_prefix_is_no_recursion(depth: int) -> None:
    records = [rollout("r0", "a" * depth), rollout("r1", "a" * depth + "b")]
    _, trie = gather(records)
    assert trie.n_nodes == depth + 2


def test_build_command_writes_each_shared_turn_once(tmp_path: Path) -> None:
    records = [rollout("r0", "abc"), rollout("r1", "abd", 0.0, ("r0", 2)), rollout("r2", "ab", None, ("r0", 2))]
    path = write(tmp_path / "r.jsonl", records)
    done = within("rollout", "build", path)
    nodes = [json.loads(line) for line in done.stdout.splitlines()]
    assert [node["node"] for node in nodes] == [0, 1, 2, 3, 4]
    assert [node.get("parent") for node in nodes] == [None, 0, 1, 2, 2]
    assert [[one["action"] for one in node.get("steps", [])] for node in nodes] == [[], ["a"], ["b"], ["c"], ["d"]]
    assert nodes[2]["trajectories"] == ["r0", "r1", "r2"]
    assert nodes[2]["ended"] == ["r2"]
    assert (nodes[2]["finished"], nodes[2]["reward"]) == (2, 0.5)
    assert within("check", "-", stdin=done.stdout).returncode == 0
    found = json.loads(within("rollout", "build", path, "--json").stdout)
    assert (found["turns"], found["nodes"], found["unfinished"]) == (8, 4, 1)


def test_a_bad_link_stops_the_run_or_goes_to_the_rejects(tmp_path: Path) -> None:
    """r2's parent is the bad r1: it becomes an orphan and stays."""
    records = [rollout("r0", "abc"), rollout("r1", "xb", parent=("r0", 1)), rollout("r2", "xbz", parent=("r1", 2))]
    path = write(tmp_path / "r.jsonl", records)
    done = within("rollout", "build", path, check=65)
    assert b"r.jsonl:2: parent.turn: 1, but turn 0 differs from the parent 'r0': action 'x'" in done.stderr
    rejects = tmp_path / "bad.jsonl"
    found = json.loads(within("rollout", "build", path, "--json", "--rejects", rejects).stdout)
    assert (found["trajectories"], found["orphans"]) == (2, 1)
    (row,) = map(json.loads, rejects.read_text().splitlines())
    assert (row["line"], row["reason"][:14]) == (2, "parent.turn: 1")


def test_parquet_and_jsonl_give_the_same_tree(tmp_path: Path) -> None:
    records = [rollout("r0", "abc"), rollout("r1", "abd", 0.0, ("r0", 2)), rollout("r2", "", 1.0)]
    records[0]["steps"][0] |= {"logprob": [-0.5, -0.25], "extra": {"mask": [1, 0]}}
    records[1]["steps"][0] |= {"logprob": -0.5, "n_tokens": 1}
    path = write(tmp_path / "r.jsonl", records)
    within("filter", "true", path, "-o", tmp_path / "r.parquet")
    one = within("rollout", "build", path).stdout
    assert within("rollout", "build", tmp_path / "r.parquet").stdout == one


def test_a_file_that_changes_between_its_two_readings_is_an_error(tmp_path: Path) -> None:
    from xskill.rollouts.load import read_rollouts
    from xskill.rollouts.original_records import original_lines
    from xskill.streams.run import Run

    path = write(tmp_path / "r.jsonl", [rollout("r0", "abc"), rollout("r1", "abd")])
    rollouts, _, originals = read_rollouts([str(path)], Run("test", quiet=True), keep=True)
    assert list(original_lines(originals, rollouts.place)) == path.read_bytes().splitlines()
    assert list(original_lines(originals, rollouts.place)) == path.read_bytes().splitlines()  # as often as one likes
    write(path, [rollout("r0", "abc"), rollout("r1", "xyz"), rollout("r2", "d")])
    with pytest.raises(BadData, match="changed while it was read"):
        list(original_lines(originals, rollouts.place))


def test_lines_and_parquet_of_one_question_in_one_run(tmp_path: Path) -> None:
    records = [rollout("r0", "abc"), rollout("r1", "abd", 0.0, ("r0", 2)), rollout("r2", "ax"), rollout("r3", "y")]
    whole = write(tmp_path / "all.jsonl", records)
    one = write(tmp_path / "one.jsonl", records[:1])
    three = write(tmp_path / "three.jsonl", records[3:])
    within("filter", "true", write(tmp_path / "two.jsonl", records[1:3]), "-o", tmp_path / "two.parquet")
    mixed, expected = (
        [{key: cell for key, cell in json.loads(line).items() if cell is not None} for line in done.stdout.splitlines()]
        for done in (within("credit", one, tmp_path / "two.parquet", three), within("credit", whole))
    )
    assert mixed == expected
