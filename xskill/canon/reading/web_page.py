"""The kind of an element on a web page: from the accessibility tree, else from HTML, by the id that an action names.

BrowserGym shows a page as lines ``[12] searchbox 'Search', clickable``, or as the tree itself (``nodes`` with a
``role`` and a ``browsergym_id``); MiniWoB++ as elements with ``ref``.
"""

from __future__ import annotations

import re
from typing import Any

from xskill.canon.reading.fields import as_mapping, entries, word

_LINE = re.compile(r"^[ \t]*\[([\w:-]+)\] (\w+)(?: (?:'([^'\n]*)'|\"([^\"\n]*)\"))?", re.M)
_TAG = re.compile(r"<(\w+)\b([^<>]*)>")
_ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_CALL = re.compile(r"\s*\w+\(\s*(?:\w+\s*=\s*)?['\"]?([\w:-]+)['\"]?\s*[,)]")
_COMMAND = re.compile(r"\s*\w+ ?\[([\w:-]+)\]")
_NAMED = re.compile(r"\s*\w+ \"([^\"]+)\"")
_TEXTS = ("axtree_txt", "axtree_text", "axtree", "accessibility_tree", "text", "pruned_html", "dom_txt", "html")
_TREES = ("axtree_object", "axtree")
_IDS = ("bid", "browsergym_id", "ref", "id")


class Page:
    """What an agent saw.

    Attributes:
        text: the page as the log shows it.
    """

    def __init__(self, seen: Any) -> None:
        self.text: str | None = seen if isinstance(seen, str) else None
        self._roles: dict[str, str] | None = None
        self._names: dict[str, str] = {}
        self._tree: Any = None
        fields = as_mapping(seen)
        for key in _TEXTS:
            if self.text is None and word(fields.get(key)):
                self.text = fields[key]
        for key in _TREES:
            if isinstance(fields.get(key), dict):
                self._tree = fields[key]

    def role(self, action: str) -> str | None:
        """Role of the element that an action names by its id, else by its name in quotes."""
        if self._roles is None:
            self._read()
        roles = self._roles or {}
        for pattern in (_CALL, _COMMAND):
            element = pattern.match(action)
            if element and element.group(1) in roles:
                return roles[element.group(1)]
        named = _NAMED.match(action)
        return self._names.get(named.group(1)) if named else None

    def _read(self) -> None:
        roles: dict[str, str] = {}
        text = self.text or ""
        for line in _LINE.finditer(text):
            roles.setdefault(line.group(1), line.group(2))
            name = line.group(3) or line.group(4)
            if name:
                self._names.setdefault(name, line.group(2))
        for tag in _TAG.finditer(text) if not roles else ():
            attributes = {name: a or b or c for name, a, b, c in _ATTRIBUTE.findall(tag.group(2))}
            identity = next((attributes[key] for key in _IDS if attributes.get(key)), None)
            if identity is not None:
                roles.setdefault(identity, _kind(tag.group(1).lower(), attributes.get("type")))
        for node in entries(as_mapping(self._tree).get("nodes")):
            role = as_mapping(node.get("role")).get("value", node.get("role"))
            if isinstance(node.get("browsergym_id"), str) and isinstance(role, str):
                roles.setdefault(node["browsergym_id"], role)
        self._roles = roles


def _kind(tag: str, type_: str | None) -> str:
    """Kind of an HTML element: an input by its type."""
    return f"input_{(type_ or 'text').lower()}" if tag == "input" else tag
