"""The little YAML that MLflow writes: nested mappings of scalars. Nothing else is understood, nothing is built.

A YAML library is not worth a dependency for four kinds of lines.
"""

from __future__ import annotations

from typing import Any

_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def read_flat_yaml(text: str) -> dict[str, Any]:
    """Mappings by indentation; scalars are true, false, null, numbers, and (quoted) text.

    >>> read_flat_yaml("a: 1\\nb:\\n  c: 'x y'\\n  d: true\\n")
    {'a': 1, 'b': {'c': 'x y', 'd': True}}
    """
    root: dict[str, Any] = {}
    stack: list[tuple[int, dict[str, Any]]] = [(-1, root)]
    for line in text.split("\n"):
        body = line.strip()
        if not body or body.startswith(("#", "---")) or ":" not in body:
            continue
        indent = len(line) - len(line.lstrip())
        key, _, rest = body.partition(":")
        while stack[-1][0] >= indent:
            stack.pop()
        if rest.strip():
            stack[-1][1][_scalar_text(key)] = _scalar(rest.strip())
        else:
            inner: dict[str, Any] = {}
            stack[-1][1][_scalar_text(key)] = inner
            stack.append((indent, inner))
    return root


def _scalar(text: str) -> Any:
    if text[:1] in "'\"":
        return _scalar_text(text)
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return float(text) if any(c in text for c in ".eE") else int(text)
    except ValueError:
        return text


def _scalar_text(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace(text[0] * 2, text[0])
    return text
