"""``tree show`` for pipes: one routine a line, no colours, the same at any width.

Lines that are no routine begin with ``#``; the routine is the last column, so that the others stay where they are
for ``awk`` and ``sort``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.cells import cell_len

from xskill.text.terminal import clean_line
from xskill.tree.numbers import UNKNOWN, count, factor, interval, p_value, percent, points, share
from xskill.tree.routine import chain
from xskill.tree.sentences import facts, heading, notes, wide_facts
from xskill.tree.summary import Routine, Summary, adjusted_p
from xskill.tree.xtree import parents

Cell = Callable[[Routine], str]

_COLUMNS: tuple[tuple[str, Cell], ...] = (
    ("covers", lambda row: share(row.share)),
    ("n", lambda row: count(row.n)),
    ("success", lambda row: percent(row.rate)),
    ("interval", lambda row: interval(row.low, row.high)),
    ("lift", lambda row: factor(row.lift)),
)
_COMPARED: tuple[tuple[str, Cell], ...] = (
    ("in-success", lambda row: share(row.in_success)),
    ("in-failure", lambda row: share(row.in_failure)),
    ("difference", lambda row: points(row.contrast)),
)
_WIDE: tuple[tuple[str, Cell], ...] = (
    ("depth", lambda row: str(row.node.depth)),
    ("length", lambda row: str(row.node.length)),
    ("count", lambda row: count(row.node.count)),
    ("frequency", lambda row: count(row.node.frequency)),
    ("score", lambda row: UNKNOWN if row.node.score is None else f"{row.node.score:.6g}"),
    ("at-merge", lambda row: percent(row.node.success)),
    ("known", lambda row: count(row.node.episodes_known)),
    ("succeed", lambda row: count(row.node.episodes_success)),
    ("tiles", lambda row: count(row.node.tiles)),
    ("success-tiles", lambda row: count(row.node.tiles_success)),
    ("types", lambda row: UNKNOWN if row.node.task_types is None else str(len(row.node.task_types))),
    ("p", lambda row: p_value(row.node.p_value)),
    ("q", lambda row: p_value(adjusted_p(row.node))),
)


def lines(summary: Summary) -> Iterator[str]:
    """The whole report, line by line."""
    yield f"# {heading(summary.tree)}"
    yield f"# {facts(summary)}"
    rows = [(0, row) for group in summary.groups for row in group.routines]
    rows = [pair for level, row in rows for pair in _flat(level, row)]
    if not rows:
        return
    wanted = _COLUMNS + (_COMPARED if summary.wanted.compare else ()) + (_WIDE if summary.wanted.wide else ())
    columns = [(name, cell) for name, cell in wanted if any(cell(row) != UNKNOWN for _, row in rows)]
    names = [name for name, _ in columns]
    if summary.tree.header.outcome == "failure":
        names = ["fail-lift" if name == "lift" else name for name in names]
    table = [["id", *names, "task-type", "routine"]]
    for level, row in rows:
        task_type = UNKNOWN if row.task_type is None else clean_line(row.task_type).replace(" ", "_")
        cells = [cell(row).replace(", ", ",") for _, cell in columns]
        table.append([clean_line(row.node.id), *cells, task_type, "  " * level + chain(row.node.expansion)])
    if all(cells[-2] == UNKNOWN for cells in table[1:]):
        table = [[*cells[:-2], cells[-1]] for cells in table]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    left = {0, len(widths) - 2} if "task-type" in table[0] else {0}
    above = parents(summary.tree) if summary.wanted.parents else {}
    for number, cells in enumerate(table):
        padded = [_pad(cell, widths[i], i in left) for i, cell in enumerate(cells[:-1])]
        yield "  ".join([*padded, cells[-1]])
        if number:
            row = rows[number - 1][1]
            yield from (f"#   {' · '.join(note)}" for note in notes(row, summary, above) if note != wide_facts(row))


def _flat(level: int, row: Routine) -> Iterator[tuple[int, Routine]]:
    yield level, row
    for part in row.parts:
        yield from _flat(level + 1, part)


def _pad(text: str, width: int, left: bool) -> str:
    fill = " " * (width - cell_len(text))
    return text + fill if left else fill + text
