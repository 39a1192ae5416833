"""Text to Markdown: what must be escaped, tables, docstrings, and the marked parts of a page that are generated."""

from __future__ import annotations

import html
import inspect
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

_CODE = re.compile(r"``(.+?)``|`([^`]+)`")
_ROLE = re.compile(r":(?:func|class|mod|data|meth|attr|exc|obj):`~?([^`]+)`")
_SECTION = re.compile(r"(Args|Arguments|Returns|Yields|Raises|Attributes|Example|Examples|Note):\Z")
_ITEM = re.compile(r"(\*{0,2}[\w.]+(?: \([^)]*\))?): (.*)\Z", re.S)
_BLOCK = re.compile(r"(?<=<!-- generated: )(?P<name>[\w ./-]+)( -->\n)(?P<body>.*?)(?=<!-- end -->)", re.S)


def escape(text: str) -> str:
    """Prose that Markdown shows as it stands; what is in backticks stays code.

    >>> escape("a*b of `verb<role>` and <role>")
    'a\\\\*b of `verb<role>` and &lt;role&gt;'
    """
    text = _ROLE.sub(r"`\1`", text)
    parts, end = [], 0
    for match in _CODE.finditer(text):
        parts.append(_plain(text[end : match.start()]))
        code = match.group(1) or match.group(2)
        parts.append(f"`` {code} ``" if "`" in code else f"`{code}`")
        end = match.end()
    return "".join(parts) + _plain(text[end:])


def _plain(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\*\[\]]|(?<!\w)_|_(?!\w))", r"\\\1", text)


def code(text: str) -> str:
    """Inline code."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; the cells are Markdown already."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *([_cell(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    """One line; a bar in code is written so that every Markdown shows it as one."""

    def barred(match: re.Match[str]) -> str:
        inner = match.group(1) or match.group(2)
        if "|" not in inner:
            return match[0]
        return f"<code>{html.escape(inner.strip(), quote=False).replace('|', '&#124;')}</code>"

    return _CODE.sub(barred, " ".join(text.split())).replace("|", "\\|")


def docstring(text: str | None) -> str:
    """A docstring of this project (reStructuredText's code marks, Google's sections) as Markdown."""
    if not text:
        return ""
    out: list[str] = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines = paragraph.splitlines()
        section = _SECTION.match(lines[0])
        if lines[0].lstrip().startswith("\b"):  # click's mark of text that is not wrapped
            out.append("```text\n" + inspect.cleandoc(paragraph.replace("\b", " ", 1)) + "\n```")
        elif section:
            out.append(f"**{section.group(1)}**")
            out.append(_items(lines[1:]))
        elif re.match(r"=+\s+=", lines[0]) or all(line.startswith(("    ", ">>>")) for line in lines):
            out.append("```text\n" + inspect.cleandoc("\n" + paragraph) + "\n```")
        elif lines[0].startswith(("* ", "- ")):
            out.append("\n".join(escape(line).replace("\\* ", "* ", 1) for line in lines))
        else:
            out.append(escape(" ".join(line.strip() for line in lines)).replace("::", ":"))
    return "\n\n".join(part for part in out if part) + "\n"


def _items(lines: list[str]) -> str:
    """The body of a section: ``name: what`` entries become a list, anything else stays a paragraph."""
    body = inspect.cleandoc("\n" + "\n".join(lines))
    entries: list[str] = []
    for line in body.splitlines():
        if line.startswith(" ") and entries:
            entries[-1] += " " + line.strip()
        else:
            entries.append(line)
    shown = []
    for entry in entries:
        match = _ITEM.match(entry)
        shown.append(f"- {code(match.group(1))}: {escape(match.group(2))}" if match else escape(entry))
    return "\n".join(shown)


def slug(heading: str) -> str:
    """The anchor that Python-Markdown gives a heading."""
    explicit = re.search(r"\{:?\s*#([\w-]+)[^}]*\}\s*\Z", heading)
    if explicit:
        return explicit.group(1)
    text = re.sub(r"`|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())


def outside_fences(text: str) -> Iterator[str]:
    """The lines of a page that are not in a fenced block."""
    fence = None
    for line in text.splitlines():
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and fence is None:
            fence = mark.group(1)
        elif mark and line.strip() == fence:
            fence = None
        elif fence is None:
            yield line


def anchors(text: str) -> set[str]:
    """Every anchor of a page."""
    found: set[str] = set()
    for line in outside_fences(text):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*\Z", line)
        if heading:
            name = base = slug(heading.group(1))
            number = 0
            while name in found:
                number += 1
                name = f"{base}_{number}"
            found.add(name)
        found.update(re.findall(r"<a id=\"([\w-]+)\"", line))
    return found


def fill(page: str, parts: Callable[[str], str]) -> str:
    """A page with every part between ``<!-- generated: NAME -->`` and ``<!-- end -->`` written again."""
    return _BLOCK.sub(lambda match: f"{match['name']}{match[2]}\n{parts(match['name']).strip()}\n\n", page)
