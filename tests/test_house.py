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
    {"errors", "lazy", "array_types"},
    {"choices", "bounds"},
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
    {"__init__"},
]
"""From the ground up; a package imports of lower floors, and of its own package, only. At the top the face of it all,
which imports nothing before it is asked for it; everybody may take the version out of it."""

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


LIGHT = {"xskill.lazy", "typing", "__future__"}


def test_faces_import_nothing_before_they_are_asked_for_it() -> None:
    """The package itself, and the packages that have a face: ``tests/test_face.py`` looks at what they offer."""
    for path in [ROOT / "__init__.py", *ROOT.glob("*/__init__.py")]:
        text = path.read_text()
        if "lazily(" in text:
            assert set(imports(ast.parse(text), top_level_only=True)) == LIGHT, path


def test_no_module_is_longer_than_a_reader_holds_in_mind() -> None:
    long = {str(path.relative_to(ROOT)): n for path in MODULES if (n := path.read_text().count("\n")) > 320}
    assert long == {}


def test_no_circle_of_imports() -> None:
    """Whichever module is imported first, none is met half done: imports at the top, with the packages above."""
    names = {module_name(path): path for path in MODULES}
    needs = {name: needed(name, path, names) for name, path in names.items()}
    done: set[str] = set()
    while ready := {name for name in needs if name not in done and needs[name] <= done}:
        done |= ready
    assert sorted(needs.keys() - done) == []


def module_name(path: Path) -> str:
    words = ["xskill", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(words[:-1] if words[-1] == "__init__" else words)


def needed(name: str, path: Path, names: dict[str, Path]) -> set[str]:
    """The modules of ours that must be there before this one."""
    modules: set[str] = set()
    for node in ast.iter_child_nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            within = {f"{node.module}.{alias.name}" for alias in node.names}
            modules |= within & names.keys() or {node.module} & names.keys()
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names} & names.keys()
    above = {".".join(other.split(".")[:n]) for other in modules for n in range(1, other.count(".") + 1)}
    return (modules | above) - {name} - {".".join(name.split(".")[:n]) for n in range(1, name.count(".") + 1)}


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
                and not any(isinstance(mark, ast.Name) and mark.id == "overload" for mark in node.decorator_list)
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


def test_a_class_name_means_one_thing() -> None:
    homes: dict[str, set[str]] = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, set()).add(str(path.relative_to(ROOT)))
    assert {name: sorted(paths) for name, paths in homes.items() if len(paths) > 1} == {}


OF_A_PACKAGE = {"__init__.py", "choices.py", "forms.py"}
"""The tables of choices and of output forms are called the same in each package that has one."""


def test_a_file_name_means_one_thing() -> None:
    """But for the command of a package or verb: ``commands/NAME.py`` beside ``verbs/NAME.py``."""
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        if path.name not in OF_A_PACKAGE and path.parent.name != "commands":
            homes.setdefault(path.name, []).append(str(path.relative_to(ROOT)))
    packages = {part_of(path) for path in MODULES}
    for path in (ROOT / "commands").glob("*.py"):
        if path.name in OF_A_PACKAGE:
            continue
        if path.stem not in packages and f"verbs/{path.name}" not in homes.get(path.name, []):
            homes.setdefault(path.name, []).append(f"commands/{path.name}")
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_local_names_say_what_they_hold() -> None:
    vague = {"found", "told", "made", "known"}
    uses = []
    for path in MODULES:
        if part_of(path) not in ("mine", "tree", "distill", "bank", "verbs", "workers"):
            continue
        tree = ast.parse(path.read_text())
        fields = {
            id(field.target)
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
            for field in node.body
            if isinstance(field, ast.AnnAssign)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in vague and id(node) not in fields:
                uses.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.id}")
    assert uses == []
