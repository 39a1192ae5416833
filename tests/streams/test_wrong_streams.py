"""Streams that are not what a command reads: told in one line, with what they are and what to do, in any container."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from tests.command import within
from xskill.records import (
    BankHeader,
    CreditsHeader,
    Gold,
    Instance,
    Message,
    Node,
    Record,
    Skill,
    Step,
    Trajectory,
    TreeHeader,
    TurnCredit,
)
from xskill.sampling.questions import read_tasks
from xskill.streams.parquet.columns import misfit, schema_of
from xskill.streams.parquet.reading_child import SCHEMA_KEY
from xskill.streams.run import Run
from xskill.streams.write import open_output

EPISODE = Trajectory(
    id="e", question_id="q", reward=1.0, actions=["x", "y"], steps=[Step(action="x", logprob=-0.5), Step(action="y")]
)
NODE = Node(id="S0", children=("x", "y"), depth=1, length=2, expansion=["x", "y"], count=3)
SKILL = Skill(id="s", tier="task", title="t", principle="p")
INSTANCE = Instance(
    id="i",
    length=1,
    episode="e",
    start=0,
    turn=0,
    prompt=[Message(role="user", content="c")],
    gold=Gold(actions=["x"], tokens=["x"], kinds=["action"]),
)
TURN = TurnCredit(id="e", question_id="q", turn=0, step=0, action="x", credit=0.5)
STREAMS: dict[str, tuple[Record | None, Record]] = {
    "trajectories": (None, EPISODE),
    "tree": (TreeHeader(n_nodes=1), NODE),
    "bank": (BankHeader(version="v"), SKILL),
    "instances": (None, INSTANCE),
    "turns": (CreditsHeader(method="treeopsd"), TURN),
}


def write(path: Path, header: Record | None, *records: Record, kind: Any = None) -> Path:
    with open_output(str(path), kind=kind or type(records[0])) as out:
        if header is not None:
            out.header(header)
        for record in records:
            out.write(record)
    return path


def one_line(error: bytes) -> str:
    (line,) = error.decode().splitlines()
    return line


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize("name", STREAMS)
def test_check_filter_and_head_read_every_stream(name: str, ending: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"x.{ending}", *STREAMS[name])
    n = 2 if STREAMS[name][0] is not None else 1
    assert json.loads(within("check", "--json", path).stdout)["records"] == n
    lines = within("filter", "true", path).stdout
    assert len(lines.splitlines()) == n
    assert within("head", path).stdout == lines
    if ending == "parquet":
        again = tmp_path / "again.parquet"
        within("head", path, "-o", again)
        assert within("head", again).stdout == lines


READERS = {
    **dict.fromkeys(["credit", "split", "distill", "mine", "stats", "rollout show", "rollout build"], "canon"),
    "tree tile --tree T": "canon",
    "tree instances --tree T": "canon",
    "tree reward --tree T": "canon",
    "tree show": "mine",
    "bank show": "distill",
}


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize("words", READERS)
def test_another_stream_is_named_with_a_remedy(words: str, ending: str, tmp_path: Path) -> None:
    tree = write(tmp_path / "tree.jsonl", *STREAMS["tree"])
    other = "instances" if READERS[words] != "canon" else "bank"
    path = write(tmp_path / f"x.{ending}", *STREAMS[other])
    done = within(*words.replace("T", str(tree)).split() if "--tree" in words else words.split(), path, check=65)
    line = one_line(done.stderr)
    assert line.startswith(f"xskill: {path}")
    assert "(xskill.instance/1); " in line or "a skill (xskill.skill/1); " in line or "(xskill.bank/1); " in line
    assert line.endswith(f"with `xskill {READERS[words]}`")
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"schema":"xskill.trajectory/9","id":"a","actions":[]}',
            ":1: a trajectory of version 9 (xskill.trajectory/9); this xskill reads version 1: upgrade it",
        ),
        (
            '{"schema":"xskill.trajectory/1","id":"a","acti',
            ":1: not valid JSON: the line ends in the middle of a value",
        ),
        ('{"id":"a","acti', ":1: not valid JSON: the line ends in the middle of a value"),
        ('{\n "id": "a"\n}', ":1: one JSON object over several lines"),
        ('{"schema":3}', ":1: schema: expected a string, got 3"),
    ],
)
@pytest.mark.parametrize("words", ["filter true", "check"])
def test_what_is_no_stream_is_said_to_be_what_it_is(words: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    assert f"{path}{message}" in within(*words.split(), path, check=65).stderr.decode()


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("nodes", [[], [{"id": "S0"}]])
@pytest.mark.parametrize("words", ["filter true", "check", "head", "mine", "split", "stats", "credit", "bank show"])
def test_a_tree_in_the_authors_form_is_sent_where_it_is_read(
    words: str, nodes: list[Any], indent: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "x.json"
    value = {"environment": "E", "n_primitives": 2, "n_nodes": len(nodes), "config": {}, "nodes": nodes}
    path.write_text(json.dumps(value, indent=indent))
    assert (
        b"a tree in the authors' form, one JSON object; `xskill tree`" in within(*words.split(), path, check=65).stderr
    )
    if not nodes:
        assert b"0 nodes" in within("tree", "show", path).stdout


def test_a_pretty_printed_list_is_one_bad_record(tmp_path: Path) -> None:
    path, rejects = tmp_path / "x.json", tmp_path / "rejects"
    path.write_text('[\n {"id": "a", "actions": []}\n]\n')
    for words in ("check", "head", "mine", "credit"):
        error = within(*words.split(), path, check=65).stderr.decode()
        assert f"{path}:1: a JSON list over several lines; a stream has one record a line (`jq -c '.[]'`" in error
    within("stats", path, "--rejects", rejects, check=65)
    assert json.loads(rejects.read_text())["line"] == 1


@pytest.mark.parametrize("words", ["split", "filter true", "check", "stats", "mine", "tree tile --tree T"])
def test_rows_without_schema_are_trajectories_in_every_command(words: str, tmp_path: Path) -> None:
    tree = write(tmp_path / "tree.jsonl", *STREAMS["tree"])
    line = [str(tree) if word == "T" else word for word in words.split()]
    path = tmp_path / "x.parquet"
    pl.DataFrame({"id": ["a"], "actions": [["x"]]}).write_parquet(path)
    within(*line, stdin='{"id":"a","actions":["x"]}\n')
    within(*line, path)


@pytest.mark.parametrize("words", ["split", "filter true", "check", "stats", "mine", "head", "credit", "rollout show"])
@pytest.mark.parametrize("form", ["empty.jsonl", "list.json", "empty.parquet"])
def test_nothing_is_66_in_every_form(words: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / form
    if form.endswith("parquet"):
        write(path, None, kind=Trajectory)
    else:
        path.write_text("[]\n" if form.startswith("list") else "")
    assert one_line(within(*words.split(), path, check=66).stderr) == f"xskill: {path}: no record in the input"


@pytest.mark.parametrize("words", ["gate N R", "gate R N", "tree reward --tree T H", "bank retrieve -q --bank B H"])
def test_nothing_is_66_beside_other_inputs_and_behind_a_header(words: str, tmp_path: Path) -> None:
    names = {"T": "tree", "B": "bank"}
    paths = {word: str(write(tmp_path / word, *STREAMS[name])) for word, name in names.items()}
    texts = {"N": "", "R": '{"task_id":"t","metrics":{"success":true},"schema":"xskill.result/1"}\n'}
    for word, text in {**texts, "H": '{"schema":"xskill.credits/1","method":"grpo"}\n'}.items():
        paths[word] = str(tmp_path / word)
        (tmp_path / word).write_text(text)
    nothing = paths["N" if "N" in words else "H"]
    done = within(*(paths.get(word, word) for word in words.split()), check=66)
    assert one_line(done.stderr) == f"xskill: {nothing}: no record in the input"


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_tree_without_nodes_is_a_tree(ending: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"x.{ending}", TreeHeader(n_nodes=0), kind=Node)
    for words in ("check", "filter true", "head", "tree show", "tree stats"):
        assert within(*words.split(), path).stdout
    out = tmp_path / "out.parquet"
    within("filter", "true", path, "-o", out)
    assert b'"n_nodes":0' in within("head", out).stdout


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("reward", float("nan"), ["split", "filter true", "check", "credit"]),
        ("steps[0].logprob", float("inf"), ["head", "rollout build"]),
    ],
)
def test_nan_in_our_parquet_is_a_bad_record(field: str, value: float, words: list[str], tmp_path: Path) -> None:
    path, rejects = tmp_path / "x.parquet", tmp_path / "rejects"
    other = Trajectory(id="o", question_id="q", reward=0.0, actions=["x"], steps=[Step(action="x", logprob=value)])
    if field == "reward":
        other = Trajectory(id="o", question_id="q", reward=value, actions=["x"], steps=[Step(action="x")])
    write(path, None, EPISODE, other)
    for line in words:
        done = within(*line.split(), path, check=65)
        assert f"{path}:2: {field}: expected a finite number or null, got {value}" in done.stderr.decode()
    done = within("credit", path, "--rejects", rejects)
    assert b"read 2; kept 1; rejected 1" in done.stderr
    assert json.loads(rejects.read_text())["line"] == 2


def test_columns_of_another_type_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    frame = pl.read_parquet(write(path, None, EPISODE))
    for name, column in {"steps": pl.lit("x"), "actions": pl.lit(3), "success": pl.lit("yes")}.items():
        frame.with_columns(column.alias(name)).write_parquet(path)
        for words in ("split", "credit"):
            assert f"{path}: the column '{name}' is " in one_line(within(*words.split(), path, check=65).stderr)


def test_columns_that_can_hold_the_values_fit() -> None:
    ours = schema_of(Trajectory)
    assert misfit(ours, Trajectory) is None
    assert misfit({**ours, "reward": pl.Int32, "task": pl.Categorical, "env": pl.Null}, Trajectory) is None
    assert (
        misfit({**ours, "parent": pl.Struct({"id": pl.String, "turn": pl.UInt8, "new": pl.Date})}, Trajectory) is None
    )
    assert misfit({**ours, "parent": pl.Struct({"id": pl.Int64})}, Trajectory) is not None


@pytest.mark.parametrize("words", ["filter true", "head -n 9"])
def test_a_stream_holds_one_tree(words: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", *STREAMS["tree"])
    assert (
        b"a second tree begins; a stream holds one: give one at a time"
        in within(*words.split(), path, path, check=65).stderr
    )
    both = tmp_path / "both.jsonl"
    both.write_bytes(path.read_bytes() * 2)
    assert b"both.jsonl:3: a second tree begins" in within("check", both, check=65).stderr
    assert b"both.jsonl:3: a second tree begins" in within("tree", "show", both, check=65).stderr
    within("check", path, path)


BAD_NODES = {
    "depth: expected 1": {"depth": 4},
    "length: expected 2": {"length": 9},
    "expansion: expected ['x', 'y']": {"expansion": ["x", "z"]},
    "success: expected a number of at most 1, got 7.5": {"success": 7.5},
    "count: expected an integer of at least 0, got -5": {"count": -5},
    "p_value: expected a number of at most 1, got 9": {"p_value": 9},
    "episodes_success: expected at most 2, the episodes, got 3": {"episodes": 2, "episodes_success": 3},
    "tiles_success: expected at most 1, the tiles, got 2": {"tiles": 1, "tiles_success": 2},
}


@pytest.mark.parametrize("message", BAD_NODES)
def test_check_refuses_the_trees_that_show_refuses(message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", *STREAMS["tree"])
    header, node = path.read_text().splitlines()
    path.write_text(f"{header}\n{json.dumps({**json.loads(node), **BAD_NODES[message]})}\n")
    for words in ("check", "tree show"):
        error = within(*words.split(), path, check=65).stderr.decode()
        assert f"{path}:2: " in error
        assert message in error


def test_nodes_without_a_header_are_no_tree(tmp_path: Path) -> None:
    message = "a node of a tree (xskill.node/1); expected a tree (xskill.tree/1): make one with `xskill mine`"
    path, good = tmp_path / "x.jsonl", write(tmp_path / "good.jsonl", *STREAMS["tree"])
    header, node = good.read_text().splitlines()
    other = node.replace("S0", "S1").replace('"length":2', '"length":9')
    path.write_text(f"{node}\n{other}\n")
    assert one_line(within("tree", "show", path, check=65).stderr) == f"xskill: {path}:1: {message}"
    done = within("check", "--json", path, check=65)
    assert done.stderr.decode().splitlines()[:2] == [
        f"xskill check: {path}:1: {message}",
        f"xskill check: {path}:2: length: expected 2, the sum of the children, got 9",
    ]
    assert json.loads(done.stdout) == {"records": 2, "good": {}, "bad": 2, "repeated_ids": 0, "shared_question_ids": 0}
    path.write_text(header.replace(":1", ":-1") + f"\n{node}\n")
    assert message not in within("check", path, check=65).stderr.decode()  # its header is bad, but there
    within("check", "--as", "node", stdin=node.replace('"schema":"xskill.node/1",', ""))
    for words in (["head", "-n", "0"], ["filter", "false"], ["filter", "true"]):
        out = tmp_path / "out.jsonl"
        within(*words, good, "-o", out)
        within("check", out)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("parent", {"id": "a", "turn": -1}, "parent.turn: expected an integer of at least 0, got -1"),
        ("parent", {"id": "a", "turn": 99}, "parent.turn: expected 0 to 1, the number of actions, got 99"),
        ("args", [["a"], ["b"]], "args: expected 1 entries, one an action, got 2"),
        ("steps", [], "steps: expected 1 entries, one an action, got 0"),
    ],
)
def test_no_stage_reads_what_is_not_aligned(field: str, value: object, message: str, tmp_path: Path) -> None:
    tree = str(write(tmp_path / "T", *STREAMS["tree"]))
    line = json.dumps({"id": "b", "actions": ["x"], field: value})
    readers = ["check", "split", "tree tile --tree T", "tree reward --tree T"]
    for words in readers if field == "steps" else [*readers, "mine", "stats"]:
        command = [tree if word == "T" else word for word in words.split()]
        assert f"-:1: {message}\n" in within(*command, stdin=line, check=65).stderr.decode()


MIXED = '{"id":"a","actions":["x"]}\nnope\n{"id":1,"actions":[]}\n{"id":"b","task":"t","actions":["x","y"]}\n[1]\n'


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        ("filter n_steps>1", "read 5; kept 1; dropped 1 (1 not matching); rejected 3"),
        ("tree reward --tree T", "read 5; kept 2; rejected 3"),
        ("split", "read 5; kept 2; rejected 3"),
        ("bank retrieve --bank B", "read 5; kept 1; rejected 4"),
    ],
)
def test_counts_add_up(words: str, counts: str, tmp_path: Path) -> None:
    names = {name: write(tmp_path / name, *STREAMS[what]) for name, what in (("T", "tree"), ("B", "bank"))}
    line = [str(names.get(word, word)) for word in words.split()]
    done = within(*line, "--rejects", tmp_path / "rejects", stdin=MIXED)
    assert counts in done.stderr.decode()
    assert len((tmp_path / "rejects").read_text().splitlines()) == int(counts[-1])


def test_all_rejected_is_65_and_not_no_input(tmp_path: Path) -> None:
    for words in ("filter true", "split", "tree reward --tree T"):
        tree = str(write(tmp_path / "T", *STREAMS["tree"]))
        line = [tree if word == "T" else word for word in words.split()]
        done = within(*line, "--rejects", tmp_path / "rejects", stdin="nope\n", check=65)
        assert "no good record: 1 rejected" in one_line(done.stderr)


def test_rejected_rows_of_parquet_do_not_end_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    bad = Trajectory(id="o", reward=float("nan"), actions=["x"])
    write(path, None, EPISODE, bad, EPISODE, bad, EPISODE)
    done = within("filter", "true", path, "--rejects", tmp_path / "rejects")
    assert b"read 5; kept 3; rejected 2" in done.stderr
    assert len(done.stdout.splitlines()) == 3


EPISODES = [
    msgspec.structs.replace(EPISODE, id=name, reward=reward, extra={"n": 1})
    for name, reward in (("e", 1.0), ("o", 0.0))
]
TABLES: dict[str, tuple[Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "foreign": (
        lambda _: pl.DataFrame({"a": [1, 2]}),
        ": Parquet, but not of ours (no column 'id'); foreign tables go through `xskill canon` first",
    ),
    "column": (lambda frame: frame.drop("actions"), ": no column 'actions'"),
    "type": (lambda frame: frame.with_columns(steps=pl.lit("x")), ": the column 'steps' is String, expected "),
    "text": (lambda frame: frame.with_columns(extra=_second('{"a":')), ":2: extra: a cell that should be JSON text: "),
    "inner": (
        lambda frame: frame.with_columns(
            pl.col("steps").list.eval(pl.element().struct.with_fields(extra=pl.lit("x", pl.String)))
        ),
        ":1: steps.extra: a cell that should be JSON text: ",
    ),
    "list": (lambda frame: frame.with_columns(extra=_second("[1]")), ":2: extra: expected an object, got a list"),
    "nan": (lambda frame: frame.with_columns(reward=_second(float("nan"))), ":2: reward: expected a finite number"),
    "word": (lambda frame: frame.with_columns(split=_second("x")), ":2: split: invalid enum value 'x'"),
    "date": (
        lambda frame: frame.with_columns(day=pl.lit(10**8, pl.Int32).cast(pl.Date)),
        ": not usable as Parquet: a cell that cannot be read: out-of-range date",
    ),
}


def _second(value: Any) -> pl.Expr:
    """A column that has another value in the second row."""
    name = {float: "reward"}.get(type(value), "split" if value == "x" else "extra")
    return pl.when(pl.int_range(pl.len()) == 1).then(pl.lit(value)).otherwise(pl.col(name))


def spoiled(tmp_path: Path, name: str) -> Path:
    path = write(tmp_path / "x.parquet", None, *EPISODES)
    frame = TABLES[name][0](pl.read_parquet(path))
    metadata = {} if name == "foreign" else {SCHEMA_KEY: "xskill.trajectory/1"}
    frame.write_parquet(path, metadata=metadata)
    return path


@pytest.mark.parametrize("words", ["split", "filter true", "credit", "rollout build", "rollout show"])
@pytest.mark.parametrize("name", TABLES)
def test_spoiled_parquet_is_told_in_one_line(name: str, words: str, tmp_path: Path) -> None:
    path = spoiled(tmp_path, name)
    message = TABLES[name][1] if (name, words) != ("foreign", "filter true") else ": Parquet, but not of ours"
    done = within(*words.split(), path, check=65)
    assert one_line(done.stderr).startswith(f"xskill: {path}{message}")


@pytest.mark.parametrize("name", [name for name in TABLES if name != "foreign"])
def test_canon_refuses_our_parquet_when_it_is_spoiled(name: str, tmp_path: Path) -> None:
    path, out = spoiled(tmp_path, name), tmp_path / "out.jsonl"
    error = one_line(within("canon", path, "-o", out, check=65).stderr)
    assert error.startswith(f"xskill: {path}:")
    if name in ("type", "text", "inner", "nan", "date"):
        assert error.startswith(f"xskill: {path}{TABLES[name][1]}")
    if name in ("text", "nan"):
        assert b"kept 1; rejected 1" in within("canon", path, "-o", out, "--rejects", tmp_path / "rejects").stderr
        assert json.loads((tmp_path / "rejects").read_text())["line"] == 2
        line = '{"id":"e","actions":["x"]}'
        assert error == one_line(within("canon", "--outcomes", path, stdin=line, check=65).stderr)


@pytest.mark.parametrize("words", ["credit", "rollout build"])
@pytest.mark.parametrize("name", ["text", "list", "nan"])
def test_spoiled_rows_of_parquet_are_rejected(name: str, words: str, tmp_path: Path) -> None:
    done = within(*words.split(), spoiled(tmp_path, name), "--rejects", tmp_path / "rejects")
    assert b"read 2; kept 1; rejected 1" in done.stderr
    assert json.loads((tmp_path / "rejects").read_text())["line"] == 2


@pytest.mark.parametrize("name", STREAMS)
def test_tasks_may_come_as_parquet_of_ours(name: str, tmp_path: Path) -> None:
    found = [
        read_tasks([str(write(tmp_path / f"x.{ending}", None, STREAMS[name][1]))], Run("x", quiet=True))
        for ending in ("jsonl", "parquet")
    ]
    assert found[0] == found[1]
    assert len(found[0]) == 1


@pytest.mark.parametrize("command", ["expand", "puct"])
def test_tasks_may_come_as_a_foreign_table(command: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.parquet"
    pl.DataFrame({"question_id": [7, 8], "task": ["go", None], "price": [1.5, float("nan")]}).write_parquet(path)
    tasks = read_tasks([str(path)], Run("x", quiet=True))
    assert [(task.id, task.task, task.extra) for task in tasks] == [
        ("7", "go", {"price": 1.5}),
        ("8", None, {"price": None}),
    ]
    worker = f"{sys.executable} -m xskill worker null"
    within("rollout", command, "-w", worker, "--max-turns", "1", path, env=os.environ)  # a worker's pipes close late
    pl.DataFrame({"a": [1]}).write_parquet(path)
    error = one_line(within("rollout", command, "-w", worker, path, check=65).stderr)
    assert error == f"xskill: {path}:1: id: missing: what names the question"
    for name in ("type", "text", "nan"):
        error = one_line(within("rollout", command, "-w", worker, spoiled(tmp_path, name), check=65).stderr)
        assert error.startswith(f"xskill: {tmp_path / 'x.parquet'}{TABLES[name][1]}")


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize("words", ["rollout build", "rollout show", "credit --as verl"])
def test_a_fault_in_a_field_that_trees_do_not_read_has_its_place(words: str, ending: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"x.{ending}", None, *(msgspec.structs.replace(e, coverage=7.0) for e in EPISODES))
    error = one_line(within(*words.split(), path, check=65).stderr)
    assert error == f"xskill: {path}:1: coverage: expected a number of at most 1, got 7.0"
