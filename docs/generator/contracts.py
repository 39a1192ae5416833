"""The reference of the contracts: one table of fields a record type, with what the source says of each field."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from typing import Any

import msgspec

from generator.markdown import code, docstring, escape, table
from generator.meanings import meaning
from xskill import records


def reference() -> str:
    """Every contract in the order of ``xskill schema``, and below it the parts that it holds."""
    out: list[str] = []
    seen: set[type] = set()
    for name, kind in records.CONTRACTS.items():
        out.append(f"### {name}\n\nSchema `xskill.{name}/1`, type `{kind.__name__}`.\n")
        out += _record(kind, seen, 4)
    return "\n".join(out)


def overview() -> str:
    """A table of all contracts with the first sentence of each."""
    rows = []
    for name, kind in records.CONTRACTS.items():
        first = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0]
        rows.append([f"[{code(name)}](#{name})", code(f"xskill.{name}/1"), escape(" ".join(first.split()))])
    return table(["contract", "`schema`", "what a record is"], rows)


def _record(kind: Any, seen: set[type], level: int) -> list[str]:
    seen.add(kind)
    notes = _notes(kind)
    rows, parts = [], []
    for field in msgspec.structs.fields(kind):
        rows.append(
            [
                code(field.encode_name),
                code(_type(field.type)),
                _default(field),
                escape(meaning(kind.__name__, field.name, notes.get(field.name))),
            ]
        )
        parts += [part for part in _structs(field.type) if part not in seen]
    out = [docstring(kind.__doc__), table(["field", "type", "default", "meaning"], rows)]
    for part in dict.fromkeys(parts):
        out.append(f"{'#' * level} {part.__name__}\n")
        out += _record(part, seen, level)
    return out


def _notes(kind: Any) -> dict[str, str]:
    """Field → the string below it in the source."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
    notes = {}
    for node, following in itertools.pairwise(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = following.value if isinstance(following, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                notes[node.target.id] = inspect.cleandoc(text.value)
    return notes


def _default(field: Any) -> str:
    if field.required:
        return "required"
    if field.default_factory is not msgspec.NODEFAULT:
        made = field.default_factory()
        return code(msgspec.json.encode(made).decode()) if isinstance(made, (list, dict)) else "empty"
    return code(msgspec.json.encode(field.default).decode())


def _structs(kind: Any) -> list[Any]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [kind]
    return [found for inner in getattr(kind, "__args__", ()) for found in _structs(inner)]


def _type(kind: Any) -> str:
    """A type as a reader of JSON calls it."""
    told = msgspec.inspect.type_info(kind)
    return _told(told)


_NAMES = {"StrType": "string", "BoolType": "boolean", "NoneType": "null", "AnyType": "any"}


def _told(told: Any) -> str:
    name = type(told).__name__
    if name == "UnionType":
        return " or ".join(sorted((_told(each) for each in told.types), key=lambda text: text == "null"))
    if name == "LiteralType":
        return ", ".join(f'"{value}"' for value in told.values)
    if name in ("ListType", "VarTupleType", "SetType"):
        item = _told(told.item_type)
        return f"list of ({item})" if " or " in item else f"list of {item}"
    if name == "TupleType":
        return f"[{', '.join(_told(each) for each in told.item_types)}]"
    if name == "DictType":
        value = _told(told.value_type)
        return "object" if value == "any" else f"object of {value}"
    if name == "StructType":
        return str(told.cls.__name__)
    if name in ("IntType", "FloatType"):
        return ("integer" if name == "IntType" else "number") + _range(told)
    return _NAMES.get(name, re.sub(r"Type\Z", "", name).lower())


def _range(told: Any) -> str:
    low, high = told.ge, told.le
    if low is not None and high is not None:
        return f" {low:g} to {high:g}"
    return f" ≥ {low:g}" if low is not None else ""
