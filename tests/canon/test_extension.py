"""Formats and profiles that are added: a module in the folder, another package's entry point, a TOML file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import xskill
from tests.canon.logs import canon, write_lines
from tests.command import ENVIRONMENT
from xskill.canon.actions.profile import PROFILE_NAMES, load_profile
from xskill.canon.formats.table import FORMATS

READER = """
from xskill.canon.formats.format import Format
from xskill.canon.reading.episode import RawEpisode, RawStep

def detect(value):
    return isinstance(value, dict) and "moves" in value

def read(value, place):
    yield RawEpisode(steps=[RawStep(move) for move in value["moves"]], success=value["won"])

FORMAT = Format("moves", "my games", "record", detect, read)
"""
LINE = {"moves": ["look"], "won": True, "steps": [{"action": "of another format"}]}
"""The format ``steps``, which claims much, would take it too."""


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """The command, with a folder of installed packages before all others."""
    path = os.pathsep.join([str(folder), ENVIRONMENT.get("PYTHONPATH") or str(Path(xskill.__file__).parent.parent)])
    command = [sys.executable, "-m", "xskill", "canon", *args]
    return subprocess.run(
        command, cwd=folder, env={**ENVIRONMENT, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )


def install(folder: Path, name: str = "moves", reader: str = READER) -> None:
    """A package with one entry point, as pip would leave it."""
    (folder / "my_games.py").write_text(reader)
    info = folder / "my_games-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-games\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[xskill.formats]\n{name} = my_games:FORMAT\n")


def test_a_format_of_another_package_is_tried_before_those_that_claim_much(tmp_path: Path) -> None:
    install(tmp_path)
    path = str(write_lines(tmp_path / "log.jsonl", LINE))
    for extra in ([], ["--from", "moves"], ["-j", "2"]):
        record = json.loads(run(tmp_path, path, *extra).stdout)
        assert (record["source"]["format"], record["success"]) == ("moves", True)
        assert [step["action"] for step in record["steps"]] == ["look"]
    listed = run(tmp_path, "--list-formats").stdout.splitlines()
    assert [line.split()[0] for line in listed].index("moves") < [line.split()[0] for line in listed].index("steps")


def test_our_own_records_come_before_any_format_of_another_package(tmp_path: Path) -> None:
    install(tmp_path, reader=READER.replace('"moves" in value', "True"))
    own = {"schema": "xskill.trajectory/1", "id": "e", "actions": ["look"]}
    assert json.loads(run(tmp_path, str(write_lines(tmp_path / "log.jsonl", own))).stdout) == own


@pytest.mark.parametrize(
    ("name", "reader", "reason"),
    [
        ("moves", "FORMAT = 1\n", "is no xskill.canon.formats.format.Format"),
        ("moves", "1 / 0\n", "ZeroDivisionError"),
        ("steps", READER.replace('"moves", "my', '"steps", "my'), "a name that xskill has itself"),
    ],
)
def test_a_format_that_cannot_be_used_is_named(tmp_path: Path, name: str, reader: str, reason: str) -> None:
    install(tmp_path, name, reader)
    done = run(tmp_path, str(write_lines(tmp_path / "log.jsonl", {"messages": [{"role": "user", "content": "x"}]})))
    assert done.returncode == 1
    assert "my-games" in done.stderr
    assert reason in done.stderr


def test_a_module_in_the_folder_of_formats_is_a_format(tmp_path: Path) -> None:
    """In a copy of the package: nothing but the new file is touched."""
    copy = tmp_path / "xskill"
    _linked_copy(copy)
    (copy / "canon" / "formats" / "moves.py").write_text(READER)
    done = run(tmp_path, str(write_lines(tmp_path / "log.jsonl", LINE)))
    assert json.loads(done.stdout)["source"]["format"] == "moves"


def _linked_copy(copy: Path) -> None:
    """The package as links to its files; the folder of formats can then take one more."""
    package = Path(xskill.__file__).parent
    for file in package.rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            target = copy / file.relative_to(package)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(file)


def test_the_table_names_every_module_with_a_format() -> None:
    """Those that come with xskill have their place in the order; only a new one may go without."""
    from xskill.canon.formats import table

    assert list(table._unlisted()) == []
    assert next(iter(FORMATS)).name == "xskill"


def test_profiles_are_the_files_of_the_folder(tmp_path: Path) -> None:
    folder = Path(load_profile.__globals__["_FOLDER"])
    assert sorted(PROFILE_NAMES) == sorted(path.stem for path in folder.glob("*.toml"))
    mine = tmp_path / "mine.toml"
    mine.write_text('name = "mine"\n[[rule]]\nmatch = "hop {where}"\nverb = "jump"\n')
    path = write_lines(tmp_path / "log.jsonl", {"steps": [{"action": "hop north"}]})
    assert canon(path, profile=str(mine))[0]["actions"] == ["jump"]
