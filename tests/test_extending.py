"""The examples of docs/extending.md, installed as other packages and run by the real command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.credit.test_command import record, rows, write

PAGE = Path(__file__).resolve().parent.parent / "docs" / "extending.md"
BLOCK = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.M | re.S)

PARTED = """
import sys
import xskill.credit.shards as shards
from xskill.cli import main
shards.LEAST_BYTES = 0
sys.argv = ["xskill", *sys.argv[1:]]
main()
"""
"""The command, for which no file is too small for several processes."""


def packages() -> dict[str, tuple[dict[str, dict[str, str]], str, str]]:
    """Name of each package of the page → its entry points, the name of its module, the module."""
    blocks = BLOCK.findall(PAGE.read_text())
    examples: dict[str, tuple[dict[str, dict[str, str]], str, str]] = {}
    for (title, toml), (module, text) in zip(blocks[::2], blocks[1::2], strict=True):
        assert title == "pyproject.toml"
        project = tomllib.loads(toml)["project"]
        examples[project["name"]] = (project["entry-points"], module, text)
    return examples


def install(folder: Path, name: str, replace: tuple[str, str] = ("", "")) -> None:
    """What ``pip install`` would leave behind of a package of the page."""
    groups, module, text = packages()[name]
    (folder / module).write_text(text.replace(*replace))
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))


def xskill(folder: Path, *args: str | Path, check: int = 0) -> subprocess.CompletedProcess[bytes]:
    """The command with the packages of a folder."""
    paths = [str(folder), str(PAGE.parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-c", PARTED, *map(str, args)]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=60)
    assert done.returncode == check, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


def test_the_page_has_one_example_of_each_group() -> None:
    groups = [group for points, _, _ in packages().values() for group in points]
    assert groups == ["xskill.formats", "xskill.credit_methods", "xskill.gate_policies", "xskill.workers"]


@pytest.mark.xfail(find_spec("xskill.canon.formats.table") is None, reason="formats are not open yet", strict=True)
def test_a_format_is_told_by_content_and_by_name(site: Path, tmp_path: Path) -> None:
    install(site, "xskill-moves")
    game = {"goal": "Get out.", "moves": [{"do": "open door", "saw": "a hall"}, {"do": "go north"}], "won": True}
    log = tmp_path / "games.jsonl"
    log.write_text(f"{json.dumps(game)}\n" * 2)
    for options in ([], ["--from", "moves"], ["-j", "2"]):
        episodes = rows(xskill(site, "canon", log, *options).stdout)
        assert [episode["task"] for episode in episodes] == ["Get out.", "Get out."]
        assert episodes[0]["success"] is True
        assert episodes[0]["source"]["format"] == "moves"
        assert [(step["action"], step.get("observation")) for step in episodes[0]["steps"]] == [
            ("open door", "a hall"),
            ("go north", None),
        ]
    assert b"\nmoves " in xskill(site, "canon", "--list-formats").stdout
    log.write_text(json.dumps({"goal": "Get out.", "moves": ["jump"]}) + "\n")
    assert b"games.jsonl:1: moves[0]: expected an object" in xskill(site, "canon", log, check=65).stderr


def rollouts(path: Path) -> Path:
    """Two rollouts of each of four questions; rewards rise from question to question: 0, 1, 2, … 7."""
    return write(path, [record(f"r{i}", "abc"[: i % 2 + 1], float(i), question_id=f"q{i // 2}") for i in range(8)])


RANKS = [-0.875, -0.625, -0.375, -0.125, 0.125, 0.375, 0.625, 0.875]
"""2 (i + 1/2) / 8 - 1."""


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_a_credit_method_that_looks_across_questions(site: Path, tmp_path: Path, jobs: int) -> None:
    install(site, "xskill-rank")
    path = rollouts(tmp_path / "r.jsonl")
    header, *records = rows(xskill(site, "credit", f"-j{jobs}", "--method", "rank", path).stdout)
    assert (header["method"], header["config"]) == ("rank", {"centred": True, "reward_from": "reward"})
    assert [one["credits"] for one in records] == [[RANKS[i]] * (i % 2 + 1) for i in range(8)]
    options = ["--method", "rank", "--option", "centred=false"]
    _, *records = rows(xskill(site, "credit", f"-j{jobs}", *options, path).stdout)
    assert [one["advantage"] for one in records] == [(rank + 1) / 2 for rank in RANKS]


@pytest.mark.skipif(sys.platform != "linux", reason="one process elsewhere")
def test_the_trait_is_what_keeps_a_method_in_one_process(site: Path, tmp_path: Path) -> None:
    """Were it to say that it looks at each question alone, each process would rank its own rollouts only."""
    install(site, "xskill-rank", ("across_questions=True", "across_questions=False"))
    path = rollouts(tmp_path / "r.jsonl")
    of_one, of_two = (rows(xskill(site, "credit", f"-j{n}", "--method", "rank", path).stdout) for n in (1, 2))
    assert [one["advantage"] for one in of_one[1:]] == RANKS
    assert [one["advantage"] for one in of_two[1:]] != RANKS


def test_options_and_traits_of_a_credit_method_are_checked(site: Path, tmp_path: Path) -> None:
    install(site, "xskill-rank")
    path = rollouts(tmp_path / "r.jsonl")
    error = xskill(site, "credit", "--method", "rank", "--option", "x=1", path, check=2).stderr
    assert b"--option x: rank has no such option (it has: centred)" in error
    error = xskill(site, "credit", "--method", "rank", "--tau", "2", path, check=2).stderr
    assert b"--tau belongs to --method treeopsd and tree-pg; rank does not look at it" in error
    error = xskill(site, "credit", "--method", "rnak", path, check=2).stderr
    assert b"gigpo, rank; did you mean rank?" in error


@pytest.mark.parametrize("tree_option", [[], ["--per-turn"], ["--as", "verl"]])
def test_a_credit_method_in_every_form(site: Path, tmp_path: Path, tree_option: list[str]) -> None:
    install(site, "xskill-rank")
    path = rollouts(tmp_path / "r.jsonl")
    assert b"-0.875" in xskill(site, "credit", "--method", "rank", *tree_option, path).stdout


def test_a_gate_policy(site: Path, tmp_path: Path) -> None:
    install(site, "xskill-majority")

    def results(name: str, successes: str) -> Path:
        head = {"schema": "xskill.result/1"}
        return write(
            tmp_path / name,
            [{**head, "task_id": f"t{i}", "metrics": {"success": float(s)}} for i, s in enumerate(successes)],
        )

    current, better, worse = results("a.jsonl", "00011"), results("b.jsonl", "01101"), results("c.jsonl", "01000")
    done = xskill(site, "gate", "--json", "--policy", "majority", current, better)
    verdict = json.loads(done.stdout)
    assert (verdict["policy"], verdict["decision"]) == ("majority", "accept")
    assert verdict["reasons"] == ["2 tasks better, 1 worse in success"]
    assert b"1 tasks better, 2 worse" in xskill(site, "gate", "--policy", "majority", current, worse, check=3).stdout
    assert b"expected one of nonworse, strict, pareto, margin, majority" in (
        xskill(site, "gate", "--policy", "x", current, better, check=2).stderr
    )


def test_a_worker(site: Path, tmp_path: Path) -> None:
    install(site, "xskill-doors")
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"id": "t1"}\n{"id": "t2"}\n')
    worker = f"{sys.executable} -m xskill worker doors --doors 2"
    done = xskill(site, "rollout", "expand", tasks, "--worker", worker)
    episodes = rows(done.stdout)
    assert {episode["question_id"] for episode in episodes} == {"t1", "t2"}
    for episode in episodes:
        assert episode["initial_observation"] == "There are 2 doors."
        assert {step["action"] for step in episode["steps"]} <= {"open 0", "open 1"}
        *before, last = [step["observation"] for step in episode["steps"]]
        assert set(before) <= {"Nothing."}
        assert (last == "The prize!") == (episode["reward"] == 1.0) == (episode.get("success") is True)
    assert b"doors         Of the installed package xskill-doors." in xskill(site, "worker", "--help").stdout
    text = xskill(site, "worker", "doors", "--help").stdout.decode()
    assert "Example: xskill rollout expand tasks.jsonl" in text
    assert "How many doors.  [default: 3; x>=1]" in text


def test_a_broken_package_is_one_line_and_harms_nothing_else(site: Path, tmp_path: Path) -> None:
    install(site, "xskill-rank", ("import numpy as np", "import no_such_module"))
    path = rollouts(tmp_path / "r.jsonl")
    error = xskill(site, "credit", "--method", "rank", path, check=1).stderr.decode()
    assert error == (
        "xskill: the installed package xskill-rank adds --method rank, but fails: "
        "ModuleNotFoundError: No module named 'no_such_module'\n"
    )
    xskill(site, "credit", "--method", "grpo", path)
    assert b"gigpo, rank" in xskill(site, "credit", "--method", "x", path, check=2).stderr
