"""The house rules that a machine can check: imports run downward, commands start light, modules stay small."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "xskill"

FLOORS: list[set[str]] = [
    {"errors", "__init__", "array_types"},
    {"choices"},
    {"text", "process"},
    {"records"},
    {"gate", "streams"},
    {"engines"},
    {"canon", "verbs"},
    {"tree", "rollouts", "bank"},
    {"sampling"},
    {"workers"},
    {"mine", "credit", "losses"},
    {"distill"},
    {"integrations"},
    {"commands"},
    {"cli"},
    {"__main__"},
]
"""From the ground up; a package imports of lower floors, and of its own package, only."""

MODULES = sorted(ROOT.rglob("*.py"))
HEAVY = {"numpy", "polars", "orjson", "rich", "tqdm", "zstandard", "msgspec"}
TABLES = {
    "xskill.choices",
    "xskill.credit.choices",
    "xskill.gate.policies",
    "xskill.tree.forms",
    "xskill.workers.choices",
}
"""Tables of choices: commands import them at start-up to show the names, so they import nothing heavy themselves."""


def floor_of(part: str) -> int:
    return next(i for i, names in enumerate(FLOORS) if part in names)


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports(tree: ast.AST, top_level_only: bool = False) -> list[str]:
    """Dotted names of all imported modules."""
    nodes = ast.iter_child_nodes(tree) if top_level_only else ast.walk(tree)
    found: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            if node.module == "xskill":
                found += [f"xskill.{alias.name}" for alias in node.names]
            else:
                found.append(node.module or "")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_downward(path: Path) -> None:
    part = part_of(path)
    for name in imports(ast.parse(path.read_text())):
        words = name.split(".")
        if words[0] != "xskill" or len(words) == 1 or words[1] in (part, "__version__"):
            continue
        assert floor_of(words[1]) < floor_of(part), f"{part} imports {name}"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "commands").glob("*.py")) + [ROOT / "cli.py"], ids=lambda path: path.name
)
def test_commands_import_heavy_libraries_only_when_called(path: Path) -> None:
    for name in imports(ast.parse(path.read_text()), top_level_only=True):
        words = name.split(".")
        assert words[0] not in HEAVY, f"{path.name} imports {name} at start-up"
        assert words[0] != "xskill" or name in TABLES or words[1] in ("commands", "errors", "__version__"), name


def test_tables_of_choices_import_nothing_heavy() -> None:
    code = f"import importlib, sys\nfor name in {sorted(TABLES)}: importlib.import_module(name)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert (HEAVY | {"importlib.metadata", "xskill.records"}) & set(done.stdout.split()) == set()


def test_every_module_and_package_says_what_it_is_for() -> None:
    silent = [str(path.relative_to(ROOT)) for path in MODULES if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []


def test_every_public_function_has_a_docstring() -> None:
    missing = []
    for path in MODULES:
        if path.parent.name == "formats":
            continue  # the table of formats says once what detect() and read() of every reader do
        for node in ast.parse(path.read_text()).body:
            if (
                isinstance(node, ast.FunctionDef | ast.ClassDef)
                and not node.name.startswith("_")
                and not ast.get_docstring(node)
            ):
                missing.append(f"{path.relative_to(ROOT)}:{node.name}")
    assert missing == []


SCRIPTS = sorted(path for folder in ("bench", "evolve") for path in (ROOT.parent / folder).glob("*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_scripts_import_what_is_there(path: Path) -> None:
    """The type checker does not read them, and they run seldom."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("xskill"):
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                assert hasattr(module, alias.name) or importlib.util.find_spec(f"{node.module}.{alias.name}"), (
                    alias.name
                )
