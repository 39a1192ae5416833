"""``rollout show`` in a terminal: the decisive turns, then the tree.

Nothing from the log is interpreted: every text is cleaned of control characters and goes into
:class:`rich.text.Text`, never into markup.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import set_cell_size
from rich.console import Console
from rich.text import Text

from xskill.rollouts.question_view import Leaf, ShownTurn, View
from xskill.text.terminal import clean_line

BAR = 11
"""Cells of a credit bar; the middle one is zero."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_DEEPEST = 48
"""Cells of guides; deeper branches show the nearest ones only."""
_KEEP = 3
"""A longer run of turns without a choice is shortened to its first and last."""


def draw(view: View, console: Console, top: int = 5, every_turn: bool = False) -> None:
    """Print the tree in the width of ``console``."""
    console.print(Text(heading(view), style="bold"))
    if view.task:
        console.print(Text(_cut(view.task, console.width), style="dim"))
    scale = max((abs(turn.contrast) for turn in view.turns), default=0.0)
    decisive = view.decisive(top)
    if decisive:
        console.print()
        console.print(Text("decisive turns", style="bold"), Text(" (against the other actions at that point)", "dim"))
        for turn in decisive:
            console.print(_decisive(view, turn, scale, console.width), soft_wrap=True)
    console.print()
    for line in tree(view, console.width, every_turn):
        console.print(line, soft_wrap=True)


def heading(view: View) -> str:
    """What the tree holds, on one line."""
    parts = [clean_line(view.question_id), f"{view.n} rollout" + ("s" if view.n != 1 else "")]
    if view.mean_reward is not None:
        parts.append(f"mean reward {view.mean_reward:.3g}")
    if view.finished < view.n:
        parts.append(f"{view.n - view.finished} unfinished")
    parts.append(f"{len(view.turns) - 1} turns, each shared one once")
    parts.append("V and credits of the credit run" if view.credited else "V = mean reward below")
    if view.n_questions > 1:
        parts.append(f"1 of {view.n_questions:,} questions (--question ID)")
    return " · ".join(parts)


def tree(view: View, width: int, every_turn: bool = False) -> Iterator[Text]:
    """The lines of the tree. Turns in a row without a choice stand under each other, branches are indented."""
    scale = max((abs(turn.credit) for turn in view.turns if turn.credit is not None), default=0.0)
    root = view.turns[0]
    stack: list[tuple[int, str, str]] = []

    def push(parent: ShownTurn, guides: str) -> None:
        if len(guides) > _DEEPEST:
            guides = "⋯ " + guides[4 - _DEEPEST :]
        last = len(parent.children) - 1
        for index in range(last, -1, -1):
            here, below = ("└ ", "  ") if index == last else ("├ ", "│ ")
            stack.append((parent.children[index], guides + here, guides + below))

    rows = [Row("", Text("start", style="dim"), Text(), _leaves(root))]
    if len(root.children) == 1:
        stack.append((root.children[0], "", ""))
    else:
        push(root, "")
    while stack:
        number, here, below = stack.pop()
        run = [view.turns[number]]
        while len(run[-1].children) == 1 and not run[-1].leaves:
            run.append(view.turns[run[-1].children[0]])
        shown = run if every_turn or len(run) <= _KEEP else [run[0], run[-1]]
        for turn in shown:
            if turn is run[-1] and len(shown) < len(run):
                rows.append(Row(below, Text(f"⋮ {len(run) - 2} turns without a choice", style="dim"), Text(), Text()))
            name = Text(clean_line(turn.action), style="bold" if turn.alternatives else "")
            rows.append(
                Row(here if turn is run[0] else below, name, _numbers(turn, scale, view.credited), _leaves(turn))
            )
        push(run[-1], below)
    yield from _aligned(rows, width)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the tree before it is set."""

    guides: str
    name: Text
    numbers: Text
    leaves: Text


def _aligned(rows: list[Row], width: int) -> Iterator[Text]:
    """Numbers in one column, as near to the names as the longest of these allows."""
    numbers = max(row.numbers.cell_len for row in rows)
    leaves = min(24, max(row.leaves.cell_len for row in rows))
    longest = max(len(row.guides) + row.name.cell_len for row in rows)
    room = max(24, min(longest, width - numbers - leaves - 2))
    for row in rows:
        line = Text(row.guides, style="dim")
        name = row.name
        if len(row.guides) + name.cell_len > room:
            name = Text(_cut(name.plain, max(8, room - len(row.guides))), style=name.style)
        line.append_text(name)
        line.append(" " * max(1, room - line.cell_len + 2))
        line.append_text(row.numbers)
        line.append_text(row.leaves)
        line.rstrip()
        yield line


def _numbers(turn: ShownTurn, scale: float, credited: bool) -> Text:
    text = Text()
    text.append(f"×{turn.n:<3d} ", style="dim" if turn.n == 1 else "")
    value = "    –" if turn.value is None else f"{turn.value:+5.2f}" if credited else f"{turn.value:5.2f}"
    text.append(f"V {value}")
    if turn.credit is not None:
        text.append(" ")
        text.append_text(bar(turn.credit, scale))
        text.append(f" {turn.credit:+5.2f}", style=colour(turn.credit))
    if turn.target is not None:
        text.append(f"  q {turn.target:.3f}")
    first = turn.steps[0] if turn.steps else None
    if first is not None and first.visits is not None:
        text.append(f"  N {first.visits}")
    if first is not None and first.q is not None:
        text.append(f"  Q {first.q:.2f}")
    if first is not None and first.prior is not None:
        text.append(f"  P {first.prior:.2f}", style="dim")
    return text


def _leaves(turn: ShownTurn) -> Text:
    text = Text()
    for leaf in turn.leaves:
        text.append("  ")
        text.append_text(outcome(leaf))
    return text


def outcome(leaf: Leaf) -> Text:
    """``✓ id``, ``✗ id``, ``0.4 id`` or ``… id`` (unfinished)."""
    name = clean_line(leaf.id)
    if leaf.reward is None:
        return Text(f"… {name}", style="yellow")
    won = leaf.success if leaf.success is not None else {0.0: False, 1.0: True}.get(leaf.reward)
    if won is None:
        return Text(f"{leaf.reward:g} {name}")
    mark = "✓" if won else "✗"
    amount = "" if leaf.reward in (0.0, 1.0) else f" {leaf.reward:g}"
    return Text(f"{mark}{amount} {name}", style="green" if won else "red")


def colour(credit: float) -> str:
    """Green above zero, red below."""
    return "green" if credit > 0 else "red" if credit < 0 else ""


def bar(credit: float, scale: float) -> Text:
    """A bar from the middle to the right (green) or to the left (red); full at ``scale``."""
    half = BAR // 2
    eighths = round(min(1.0, abs(credit) / scale) * half * 8) if scale else 0
    cells = "".join(_EIGHTHS[max(0, min(8, eighths - 8 * i))] for i in range(half))
    if credit < 0:
        # No left-growing eighths in every font: half cells are fine enough.
        blocks = "".join("█" if c == "█" else "▐" if _EIGHTHS.index(c) >= 4 else " " for c in cells)
        text = Text(blocks[::-1], style="red")
        return text.append("│", style="dim").append(" " * half)
    text = Text(" " * half).append("│", style="dim")
    return text.append(cells, style="green")


def _decisive(view: View, turn: ShownTurn, scale: float, width: int) -> Text:
    line = Text("  ").append_text(bar(turn.contrast, scale)).append(f" {turn.contrast:+5.2f} ", colour(turn.contrast))
    before = view.turns[turn.parent or 0]
    tail = f"   turn {turn.depth - 1}, {turn.alternatives} other" + ("s" if turn.alternatives > 1 else "")
    after = f", after: {clean_line(before.action)}" if before.steps else ", first turn"
    room = max(20, width - line.cell_len - len(tail) - 2)
    action = _cut(turn.action, max(12, room * 2 // 3))
    line.append(action, style="bold").append(tail, style="dim")
    return line.append(_cut(after, max(0, width - line.cell_len - 1)), style="dim")


def _cut(text: str, width: int) -> str:
    line = clean_line(text)
    if len(line) <= width and Text(line).cell_len <= width:
        return line
    return set_cell_size(line, max(0, width - 1)).rstrip() + "…" if width > 1 else ""
