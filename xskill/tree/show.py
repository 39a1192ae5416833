"""``tree show`` in a terminal: the routines of a tree, drawn with rich.

Nothing from the file is interpreted: every text is cleaned of control characters and goes into
:class:`rich.text.Text`, never into markup.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from xskill.text.terminal import clean_line
from xskill.tree.numbers import count, factor, percent, points, share
from xskill.tree.routine import chain, cut, fold, links
from xskill.tree.sentences import facts, heading, hint, notes
from xskill.tree.summary import Routine, Summary
from xskill.tree.xtree import parents

NARROW = 100
"""Below this many columns the bar is shorter and the gaps are closer."""
_STYLED = re.compile(r"(?P<role><[^<>]*>)|(?P<arrow>→)|(?P<times>×\d+)")
_STYLES = {"role": "cyan", "arrow": "dim", "times": "magenta"}


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of numbers at the right of the routine."""

    title: str
    width: int
    """In cells, the gap before it included."""
    cell: Callable[[Routine], Text]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things stand in a row, in cells."""

    indent: int
    """Of the routine: the widest id with its guides, and a gap."""
    width: int
    """Of the routine."""
    columns: list[NumberColumn]


def draw(summary: Summary, console: Console) -> None:
    """Print the summary in the width of ``console``."""
    console.print(Text(heading(summary.tree), style="bold"))
    console.print(Text(facts(summary), style="dim"))
    if summary.groups:
        _draw_rows(summary, console)
    console.print()
    for line in hint(summary):
        console.print(Text(line, style="dim"))


def _draw_rows(summary: Summary, console: Console) -> None:
    lines = [line for group in summary.groups for line in outline(group.routines)]
    bar, gap = (8, 1) if console.width < NARROW else (16, 2)
    columns = _columns(summary, [line[2] for line in lines], bar, gap)
    ids = max(cell_len(first) + cell_len(clean_line(row.node.id)) for first, _, row in lines)
    numbers = sum(column.width for column in columns)
    longest = max(cell_len(chain(row.node.expansion)) for _, _, row in lines)
    width = max(20, min(longest, console.width - ids - gap - numbers))
    layout = Layout(ids + gap, width, columns)
    above = parents(summary.tree) if summary.wanted.parents else {}
    head = Text(" " * layout.indent + "routine".ljust(width), style="dim")
    for column in columns:
        head.append(column.title.rjust(column.width))
    console.print()
    console.print(head, soft_wrap=True)
    grouped = any(group.task_type is not None for group in summary.groups)
    for group in summary.groups:
        if grouped:
            console.print()
            console.print(group_title(group.task_type), no_wrap=True, overflow="ellipsis")
        for first, rest, row in outline(group.routines):
            for line in _row(row, first, rest, layout, notes(row, summary, above)):
                console.print(line, soft_wrap=True)


def group_title(task_type: str | None) -> Text:
    """The heading of a group."""
    if task_type is None:
        return Text("several task types", style="bold italic magenta")
    return Text(clean_line(task_type), style="bold magenta")


def outline(routines: tuple[Routine, ...], guides: str = "", top: bool = True) -> Iterator[tuple[str, str, Routine]]:
    """The routines with their parts below them: (guides of the first line, of further lines, routine)."""
    for index, row in enumerate(routines):
        last = index == len(routines) - 1
        here, below = ("", "") if top else ("└ " if last else "├ ", "  " if last else "│ ")
        yield guides + here, guides + below, row
        yield from outline(row.parts, guides + below, top=False)


def _row(row: Routine, first: str, rest: str, layout: Layout, below_it: list[list[str]]) -> Iterator[Text]:
    """The lines of one routine. A sub-routine keeps to one line: its root shows the tokens already."""
    below = rest + ("│" if row.parts else "")
    parts = fold(links(row.node.expansion), layout.width)
    if first and len(parts) > 1:
        parts = [cut(chain(row.node.expansion), layout.width)]
    for number, part in enumerate(parts):
        name = clean_line(row.node.id) if number == 0 else ""
        line = Text.assemble((first if name else below, "dim"))
        line.append(name, style="" if first else "bold")
        line.append(" " * (layout.indent - line.cell_len))
        line.append_text(tokens(part, faint=bool(first)))
        if name:
            line.append(" " * (layout.indent + layout.width - line.cell_len))
            for column in layout.columns:
                cell = column.cell(row)
                line.append(" " * (column.width - cell.cell_len))
                line.append_text(cell)
        line.rstrip()
        yield line
    room = layout.width + sum(column.width for column in layout.columns)
    for note in below_it:
        for part in fold(note, room, joint=" · "):
            yield Text(below + " " * (layout.indent - cell_len(below)) + part, style="dim")


def tokens(line: str, *, faint: bool = False) -> Text:
    """A line of routine, coloured: verbs plain, roles, arrows and repetitions set off."""
    text = Text(line, style="dim" if faint else "")
    for match in _STYLED.finditer(line):
        text.stylize(_STYLES[match.lastgroup or "role"], match.start(), match.end())
    return text


def _columns(summary: Summary, rows: list[Routine], bar: int, gap: int) -> list[NumberColumn]:
    base = summary.corpus.base_rate
    columns = []

    def add(title: str, cell: Callable[[Routine], Text]) -> None:
        width = max(len(title), *(cell(row).cell_len for row in rows))
        columns.append(NumberColumn(title, gap + width, cell))

    if any(row.share is not None for row in rows):
        add("covers", lambda row: Text(share(row.share)))
    add("episodes" if any(row.node.episodes is not None for row in rows) else "count", lambda row: Text(count(row.n)))
    if summary.wanted.compare:
        add("in successes", lambda row: Text(share(row.in_success)))
        add("in failures", lambda row: Text(share(row.in_failure)))
        add("difference", lambda row: Text(points(row.contrast), style=verdict(row, base)))
        return columns
    if any(row.rate is not None for row in rows):
        axis = axis_of(rows, base)
        ends = percent(axis[0]), percent(axis[1])
        scale = ends[0] + ends[1].rjust(bar - len(ends[0]))
        add(f"{scale} {'rate':>4}", lambda row: rate(row, base, axis, bar))
    if any(row.lift is not None for row in rows):
        add(
            "lift" if summary.tree.header.outcome == "success" else "fail lift",
            lambda row: Text(factor(row.lift), style=verdict(row, base)),
        )
    return columns


def axis_of(rows: list[Routine], base: float | None) -> tuple[float, float]:
    """The ends of the bars' common axis: full tenths around all intervals and the base rate, at least 0.2 apart."""
    values = [value for row in rows for value in (row.low, row.high) if value is not None]
    values += [base] if base is not None else []
    low, high = math.floor(min(values) * 10) / 10, math.ceil(max(values) * 10) / 10
    return (low, high) if high - low > 0.15 else (max(0.0, low - 0.1), min(1.0, high + 0.1))


def verdict(row: Routine, base: float | None) -> str:
    """Green or red where the 95% interval leaves the base rate out, else no colour."""
    if base is None or row.low is None or row.high is None:
        return ""
    return "green" if row.low > base else "red" if row.high < base else ""


def rate(row: Routine, base: float | None, axis: tuple[float, float], width: int) -> Text:
    """A bar of ``width`` cells, and the rate.

    ``●`` is the rate, ``━`` its interval to half a cell, ``│`` the base rate.
    """
    if row.rate is None or row.low is None or row.high is None:
        return Text("–")

    def half(value: float) -> int:
        return min(2 * width - 1, max(0, int((value - axis[0]) / (axis[1] - axis[0]) * 2 * width)))

    style = verdict(row, base)
    left, right = half(row.low), half(row.high)
    text = Text()
    for cell in range(width):
        inside = left <= 2 * cell <= right, left <= 2 * cell + 1 <= right
        if cell == half(row.rate) // 2:
            text.append("●", style=style)
        elif base is not None and cell == half(base) // 2:
            text.append("┿" if any(inside) else "│", style="bold")
        elif any(inside):
            text.append("━" if all(inside) else "╸" if inside[0] else "╺", style=style)
        else:
            text.append("·", style="dim")
    text.append(f" {percent(row.rate):>4}", style=style)
    return text
