"""One view, as a drawing on the terminal, plain lines, a page or JSON."""

from __future__ import annotations

import io
from typing import Any, Literal

import msgspec
from rich.console import Console

from xskill.rollouts.question_lines import draw
from xskill.rollouts.question_page import page
from xskill.rollouts.question_view import View

PAPER = 160
"""Columns of the drawing when nobody looks at it in a terminal, so that it is the same everywhere."""


def render(
    view: View, form: Literal["json", "html"] | None, top: int, every_turn: bool, *, to_file: bool
) -> str | None:
    """The report as text; None when it was drawn on the terminal."""
    if form == "html":
        return page(view, top)
    if form == "json":
        return msgspec.json.encode(as_json(view, top)).decode()
    console = Console(markup=False, emoji=False, highlight=False)
    if console.is_terminal and not console.is_dumb_terminal and not to_file:
        draw(view, console, top, every_turn)
        return None
    paper = io.StringIO()
    draw(view, Console(file=paper, width=PAPER, color_system=None, markup=False, highlight=False), top, every_turn)
    return paper.getvalue()


def as_json(view: View, top: int) -> dict[str, Any]:
    """The view as plain values; ``decisive`` holds the numbers of the turns."""
    turns = [
        {
            "number": turn.number,
            "parent": turn.parent,
            "depth": turn.depth,
            "action": turn.action,
            "n": turn.n,
            "value": turn.value,
            "credit": turn.credit,
            "target": turn.target,
            "contrast": turn.contrast,
            "alternatives": turn.alternatives,
            "leaves": [{"id": leaf.id, "reward": leaf.reward, "success": leaf.success} for leaf in turn.leaves],
        }
        for turn in view.turns
    ]
    return {
        "question_id": view.question_id,
        "task": view.task,
        "rollouts": view.n,
        "finished": view.finished,
        "mean_reward": view.mean_reward,
        "credited": view.credited,
        "questions": view.n_questions,
        "decisive": [turn.number for turn in view.decisive(top)],
        "turns": turns,
    }
