"""``tree show --node ID``: everything that is known about one node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from xskill.errors import UsageError
from xskill.records import Node, Slot
from xskill.text.terminal import clean_line
from xskill.tree.numbers import count, factor, interval, percent, share
from xskill.tree.routine import chain
from xskill.tree.sentences import wide_facts
from xskill.tree.show import outline, tokens
from xskill.tree.summary import Routine, corpus_of, with_parts
from xskill.tree.xtree import XTree, by_id, parents

UNTYPED = "(none)"
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
    lift = "lift" if tree.header.outcome == "success" else "lift of failing"
    console.print(Text.assemble((clean_line(node.id), "bold"), "  ", tokens(chain(node.expansion))))
    _section(console, "steps", [(str(step), text) for step, text in enumerate(_steps(node), start=1)])
    _section(console, "numbers", [("", Text(fact)) for fact in _facts(row, corpus.base_rate, lift)])
    types = [UNTYPED if name is None else clean_line(name) for name in node.task_types or []]
    _section(console, "task types", [("", Text(name)) for name in types])
    _section(
        console, "made of", [(first + clean_line(r.node.id), _routine(r.node)) for first, _, r in outline(row.parts)]
    )
    nodes, above = by_id(tree), parents(tree)[node.id]
    whole = [(clean_line(name), _routine(nodes[name])) for name in above[:MOST_PARENTS]]
    if len(above) > MOST_PARENTS:
        whole.append(("…", Text(f"and {count(len(above) - MOST_PARENTS)} more", style="dim")))
    _section(console, "part of", whole)
    _section(console, "example", [("", Text(clean_line(action))) for action in node.example or []])


def _section(console: Console, title: str, rows: list[tuple[str, Text]]) -> None:
    """Rows under a title; continuation lines of a long row are indented like its text."""
    if not rows:
        return
    console.print()
    console.print(Text(title, style="bold magenta"))
    names = max(cell_len(name) for name, _ in rows)
    indent = 2 + (names + 2 if names else 0)
    for name, text in rows:
        for number, line in enumerate(text.wrap(console, max(20, console.width - indent))):
            line.rstrip()
            lead = "  " + (name if number == 0 else "")
            fill = " " * (indent - cell_len(lead))
            console.print(Text.assemble((lead, "dim"), fill, line), soft_wrap=True)


def _routine(node: Node) -> Text:
    return tokens(chain(node.expansion))


def _steps(node: Node) -> Iterator[Text]:
    """Each token with its slots: a variable that other slots share, a constant, or the usual values."""
    explained: set[str | None] = set()
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
            if slot.constant is None and slot.values and slot.variable not in explained:
                explained.add(slot.variable)
                usual = ", ".join(f"{value} {count(n)}" for value, n in slot.values[:MOST_VALUES])
                text.append(f"   ?{clean_line(slot.variable or '')}: {clean_line(usual)}", style="dim")
        yield text


def _facts(row: Routine, base: float | None, lift: str) -> list[str]:
    texts = []
    if row.share is not None:
        texts.append(f"covers {share(row.share)} of the actions of episodes with the mined outcome, as a whole tile")
    if row.rate is not None:
        whose = "its episodes" if row.node.episodes is not None else "its occurrences"
        against = "" if base is None else f", of all episodes {percent(base)}"
        texts.append(f"success of {whose} {percent(row.rate)} {interval(row.low, row.high)}{against}")
    if row.lift is not None:
        texts.append(f"{lift} {factor(row.lift)}")
    return texts + [fact for fact in wide_facts(row) if not fact.startswith("interval")]
