"""The reference of the command line: what ``--help`` says of every command, with all options in a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from generator.markdown import code, docstring, escape, table
from xskill.cli import app

_EXTRA = re.compile(r"\s*\[((?:default: |required|x>=|x<=|\d+<=|\d+\.\d+<=)[^\]]*)\]\Z")


def walk() -> Iterator[tuple[str, Any, Any]]:
    """Every command: its words, the click command and a context for it; groups before their commands."""
    root: Any = typer.main.get_command(app)
    yield from _below("xskill", root, root.make_context("xskill", [], resilient_parsing=True))


def _below(name: str, command: Any, context: Any) -> Iterator[tuple[str, Any, Any]]:
    yield name, command, context
    if hasattr(command, "list_commands"):
        for word in command.list_commands(context):
            child = command.get_command(context, word)
            if not child.hidden:
                inner = child.context_class(child, info_name=word, parent=context)
                yield from _below(f"{name} {word}", child, inner)


def reference() -> str:
    """All commands as Markdown, in the order of ``xskill --help``."""
    return "\n".join(_command(*each) for each in walk())


def summary() -> str:
    """A table of all commands that do something, with the first sentence of what they do."""
    rows = []
    for name, command, _ in walk():
        if not hasattr(command, "list_commands"):
            about = " ".join(_about(command.help or "")[1].split("\n\n")[0].split())
            first = re.match(r"(?:Then: .*?[.] (?=[A-Z]))?(.*?[.?!])(?: |$)", about)
            rows.append([f"[{code(name)}](#{name.replace(' ', '-')})", escape(first.group(1) if first else about)])
    return table(["command", "what it does"], rows)


def _command(name: str, command: Any, context: Any) -> str:
    example, about = _about(command.help or "")
    words = " ".join(command.collect_usage_pieces(context))
    out = [f"{'#' * (len(name.split()) + 1 if name != 'xskill' else 2)} {name}\n"]
    out.append(f"```text\n{name} {words}\n```\n")
    out.append(docstring(about))
    if example:
        out.append(f"Example:\n\n```bash\n{example}\n```\n")
    for kind, rows in (("argument", _arguments(command, context)), ("option", _options(command, context))):
        if rows:
            out.append(table([kind, "what it says", "default, limits"], rows))
    if hasattr(command, "list_commands"):
        links = (f"[{code(word)}](#{name.replace(' ', '-')}-{word})" for word in command.list_commands(context))
        if name == "xskill":
            links = (f"[{code(word)}](#xskill-{word})" for word in command.list_commands(context))
        out.append(f"Commands: {' · '.join(links)}\n")
    return "\n".join(out)


def _about(text: str) -> tuple[str, str]:
    """The example that a help text begins with, and the rest."""
    first, _, rest = text.strip().partition("\n\n")
    if not first.startswith("Example: "):
        return "", text
    return " ".join(first.removeprefix("Example: ").split()), rest


def _arguments(command: Any, context: Any) -> list[list[str]]:
    rows = []
    for param in command.params:
        if param.param_type_name == "argument" and not param.hidden:
            record = param.get_help_record(context)
            text, limits = _split(record[1] if record else "")
            rows.append([code(param.make_metavar(context).strip("{}")), escape(text), limits])
    return rows


def _options(command: Any, context: Any) -> list[list[str]]:
    rows = []
    for param in command.get_params(context):
        if param.param_type_name == "option" and not param.hidden:
            names, text = param.get_help_record(context)
            text, limits = _split(text)
            rows.append([code(names), escape(text), limits])
    return rows


def _split(text: str) -> tuple[str, str]:
    match = _EXTRA.search(text)
    if match is None:
        return text, ""
    parts = [part.removeprefix("default: ") for part in match.group(1).split("; ")]
    return text[: match.start()], ", ".join(part if part == "required" else code(part) for part in parts)
