"""A node's expansion as a line that a person reads: ``take<object> → navigate<fridge> → cool<object>``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.cells import cell_len, set_cell_size

from xskill.text.terminal import clean_line

ARROW = " → "


def links(expansion: Iterable[str]) -> list[str]:
    """The tokens, harmless for a terminal, with a run of equal ones as one link.

    >>> links(["open<door>", "connect<device>", "connect<device>"])
    ['open<door>', 'connect<device> ×2']
    """
    chain_links = []
    for token, run in groupby(expansion):
        n = sum(1 for _ in run)
        chain_links.append(clean_line(token) + (f" ×{n}" if n > 1 else ""))
    return chain_links


def chain(expansion: Iterable[str]) -> str:
    """The whole routine on one line."""
    return ARROW.join(links(expansion))


def fold(parts: Sequence[str], width: int, joint: str = ARROW) -> list[str]:
    """The parts in lines of at most ``width`` cells; a continuation line begins with its joint, the arrow.

    A single link that is wider than a line is cut with an ellipsis.
    """
    lines: list[str] = []
    for part in parts:
        if not lines:
            lines.append(cut(part, width))
        elif cell_len(lines[-1]) + cell_len(joint) + cell_len(part) <= width:
            lines[-1] += joint + part
        else:
            lines.append(cut(joint.lstrip() + part, width))
    return lines


def cut(text: str, width: int) -> str:
    """``text`` in at most ``width`` cells, with an ellipsis where it goes on."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"
