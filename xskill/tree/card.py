"""``tree show --node ID``: everything that is known about one node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from xskill.errors import UsageError
from xskill.records import Node, Slot
from xskill.streams.terminal import clean_line
from xskill.tree.model import XTree, by_id, parents
from xskill.tree.numbers import count, factor, interval, percent, share
from xskill.tree.routine import chain
from xskill.tree.show import outline, tokens, verdict
from xskill.tree.summary import Routine, corpus_of, with_parts
from xskill.tree.wording import wide_facts

MOST_VALUES = 4
MOST_PARENTS = 12


def find(tree: XTree, name: str) -> Node:
    """The node with this id.

    Raises:
        UsageError: there is none.
    """
    node = by_id(tree).get(name)
    if node is None:
        first, last = (tree.nodes[0].id, tree.nodes[-1].id) if tree.nodes else ("", "")
        has = f"it has {first} to {last}" if tree.nodes else "it is empty"
        raise UsageError(f"--node {name}: no such node in the tree; {has}")
    return node


def draw_card(tree: XTree, name: str, console: Console) -> None:
    """Print one node: its steps with their slots, its statistics, its parts, what it is part of, an example."""
    node, corpus = find(tree, name), corpus_of(tree)
    row = with_parts(node, tree, node.depth)
    console.print(Text(clean_line(node.id), style="bold") + Text("  ") + tokens(chain(node.expansion)))
    console.print()
    _print(console, [(str(step + 1), text) for step, text in enumerate(_steps(node))])
    _section(console, "statistics", [("", Text(fact)) for fact in _facts(row, corpus.base_rate)])
    if node.task_types:
        names = [UNTYPED if name is None else clean_line(name) for name in node.task_types]
        _section(console, "task types", [("", Text(name)) for name in names])
    if row.parts:
        _section(console, "made of", list(_parts(row.parts)))
    above = parents(tree)[node.id]
    if above:
        nodes = by_id(tree)
        shown = [(clean_line(parent), tokens(chain(nodes[parent].expansion))) for parent in above[:MOST_PARENTS]]
        more = [("…", Text(f"and {count(len(above) - MOST_PARENTS)} more"))] if len(above) > MOST_PARENTS else []
        _section(console, "part of", shown + more)
    if node.example:
        _section(console, "example", [("", Text(clean_line(action))) for action in node.example])


UNTYPED = "(none)"


def _steps(node: Node) -> Iterator[Text]:
    """Each token with its slots: a variable that other slots share, a constant, or the usual values."""
    slots: dict[int, list[Slot]] = defaultdict(list)
    for slot in node.slots or []:
        slots[slot.step].append(slot)
    for step, token in enumerate(node.expansion):
        text = tokens(clean_line(token))
        here = sorted(slots[step], key=lambda slot: slot.index)
        if here:
            names = [f"?{slot.variable}" if slot.constant is None else slot.constant for slot in here]
            text.append(f"({clean_line(', '.join(names))})", style="bold")
        for slot in here:
            if slot.constant is None and slot.values:
                usual = ", ".join(f"{value} {count(n)}" for value, n in slot.values[:MOST_VALUES])
                text.append(f"   ?{clean_line(slot.variable or '')}: {clean_line(usual)}", style="dim")
        yield text


def _facts(row: Routine, base: float | None) -> list[str]:
    facts = []
    if row.share is not None:
        facts.append(f"covers {share(row.share)} of the actions of the {'successful' if row.share else ''} episodes")
    if row.rate is not None:
        against = "" if base is None else f", of all {percent(base)}"
        facts.append(f"success {percent(row.rate)} {interval(row.low, row.high)}{against}")
    if row.lift is not None:
        facts.append(f"lift {factor(row.lift)}")
    return facts + wide_facts(row)


def _parts(rows: tuple[Routine, ...]) -> Iterator[tuple[str, Text]]:
    for first, _, row in outline(rows):
        yield first + clean_line(row.node.id), tokens(chain(row.node.expansion))
