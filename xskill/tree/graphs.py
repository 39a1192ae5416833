"""``tree show --as dot | mermaid | markdown``: the shown routines for documents and other tools.

Every text from the file is cleaned and escaped for its target.
"""

from __future__ import annotations

from collections.abc import Iterator

from xskill.text.terminal import clean_line
from xskill.tree.numbers import count, factor, interval, percent, share
from xskill.tree.routine import ARROW, links
from xskill.tree.sentences import facts, heading
from xskill.tree.summary import Routine, Summary


def _walk(summary: Summary) -> Iterator[tuple[Routine | None, Routine]]:
    """Every (whole, part), each pair once, roots with None."""
    seen: set[tuple[str | None, str]] = set()

    def visit(whole: Routine | None, row: Routine) -> Iterator[tuple[Routine | None, Routine]]:
        key = (whole.node.id if whole else None, row.node.id)
        if key not in seen:
            seen.add(key)
            yield whole, row
        for part in row.parts:
            yield from visit(row, part)

    for group in summary.groups:
        for row in group.routines:
            yield from visit(None, row)


def _label(row: Routine) -> list[str]:
    lines = [clean_line(row.node.id), ARROW.join(links(row.node.expansion)), f"{count(row.n)} ×"]
    if row.node.episodes is not None:
        lines[2] = f"{count(row.n)} episodes"
    if row.rate is not None:
        lines[2] += f", success {percent(row.rate)}"
    return lines


def dot(summary: Summary) -> str:
    """A Graphviz digraph: an edge from each routine to its parts."""

    def quoted(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"')

    lines = ["digraph xtree {", '  rankdir="LR";', '  node [shape="box", fontname="monospace"];']
    drawn: dict[str, int] = {}
    for whole, row in _walk(summary):
        if row.node.id not in drawn:
            drawn[row.node.id] = len(drawn)
            label = "\\l".join(quoted(line) for line in _label(row)) + "\\l"
            lines.append(f'  n{drawn[row.node.id]} [label="{label}"];')
        if whole is not None:
            lines.append(f"  n{drawn[whole.node.id]} -> n{drawn[row.node.id]};")
    return "\n".join([*lines, "}"])


def mermaid(summary: Summary) -> str:
    """A Mermaid flowchart: an edge from each routine to its parts."""

    def quoted(text: str) -> str:
        text = text.replace("&", "&amp;").replace("#", "&num;").replace('"', "&quot;").replace("`", "&#96;")
        return text.replace("<", "&lt;").replace(">", "&gt;")

    lines = ["flowchart LR"]
    drawn: dict[str, int] = {}
    for whole, row in _walk(summary):
        if row.node.id not in drawn:
            drawn[row.node.id] = len(drawn)
            label = "<br/>".join(quoted(line) for line in _label(row))
            lines.append(f'  n{drawn[row.node.id]}["{label}"]')
        if whole is not None:
            lines.append(f"  n{drawn[whole.node.id]} --> n{drawn[row.node.id]}")
    return "\n".join(lines)


def markdown(summary: Summary) -> str:
    """A table for each group of routines."""

    def escaped(text: str) -> str:
        for character in "\\`*_[]|#":
            text = text.replace(character, "\\" + character)
        return text.replace("<", "&lt;").replace(">", "&gt;")

    lines = [f"**{escaped(heading(summary.tree))}**", "", escaped(facts(summary))]
    for group in summary.groups:
        if len(summary.groups) > 1 or group.task_type is not None:
            lines += ["", f"### {escaped(clean_line(group.task_type or 'several task types'))}"]
        lines += ["", "| id | routine | covers | n | success | 95% | lift |", "|---|---|---:|---:|---:|---|---:|"]
        for row in group.routines:
            cells = [clean_line(row.node.id), ARROW.join(links(row.node.expansion)), share(row.share), count(row.n)]
            cells += [percent(row.rate), interval(row.low, row.high), factor(row.lift)]
            lines.append("| " + " | ".join(map(escaped, cells)) + " |")
    return "\n".join(lines)
