"""MkDocs hook: the built site must not ask another host for anything it needs to be shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

_LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^\"'\s>]+", re.I)
_LINKED = re.compile(
    r"<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preconnect|preload|icon))[^>]*\bhref=[\"']?(?:https?:)?//[^\"'\s>]+",
    re.I,
)
_IMPORTED = re.compile(r"(?:@import\s+|url\()[\"']?(?:https?:)?//[^\"')\s]+", re.I)


def on_post_build(config: Any, **_: Any) -> None:
    """Look through every page and style sheet.

    Raises:
        PluginError: one of them loads a script, a style, an image or a font from elsewhere.
    """
    site = Path(config["site_dir"])
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = path.read_text()
        patterns = (_IMPORTED,) if path.suffix == ".css" else (_LOADED, _LINKED)
        for pattern in patterns:
            if match := pattern.search(text):
                raise PluginError(f"{path.relative_to(site)} loads from another host: {match.group(0)}")
