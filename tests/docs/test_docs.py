"""The documentation keeps up with the code: all of it is there, links lead somewhere, commands print what pages say."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from xskill.cli import app

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))

from generator.markdown import anchors, docstring, escape, outside_fences, slug  # noqa: E402
from generator.transcripts import Exchange, Session, exchanges  # noqa: E402

PAGES = sorted(DOCS.rglob("*.md"))
LINKED = [*PAGES, *(path for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md") if path.exists())]
RENEW = "run: python docs/generate.py"


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def commands(command: Any, context: Any, name: str = "xskill") -> Iterator[tuple[str, Any]]:
    """All commands of the program, told by click alone."""
    yield name, command
    for word in command.list_commands(context) if hasattr(command, "list_commands") else ():
        child = command.get_command(context, word)
        yield from commands(child, child.context_class(child, info_name=word, parent=context), f"{name} {word}")


ROOT_COMMAND: Any = typer.main.get_command(app)
COMMANDS = list(commands(ROOT_COMMAND, ROOT_COMMAND.make_context("xskill", [], resilient_parsing=True)))


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_every_command_and_option_is_in_the_reference(name: str, command: Any) -> None:
    page = (DOCS / "reference" / "cli.md").read_text()
    section = re.search(rf"^#+ {re.escape(name)}\n(.*?)(?=^#|\Z)", page, re.M | re.S)
    assert section, f"`{name}` is not in docs/reference/cli.md; {RENEW}"
    words = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", section.group(1)))
    for param in command.params:
        if not getattr(param, "hidden", False) and param.param_type_name == "option":
            missing = {*param.opts, *param.secondary_opts} - words
            assert not missing, f"`{name}` has {missing}, its section has not; {RENEW}"


def test_what_is_generated_is_what_the_code_says_now() -> None:
    command = [sys.executable, DOCS / "generate.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{RENEW}\n{done.stdout}{done.stderr}"


def test_every_field_of_a_contract_has_a_meaning() -> None:
    page = (DOCS / "reference" / "contracts.md").read_text()
    silent = re.findall(r"^(#+ \w+)$|^\| `(\w+)` \| `[^|]*` \| [^|]* \|  \|$", page, re.M)
    place, missing = "", []
    for heading, field in silent:
        place = heading or place
        if field:
            missing.append(f"{place.strip('# ')}.{field}")
    assert not missing, "a string below the field in xskill/records says it, or docs/generator/meanings.py"


def targets(page: Path) -> Iterator[str]:
    """Where the links and pictures of a page lead, but for addresses."""
    for line in outside_fences(page.read_text()):
        plain = re.sub(r"`[^`]*`", "", line)
        for target in re.findall(r"\]\(([^)\s]+)\)", plain):
            if not re.match(r"[a-z]+:", target):
                yield target


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_every_link_leads_to_a_file_and_an_anchor(page: Path) -> None:
    for target in targets(page):
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page
        assert goal.exists(), f"{name_of(page)}: {target}: no such file"
        if anchor and goal.suffix == ".md":
            assert anchor in anchors(goal.read_text()), f"{name_of(page)}: {target}: no such heading"


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().split("\nnav:")[1]
    listed = re.findall(r"[\w/-]+\.md", nav)
    assert sorted(listed) == [str(page.relative_to(DOCS)) for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_python_name_is_there(page: Path) -> None:
    """``xskill.a.b`` in backticks is a module or an attribute of one; so is ``pkg://xskill.a`` and ``xskill.a:b``."""
    for name in set(re.findall(r"\bxskill(?:\.[a-zA-Z_]\w*)+(?:[.:]\w+)*(?![\w/])", page.read_text())):
        words = re.split(r"[.:]", name)
        if name.endswith((".jsonl", ".md")) or words[1] in ("a", "b"):
            continue
        module: Any = importlib.import_module("xskill")
        for number, word in enumerate(words[1:], 2):
            if not hasattr(module, word):
                try:
                    importlib.import_module(".".join(words[:number]))
                except ModuleNotFoundError as error:
                    if not (error.name or "").startswith("xskill"):
                        break  # an integration, whose trainer is not installed
            assert hasattr(module, word), f"{name_of(page)}: {name}"
            module = getattr(module, word)


def replay(page: Path, folder: Path) -> None:
    """Run the console blocks of a page in one session, and hold each output to what the page says."""
    session = Session(folder, ROOT)
    for exchange in exchanges(page.read_text()):
        code, out, err = session.run(exchange.command)
        assert code == 0, f"$ {exchange.command}\n{err}"
        assert out == exchange.output, f"$ {exchange.command}\nprints something else; {RENEW} --outputs"


def test_the_commands_of_the_tutorial_print_what_it_says(tmp_path: Path) -> None:
    assert len(list(exchanges((DOCS / "tutorial.md").read_text()))) > 15
    replay(DOCS / "tutorial.md", tmp_path)


SESSIONS = [page for page in PAGES if page.name != "tutorial.md" and any(exchanges(page.read_text()))]


@pytest.mark.slow
@pytest.mark.parametrize("page", SESSIONS, ids=name_of)
def test_the_commands_of_the_other_pages_do_so_too(page: Path, tmp_path: Path) -> None:
    replay(page, tmp_path)


def test_a_session_is_commands_and_their_outputs() -> None:
    page = "```console\n$ one \\\n>   two\nout\n\n$ three\n```\n\n```bash\n$ shown only\n```\n"
    assert list(exchanges(page)) == [Exchange("one \\\n  two", "out\n\n"), Exchange("three", "")]


def test_text_becomes_markdown_that_shows_it_as_it_is() -> None:
    assert escape("a*b of ``verb<role>`` <x> and _y_") == r"a\*b of `verb<role>` &lt;x&gt; and \_y\_"
    assert escape(":func:`~xskill.a.b` snake_case [3]") == r"`xskill.a.b` snake_case \[3\]"
    assert docstring("One.\n\nRaises:\n    BadRecord: it is\n        bad.\n") == (
        "One.\n\n**Raises**\n\n- `BadRecord`: it is bad.\n"
    )


def test_headings_have_the_anchors_of_mkdocs() -> None:
    assert slug("Step 1: advantage") == "step-1-advantage"
    assert slug("xskill tree show") == "xskill-tree-show"
    assert slug("What `canon` reads, and [why](x.md)") == "what-canon-reads-and-why"
    assert anchors("# A b\n## A b\n```\n# not this\n```\n") == {"a-b", "a-b_1"}
