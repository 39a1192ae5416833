"""The grammar that all commands share: which options each has, files that must not collide, numbers that are none."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.cli.test_cli import every_command
from tests.command import pipeline, within
from xskill.cli import app
from xskill.commands.types import File
from xskill.errors import UsageError

COMMANDS = [path for path in every_command() if path[0] != "worker"]  # a worker speaks its protocol on stdout
READ_ONE_THING = {"tree show", "bank show", "bank diff", "bank import", "bank export", "schema"}
"""What reads one tree, bank or nothing: a bad record leaves nothing to go on with."""
NEED_EVERY_RECORD = {"gate", "bank evaluate", "bank ablate"}
"""A verdict on the tasks that happened to be readable would be none."""
REPORTS = {
    *("tree show", "tree stats", "tree diff", "rollout build", "rollout show", "rollout check"),
    *("bank show", "bank diff", "bank ablate", "gate", "check", "stats"),
}
RECORDS = {
    *("canon", "mine", "tree tile", "tree instances", "tree reward", "rollout expand", "rollout puct", "rollout build"),
    *("credit", "distill", "bank apply", "bank import", "bank evaluate", "head", "filter", "split"),
}


def command_at(path: tuple[str, ...]) -> Any:
    command = typer.main.get_command(app).get_command(None, path[0])  # type: ignore[attr-defined]
    return command.commands[path[1]] if len(path) > 1 else command


def params(path: tuple[str, ...]) -> list[Any]:
    found: list[Any] = command_at(path).params
    return found


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_the_options_of_its_kind(path: tuple[str, ...]) -> None:
    name, options = " ".join(path), {option for param in params(path) for option in param.opts}
    assert {"-o", "--output", "-q", "--quiet"} <= options
    assert ("--rejects" in options) == (name not in READ_ONE_THING | NEED_EVERY_RECORD)
    assert ("--json" in options) == (name in REPORTS) or name == "bank retrieve"
    assert ("--to" in options) == (name in RECORDS)


@pytest.mark.parametrize("path", every_command(), ids=" ".join)
def test_every_file_says_its_role_and_every_number_is_finite(path: tuple[str, ...]) -> None:
    for param in params(path):
        metavar = (param.metavar or "").strip("[].")
        if re.search(r"FILE|TREE|BANK|NEW|TOML|^OUT$|toml|^PATH", metavar) and "=" not in metavar:
            assert isinstance(getattr(param.type, "func", None), File), param.name
        if "float" in param.type.name:
            for word in ("nan", "inf"):
                with pytest.raises(typer.BadParameter):
                    param.process_value(typer.Context(command_at(path)), word)


LINE = json.dumps({"schema": "xskill.trajectory/1", "id": "a", "actions": ["x", "y"]}) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("in.jsonl", "other.jsonl"):
        (tmp_path / name).write_text(LINE)
    (tmp_path / "link.jsonl").symlink_to("in.jsonl")
    os.link(tmp_path / "in.jsonl", tmp_path / "hard.jsonl")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "split in.jsonl --rejects in.jsonl",
        "split other.jsonl in.jsonl --rejects in.jsonl",
        "split in.jsonl --rejects link.jsonl",
        "split link.jsonl --rejects hard.jsonl",
        "split in.jsonl -o new.jsonl --rejects new.jsonl",
        "split in.jsonl -o new.jsonl --rejects ./new.jsonl",
        "canon in.jsonl --unmatched in.jsonl",
        "canon in.jsonl --report out --learn out",
        "mine in.jsonl --sweep in.jsonl",
        "tree tile --tree other.jsonl in.jsonl --rejects other.jsonl",
        "split in.jsonl --rejects -",
        "stats in.jsonl -o in.jsonl",
        "check other.jsonl in.jsonl -o link.jsonl",
        "tree explore other.jsonl --episodes in.jsonl -o in.jsonl",
        "tree tile --tree other.jsonl in.jsonl -o other.jsonl",
        "gate in.jsonl other.jsonl --candidate-bank hard.jsonl --promote link.jsonl",
    ],
)
def test_no_output_may_destroy_another_file(words: str, folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = within(*words.split(), cwd=folder, check=2)
    (line,) = done.stderr.decode().splitlines()
    assert "same file" in line or "standard output is for the result" in line
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    "words",
    [
        "split in.jsonl >> in.jsonl",
        "split < in.jsonl >> in.jsonl",
        "split --rejects in.jsonl < in.jsonl",
        "split - --rejects link.jsonl < in.jsonl",
        "split in.jsonl --rejects out > out",
        "split in.jsonl --rejects out > out 2>&1",
        "split in.jsonl --rejects /dev/stdout > out",
        "split in.jsonl --into new --rejects new/test.jsonl",
    ],
)
def test_standard_output_is_a_file_like_others(words: str, folder: Path) -> None:
    done = pipeline(f"xskill {words}", cwd=folder)
    assert done.returncode == 2
    assert (folder / "in.jsonl").read_text() == LINE


@pytest.mark.parametrize(
    "words", ["split in.jsonl -q -o link.jsonl", "split in.jsonl -q -o /dev/null --rejects /dev/null"]
)
def test_in_place_and_devices_are_fine(words: str, folder: Path) -> None:
    within(*words.split(), cwd=folder)
    within("check", "in.jsonl", cwd=folder)


@pytest.mark.parametrize(
    ("words", "redirection"),
    [
        ("", ">> log 2>&1"),
        ("-o /dev/stdout", ">> log 2>&1"),
        ("-o /dev/fd/1", "2>&1 >> log | cat >> log"),
        ("--to parquet -o rest", "2>> log"),
    ],
)
def test_what_is_open_already_is_added_to(words: str, redirection: str, folder: Path) -> None:
    """One log for everything; what stands in it stays, and nothing is written over."""
    (folder / "log").write_text("before\n")
    (folder / "bad.jsonl").write_text(LINE + "nope\n")
    pipeline(f"xskill split bad.jsonl --rejects /dev/stderr {words} {redirection}", cwd=folder)
    found = (folder / "log").read_text().splitlines()
    begins = ['{"file":', "xskill split: ", *(['{"schema":'] if "rest" not in words else [])]
    assert found[0] == "before"
    assert len(found) == 1 + len(begins)
    assert all(any(line.startswith(begin) for line in found) for begin in begins)


@pytest.mark.parametrize(
    "words",
    [
        "stats in.jsonl -o x.parquet",
        "tree context --tree t --by-type -o x.parquet",
        "tree show --as xtree t -o x.parquet",
        "bank retrieve --bank b -o x.parquet",
    ],
)
def test_what_writes_no_parquet_says_so(words: str, folder: Path) -> None:
    assert b"does not write Parquet" in within(*words.split(), cwd=folder, check=2).stderr
    assert not (folder / "x.parquet").exists()


BELONG = """\
tree show in.jsonl --json --as dot                         | --as and --json are two different outputs
tree show in.jsonl --as xtree --max-p .05                  | --max-p does not fit --as xtree
tree show in.jsonl --as xtree --top 3                      | --top does not fit --as xtree
tree show in.jsonl --as xtree --depth 3                    | --depth does not fit --as xtree
tree show in.jsonl --as xtree --sort lift                  | --sort does not fit --as xtree
tree show in.jsonl --as xtree --compare outcome            | --compare does not fit --as xtree
tree show in.jsonl --as xtree --node S0                    | --node does not fit --as xtree
tree show in.jsonl --as xtree --wide                       | --wide belongs to the drawing
tree show in.jsonl --as dot --node S0                      | --node belongs to the drawing and --json
tree show in.jsonl --as mermaid --example                  | --example belongs to the drawing
tree show in.jsonl --as markdown --parents                 | --parents belongs to the drawing
tree show in.jsonl --json --plain                          | --plain belongs to the drawing
tree show in.jsonl --node S0 --top 3                       | --top does not fit --node ID
tree show in.jsonl --json --node S0 --max-p .1             | --max-p does not fit --node ID
tree show in.jsonl --node S0 --wide                        | --wide does not fit --node ID
tree stats in.jsonl --rejects r                            | --rejects belongs to --episodes FILE
tree diff in.jsonl other.jsonl --rejects r                 | --rejects belongs to --episodes FILE
tree diff in.jsonl other.jsonl --json --top 3              | --top belongs to the text
tree explore in.jsonl --rejects r                          | --rejects belongs to --episodes FILE
tree explore in.jsonl --max-episodes 3                     | --max-episodes belongs to --episodes FILE
tree reward --tree other.jsonl in.jsonl --gamma .5         | --gamma belongs to --shaping potential
tree reward --tree other.jsonl in.jsonl --potential-scale 5        | --potential-scale belongs to --shaping potential
tree reward --tree other.jsonl in.jsonl --shaping potential --cap 1 | --cap belongs to the bonus of a group
tree context --tree other.jsonl --by-type --rejects r      | --rejects belongs to a stream of episodes
rollout build in.jsonl --json --to parquet                 | --to belongs to the nodes
rollout show in.jsonl --json --as html                     | --as and --json are two different outputs
rollout show in.jsonl --json --every-turn                  | --every-turn belongs to the drawing
rollout show in.jsonl --as html --every-turn               | --every-turn belongs to the drawing
rollout expand in.jsonl -w x --budget 3                    | --budget belongs to --bank FILE
rollout expand --from in.jsonl -w x --initial 3            | --initial samples first episodes
rollout puct in.jsonl -w x --budget 3                      | --budget belongs to --bank FILE
stats in.jsonl --json --top 3                              | --top belongs to the text
canon in.jsonl --outcomes-key id                           | --outcomes-key belongs to --outcomes FILE
distill in.jsonl --as evidence --max-total 3               | --max-total belongs to skills
distill in.jsonl --as evidence --min-support 3             | --min-support belongs to skills
distill in.jsonl --max-new 1                               | --max-new belongs to the edits of a bank
distill in.jsonl --min-rate .2                             | --min-rate belongs to --failures-from FILE
distill in.jsonl --answer-tokens 9                         | --answer-tokens belongs to --teacher openai:MODEL
distill in.jsonl --concurrency 9                           | --concurrency belongs to --teacher openai:MODEL
distill in.jsonl --requests r --concurrency 9              | --concurrency belongs to an endpoint
distill in.jsonl --responses other.jsonl --max-tokens-total 9      | --max-tokens-total belongs to an endpoint
bank export in.jsonl --as prompt --license MIT             | --license belongs to --as skills
bank export in.jsonl --as skillrl --license MIT            | --license belongs to --as skills
credit in.jsonl --method grpo --tau 2                      | --tau belongs to --method treeopsd and tree-pg
worker textworld --policy random --rate .5                 | --rate belongs to --policy expert-noise
worker textworld --model m                                 | --model belongs to --policy llm
"""
"""A command with an option that it would not look at, and the error."""


@pytest.mark.parametrize("case", BELONG.splitlines(), ids=lambda case: case.partition("|")[0].strip())
def test_an_option_that_does_nothing_is_refused(case: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words, told = (part.strip() for part in case.split("|"))
    monkeypatch.chdir(folder)
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(UsageError) as error:
        run_here(words.split())
    assert str(error.value).startswith(told)
    assert sorted(path.name for path in folder.iterdir()) == before


def run_here(words: list[str]) -> None:
    """The command in this process, which is quicker; its error as it is raised."""
    group = typer.main.get_command(app)
    command = group.get_command(None, words[0])  # type: ignore[attr-defined]
    command.main(words[1:], standalone_mode=False)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(
    "words",
    ["mine --eta", "credit --tau", "credit --radius", "tree show --max-p", "gate a b --alpha", "distill --min-rate"],
)
def test_numbers_are_numbers(words: str, value: str, folder: Path) -> None:
    done = within(*words.split(), value, "in.jsonl", check=2)
    assert b"finite number" in done.stderr or b"not in the range" in done.stderr or b"extra argument" in done.stderr
