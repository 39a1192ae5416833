"""The reference of the Python face: everything that the packages name in ``__all__``, with signature and docstring."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import msgspec

from generator.markdown import code, docstring, escape, table

PACKAGES = (
    "xskill",
    "xskill.canon",
    "xskill.mine",
    "xskill.tree",
    "xskill.rollouts",
    "xskill.sampling",
    "xskill.credit",
    "xskill.losses",
    "xskill.distill",
    "xskill.bank",
    "xskill.gate",
    "xskill.integrations",
)


def faces() -> dict[str, list[tuple[str, Any]]]:
    """Package → the names of its ``__all__`` with what they are; packages without one are left out."""
    found = {}
    for name in PACKAGES:
        try:
            package = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        if getattr(package, "__all__", None):
            found[name] = [(word, getattr(package, word)) for word in package.__all__]
    return found


def reference() -> str:
    """One section a package: functions, then classes, records, errors and constants."""
    out = []
    for package, members in faces().items():
        kept = [(word, value) for word, value in members if not inspect.ismodule(value)]
        if not kept:
            continue
        text = docstring(importlib.import_module(package).__doc__)
        out.append(f"## {package}\n\n{text}")
        sections = [(word, value) for word, value in kept if _is_function(value) or _is_class(value)]
        out += [_section(package, word, value) for word, value in sections]
        out += [part for part in (_records(kept), _errors(kept), _constants(kept)) if part]
    return "\n".join(out) or "No package names a public face yet.\n"


def _is_function(value: Any) -> bool:
    return inspect.isroutine(value)


def _is_class(value: Any) -> bool:
    return inspect.isclass(value) and not _is_record(value) and not issubclass(value, BaseException)


def _is_record(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, msgspec.Struct) and bool(value.__struct_config__.tag)


def _section(package: str, word: str, value: Any) -> str:
    out = [f"### {package}.{word}\n", f"```python\n{_signature(word, value)}\n```\n", docstring(value.__doc__)]
    if inspect.isclass(value):
        for name, method in vars(value).items():
            member = getattr(method, "__func__", method)
            if not name.startswith("_") and inspect.isfunction(member) and member.__doc__:
                out.append(f"#### {word}.{name}\n\n```python\n{_signature(name, member)}\n```\n")
                out.append(docstring(member.__doc__))
    return "\n".join(out)


def _signature(word: str, value: Any) -> str:
    """``name(arguments) -> result``, one argument a line where the line would be long."""
    head = f"class {word}" if inspect.isclass(value) else word
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return head
    params = [_parameter(param) for name, param in signature.parameters.items() if name not in ("self", "cls")]
    kinds = [param.kind for name, param in signature.parameters.items() if name not in ("self", "cls")]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        params.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    end = ""
    if signature.return_annotation is not inspect.Signature.empty and not inspect.isclass(value):
        end = f" -> {_annotation(signature.return_annotation)}"
    line = f"{head}({', '.join(params)}){end}"
    return line if len(line) <= 100 else f"{head}(\n" + "".join(f"    {param},\n" for param in params) + f"){end}"


def _parameter(param: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    text = stars.get(param.kind, "") + param.name
    annotated = param.annotation is not inspect.Parameter.empty
    if annotated:
        text += f": {_annotation(param.annotation)}"
    if param.default is inspect.Parameter.empty:
        return text
    default = param.default.__name__ if inspect.isroutine(param.default) else repr(param.default)
    shown = "..." if default.startswith("<") else re.sub(r"\bxskill\.[\w.]+\.(?=\w)", "", default)
    return f"{text} = {shown}" if annotated else f"{text}={shown}"


def _annotation(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:xskill\.[\w.]+|collections\.abc|typing|pathlib)\.(?=\w)", "", text)


def _records(members: list[tuple[str, Any]]) -> str:
    rows = [
        [f"[{code(word)}](contracts.md#{_anchor(value)})", escape(_first(value))]
        for word, value in members
        if _is_record(value)
    ]
    return (
        "Records, each with its fields in [the contracts](contracts.md):\n\n" + table(["type", "what it is"], rows)
        if rows
        else ""
    )


def _anchor(kind: Any) -> str:
    tag = str(kind.__struct_config__.tag)
    return tag.removeprefix("xskill.").removesuffix("/1")


def _errors(members: list[tuple[str, Any]]) -> str:
    rows = [
        [code(word), code(value.__base__.__name__), str(getattr(value, "exit_code", "")), escape(_first(value))]
        for word, value in members
        if inspect.isclass(value) and issubclass(value, BaseException)
    ]
    return "Errors:\n\n" + table(["type", "is a", "exit code", "when"], rows) if rows else ""


def _constants(members: list[tuple[str, Any]]) -> str:
    rows = [
        [code(word), code(type(value).__name__)]
        for word, value in members
        if not inspect.isclass(value) and not _is_function(value) and not word.startswith("__")
    ]
    return "Values:\n\n" + table(["name", "type"], rows) if rows else ""


def _first(value: Any) -> str:
    return " ".join(inspect.cleandoc(value.__doc__ or "").split("\n\n")[0].split())
