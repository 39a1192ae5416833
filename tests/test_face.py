"""The face for Python: what ``import xskill`` offers is there, documented, typed, light, and does what commands do."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import inspect
import json
import re
import subprocess
import sys
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import xskill
from tests.command import within
from xskill import bank, canon, credit, distill, errors, gate, mine, tree
from xskill.commands import bank_apply, bank_retrieve, tree_use
from xskill.commands import canon as canon_command
from xskill.commands import credit as credit_command
from xskill.commands import distill as distill_command
from xskill.commands import gate as gate_command
from xskill.commands import mine as mine_command

ROOT = Path(__file__).resolve().parent.parent
STAGES = (bank, canon, credit, distill, gate, mine, tree)
FACES = (xskill, *STAGES)
MEMBERS = [(face.__name__, name) for face in FACES for name in face.__all__]
FUNCTIONS = [
    (package, name) for package, name in MEMBERS if inspect.isfunction(getattr(importlib.import_module(package), name))
]


def value_of(package: str, name: str) -> Any:
    return getattr(importlib.import_module(package), name)


@pytest.mark.parametrize(("package", "name"), MEMBERS)
def test_every_name_is_there_documented_and_hides_no_module(package: str, name: str) -> None:
    value = value_of(package, name)
    if isinstance(value, types.ModuleType):
        assert value.__name__ == f"{package}.{name}"
        return
    assert importlib.util.find_spec(f"{package}.{name}") is None, f"{package}.{name} is a module too"
    assert inspect.getdoc(value)


@pytest.mark.parametrize(("package", "name"), FUNCTIONS)
def test_every_function_is_typed_and_shows_an_example(package: str, name: str) -> None:
    function = value_of(package, name)
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    assert [p.name for p in signature.parameters.values() if p.annotation is inspect.Parameter.empty] == []
    document = inspect.getdoc(function) or ""
    assert "Example::" in document
    listed = document.partition("Args:")[2]
    if listed:
        missing = [name for name in signature.parameters if not re.search(rf"^ +{name}: ", listed, re.M)]
        assert not missing or function is distill.propose, missing


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.__name__)
def test_all_is_what_type_checkers_see(face: types.ModuleType) -> None:
    (block,) = (
        node
        for node in ast.parse(Path(str(face.__file__)).read_text()).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    )
    seen = [alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(seen) == sorted(face.__all__) == sorted(set(face.__all__))


def loaded_by(code: str) -> set[str]:
    """Modules that a new Python has after it ran ``code``."""
    code += "\nimport sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.decode().split())


def test_importing_xskill_and_its_stages_loads_nothing_heavy() -> None:
    heavy = {"numpy", "polars", "orjson", "msgspec", "typer", "rich", "tqdm", "zstandard", "logging", "asyncio"}
    modules = loaded_by("import xskill")
    assert {name for name in modules if name.startswith("xskill")} == {"xskill", "xskill.lazy"}
    assert not modules & heavy
    modules = loaded_by("from xskill import bank, canon, credit, distill, gate, mine, tree")
    stages = {face.__name__ for face in STAGES}
    assert {name for name in modules if name.startswith("xskill")} == {"xskill", "xskill.lazy", *stages}
    assert not modules & heavy


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'xskill' has no attribute 'nothing'"):
        _ = xskill.nothing  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        exec("from xskill.mine import nothing")


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    drawn: dict[str, tuple[str, int]] = {}
    above = [""]
    for line in str(errors.__doc__).splitlines():
        match = re.match(r"    ( *[│├└─ ]*)(\w+) +(\d+)? +\w", line)
        if match is None or not hasattr(errors, match.group(2)):
            continue
        depth = (len(match.group(1)) + 3) // 5
        above[depth:] = [match.group(2)]
        parent = above[depth - 1] if depth else "Exception"
        drawn[match.group(2)] = parent, int(match.group(3) or drawn[parent][1])
    there = {
        name: (kind.__base__.__name__, kind.exit_code)
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, errors.XskillError)
    }
    assert drawn == there
    assert set(there) <= set(xskill.__all__)


# The options of the functions are those of the commands


class Pair(NamedTuple):
    """A function, the command that does the same, and where the two differ on purpose."""

    function: Callable[..., Any]
    command: Callable[..., Any]
    renamed: dict[str, str] = {}
    """Parameter of the command → keyword of the function, where it is called otherwise."""
    without: set[str] = set()
    """Parameters that the function does not have: other outputs, and the container of the output."""
    other_default: dict[str, Any] = {}
    """Keyword → default of the command, where a word of the command line stands for a value."""


STREAM = {"ctx", "files", "output", "to", "rejects", "quiet"}
TEACHER = {"teacher", "base_url", "requests", "responses", "max_tokens_total", "answer_tokens", "price", "cache"}
PAIRS = [
    Pair(
        canon.read,
        canon_command.command,
        {"from_format": "format", "field_map": "map", "no_respond": "respond"},
        {"unmatched", "learn", "report", "as_name", "list_formats", "files_from", "max_rejects", "json_summary"},
        {"respond": False, "drop": None},
    ),
    Pair(mine.mine, mine_command.command, without={"sweep"}),
    Pair(tree.tile, tree_use.tile),
    Pair(tree.instances, tree_use.instances, without={"trainer"}),
    Pair(tree.reward, tree_use.reward),
    Pair(tree.context, tree_use.context, without={"form"}),
    Pair(credit.credit, credit_command.command, {"map_": "map"}, {"per_turn", "as_", "jobs"}, {"scale": "1"}),
    Pair(distill.distill, distill_command.command, without={"form", "concurrency", *TEACHER}),
    Pair(distill.propose, distill_command.command, without={"form", "concurrency", *TEACHER}),
    Pair(bank.retrieve, bank_retrieve.command, without={"as_json"}),
    Pair(bank.apply, bank_apply.command, without={"report"}),
    Pair(gate.decide, gate_command.command, without={"promote", "history", "as_json"}),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.function.__module__}.{pair.function.__name__}")
def test_options_and_defaults_are_those_of_the_command(pair: Pair) -> None:
    options = {
        pair.renamed.get(name, name): parameter
        for name, parameter in inspect.signature(pair.command).parameters.items()
        if name not in STREAM | pair.without
    }
    keywords = inspect.signature(pair.function).parameters
    assert set(options) == set(keywords) - {"trajectories", "paths", "edits"}
    for name, parameter in keywords.items():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        default = options[name].default
        assert pair.other_default.get(name, parameter.default) == default, name
        assert type(pair.other_default.get(name, parameter.default)) is type(default), name


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.function.__module__}.{pair.function.__name__}")
def test_numbers_have_the_range_that_they_have_in_the_command(pair: Pair) -> None:
    bounds = getattr(pair.function, "bounds", {})
    for name, hint in typing.get_type_hints(pair.command, include_extras=True).items():
        keyword = pair.renamed.get(name, name)
        if name in STREAM | pair.without or keyword not in inspect.signature(pair.function).parameters:
            continue
        for option in getattr(hint, "__metadata__", ()):
            low, high = getattr(option, "min", None), getattr(option, "max", None)
            least, most = bounds.get(keyword, (None, None))
            assert low is None or least == low, keyword
            assert high is None or most == high, keyword


def test_a_number_out_of_range_is_a_usage_error() -> None:
    empty = bank.make([])
    for wrong in ({"top": -1}, {"threshold": float("nan")}, {"threshold": 2.0}):
        with pytest.raises(xskill.UsageError):
            bank.retrieve(empty, "a task", **wrong)


# What the functions give is what the commands give


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, sample_data: Path) -> Path:
    """A folder in which every command has run once."""
    folder = tmp_path_factory.mktemp("face")

    def run(*words: str) -> None:
        with contextlib.chdir(folder):
            within(*words, "-q")

    run("canon", str(sample_data / "alfworld.jsonl.gz"), "-o", "episodes.jsonl")
    run("canon", str(sample_data / "rollouts.jsonl.gz"), "-o", "rollouts.jsonl")
    run("mine", "episodes.jsonl", "--min-frequency", "8", "-o", "tree.jsonl")
    run("tree", "tile", "--tree", "tree.jsonl", "episodes.jsonl", "-o", "tiled.jsonl")
    run("tree", "reward", "--tree", "tree.jsonl", "rollouts.jsonl", "--cap", ".5", "-o", "shaped.jsonl")
    run("tree", "reward", "--tree", "tree.jsonl", "rollouts.jsonl", "--shaping", "potential", "-o", "potential.jsonl")
    run("tree", "instances", "--tree", "tree.jsonl", "episodes.jsonl", "--mix", ".2", "-o", "instances.jsonl")
    run("tree", "context", "--tree", "tree.jsonl", "--by-type", "-o", "cards.jsonl")
    run("credit", "rollouts.jsonl", "-o", "credits.jsonl")
    run("credit", "rollouts.jsonl", "--method", "grpo", "-o", "grpo.jsonl")
    allowed = ("--allow-split", "validation", "--allow-split", "test")
    run("distill", "episodes.jsonl", "--tree", "tree.jsonl", *allowed, "-o", "bank.jsonl")
    run("distill", "rollouts.jsonl", "--bank", "bank.jsonl", "--as", "edits", "-o", "edits.jsonl")
    run("distill", "rollouts.jsonl", "--as", "evidence", "-o", "evidence.jsonl")
    run("bank", "apply", "edits.jsonl", "--bank", "bank.jsonl", "-o", "candidate.jsonl")
    return folder


def records(path: Path) -> Iterator[Any]:
    return xskill.read(path)


def trajectories(path: Path) -> Iterator[xskill.Trajectory]:
    return xskill.read(path, xskill.Trajectory)


@pytest.mark.parametrize("jobs", [1, 2])
def test_canon_reads_what_the_command_writes(files: Path, sample_data: Path, jobs: int) -> None:
    assert list(canon.read(sample_data / "rollouts.jsonl.gz", jobs=jobs)) == list(records(files / "rollouts.jsonl"))


def test_a_mined_tree_and_its_uses_are_those_of_the_commands(files: Path) -> None:
    routines = mine.mine(trajectories(files / "episodes.jsonl"), min_frequency=8)
    assert routines == tree.load(files / "tree.jsonl")
    assert list(tree.tile(routines, trajectories(files / "episodes.jsonl"))) == list(records(files / "tiled.jsonl"))
    rollouts = list(trajectories(files / "rollouts.jsonl"))
    assert list(tree.reward(routines, rollouts, cap=0.5)) == list(records(files / "shaped.jsonl"))
    assert list(tree.reward(routines, rollouts, shaping="potential")) == list(records(files / "potential.jsonl"))
    instances = tree.instances(routines, trajectories(files / "episodes.jsonl"), mix=0.2)
    assert list(instances) == list(records(files / "instances.jsonl"))
    cards = [json.loads(line) for line in (files / "cards.jsonl").read_text().splitlines()]
    assert [msgspec.to_builtins(card) for card in tree.context(routines, by_type=True)] == cards


@pytest.mark.parametrize(("method", "name"), [("treeopsd", "credits.jsonl"), ("grpo", "grpo.jsonl")])
def test_credits_are_those_of_the_command(files: Path, method: str, name: str) -> None:
    header, credited = credit.credit(trajectories(files / "rollouts.jsonl"), method=method)
    assert [header, *credited] == list(records(files / name))


def test_skills_edits_and_evidence_are_those_of_the_commands(files: Path) -> None:
    routines, held_out = tree.load(files / "tree.jsonl"), ["validation", "test"]
    skills = distill.distill(trajectories(files / "episodes.jsonl"), routines, allow_split=held_out)
    assert skills == bank.load(files / "bank.jsonl")
    rollouts = list(trajectories(files / "rollouts.jsonl"))
    edits = distill.propose(rollouts, skills)
    assert edits == list(records(files / "edits.jsonl"))
    assert distill.compare(rollouts) == list(records(files / "evidence.jsonl"))
    candidate, outcomes = bank.apply(skills, edits)
    assert candidate == bank.load(files / "candidate.jsonl")
    assert [outcome.edit for outcome in outcomes] == edits


def test_retrieved_skills_are_those_of_the_command(files: Path) -> None:
    task = "put a clean apple in the fridge"
    words = ["bank", "retrieve", "--bank", "bank.jsonl", "--task", task, "--json"]
    with contextlib.chdir(files):
        row = json.loads(within(*words).stdout)
    for from_ in (bank.load(files / "bank.jsonl"), bank.index(bank.load(files / "bank.jsonl"))):
        hits = bank.retrieve(from_, task)
        assert [(hit.skill.id, hit.similarity) for hit in hits] == [
            (skill["id"], skill["similarity"]) for skill in row["skills"]
        ]


def results(better: int) -> list[xskill.Result]:
    return [xskill.Result(task_id=f"t{i}", metrics={"success": i < better}) for i in range(12)]


@pytest.mark.parametrize(("better", "decision"), [(9, "accept"), (3, "reject")])
def test_a_verdict_is_that_of_the_command(tmp_path: Path, better: int, decision: str) -> None:
    xskill.write(results(6), tmp_path / "current.jsonl")
    xskill.write(results(better), tmp_path / "candidate.jsonl")
    words = ["gate", "current.jsonl", "candidate.jsonl", "--json", "-o", "verdict.jsonl"]
    with contextlib.chdir(tmp_path):
        within(*words, check=None)
    verdict = gate.decide(results(6), results(better))
    assert [verdict] == list(xskill.read(tmp_path / "verdict.jsonl"))
    assert verdict.decision == decision


def test_errors_are_those_of_the_commands(files: Path, tmp_path: Path) -> None:
    with pytest.raises(xskill.NoInput, match="no such file"):
        list(canon.read(tmp_path / "none.json"))
    with pytest.raises(xskill.UsageError, match="--from nothing"):
        list(canon.read(files / "episodes.jsonl", format="nothing"))
    with pytest.raises(xskill.NoRecord, match="trajectories: no record in the input"):
        mine.mine([])
    with pytest.raises(xskill.UsageError, match="--preset nothing"):
        mine.mine(trajectories(files / "episodes.jsonl"), preset="nothing")
    with pytest.raises(xskill.BadRecord, match=r"^trajectories:2: args: expected 1 entries"):
        mine.mine([xskill.Trajectory(id="a", actions=["x"]), xskill.Trajectory(id="b", actions=["x"], args=[])])
    with pytest.raises(TypeError, match="expected Trajectory records, got dict"):
        mine.mine([{"id": "a", "actions": []}])  # type: ignore[list-item]
    with pytest.raises(xskill.BadRecord, match=r"rollouts\.jsonl:1: a trajectory .*; expected a tree"):
        tree.load(files / "rollouts.jsonl")
    with pytest.raises(xskill.BadRecord, match=r"^trajectories:1: missing the required field 'question_id'"):
        credit.credit([xskill.Trajectory(id="a", actions=["x"], steps=[xskill.Step(action="x")], reward=1.0)])
    with pytest.raises(xskill.HeldOut):
        distill.distill([xskill.Trajectory(id="a", actions=["x"], success=True, split="test")])
    with pytest.raises(xskill.TaskMismatch):
        gate.decide(results(3), results(3)[1:])
    with pytest.raises(xskill.NoRecord, match="candidate: no record"):
        gate.decide(results(3), [])
    with pytest.raises(xskill.EditFailure, match="missing target"):
        bank.apply(bank.make([]), [xskill.Edit(op="delete", target="nobody")])


def test_what_a_command_would_note_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    episodes = [
        xskill.Trajectory(id=f"{env}{i}", env=env, actions=["a", "b"], success=True) for env in "xy" for i in "12"
    ]
    mine.mine(episodes)
    assert [record.name for record in caplog.records] == ["xskill"]
    assert "2 environments in one stream (x, y)" in caplog.text


# Streams and frames


@pytest.mark.parametrize("name", ["episodes", "tree", "credits", "bank", "edits", "evidence", "instances"])
@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "parquet"])
def test_a_stream_is_read_as_it_was_written(files: Path, tmp_path: Path, name: str, ending: str) -> None:
    stream = list(records(files / f"{name}.jsonl"))
    xskill.write(stream, tmp_path / f"copy.{ending}")
    assert list(records(tmp_path / f"copy.{ending}")) == stream


@pytest.mark.parametrize("name", ["rollouts", "tree", "bank", "evidence", "edits"])
def test_a_frame_holds_the_records(files: Path, name: str) -> None:
    stream = list(records(files / f"{name}.jsonl"))
    frame = xskill.to_polars(stream)
    body = [record for record in stream if type(record) is type(stream[-1])]
    assert frame.height == len(body)
    assert list(xskill.from_polars(frame)) == body


def test_a_frame_has_the_fixed_columns_whatever_it_holds() -> None:
    one = xskill.to_polars([xskill.Trajectory(id="a", actions=["x"])])
    none = xskill.to_polars([], xskill.Trajectory)
    assert one.schema == none.schema
    assert list(xskill.from_polars(none, xskill.Trajectory)) == []
    assert list(xskill.from_polars(one.select("id", "actions"), xskill.Trajectory)) == [
        xskill.Trajectory(id="a", actions=["x"])
    ]


def test_streams_that_are_none_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    with pytest.raises(xskill.NoRecord):
        xskill.write([], target)
    with pytest.raises(xskill.NoRecord):
        xskill.to_polars([])
    with pytest.raises(xskill.BadData, match="record 2: a result among trajectories"):
        xskill.write([xskill.Trajectory(id="a", actions=[]), *results(1)], target)
    with pytest.raises(xskill.BadData, match="Step is a part of a record"):
        xskill.write([xskill.Step(action="a")], target)
    assert not target.exists()
    with pytest.raises(xskill.BadRecord, match="no column `schema`"):
        list(xskill.from_polars(xskill.to_polars([xskill.Trajectory(id="a", actions=[])]).select("id")))
    xskill.write(results(1), target)
    with pytest.raises(xskill.BadRecord, match="a result"):
        list(xskill.read(target, xskill.Trajectory))


def test_the_example_in_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    assert len(blocks) == 1
    assert len([line for line in blocks[0].splitlines() if line]) <= 5
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    monkeypatch.chdir(tmp_path)
    exec(blocks[0], {})
    assert len(tree.load("tree.jsonl").nodes) > 100
