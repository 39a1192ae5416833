"""``rollout show --as html``: one self-contained page, no script, no request; every text of the log is escaped."""

from __future__ import annotations

from html import escape

from xskill.rollouts.question_lines import heading
from xskill.rollouts.question_view import Leaf, ShownTurn, View
from xskill.text.terminal import clean

_LONGEST = 4000
"""Characters of an observation that are kept."""

_STYLE = """
:root { --ink: #1d2327; --faint: #6b757d; --line: #d5dade; --paper: #fff; --good: #0b7a3b; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e3e7ea; --faint: #94a0a8; --line: #3a4248; --paper: #16191c; --good: #4cc38a; --bad: #f2716b; }
}
* { box-sizing: border-box; }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.2rem; margin: 0 0 .2rem; } h2 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
p, .faint { color: var(--faint); } p { margin: .2rem 0; white-space: pre-wrap; }
a { color: inherit; } ol { padding-left: 1.4rem; }
ul { list-style: none; margin: 0; padding-left: 1.1rem; border-left: 1px solid var(--line); }
.tree > ul { padding-left: 0; border: 0; }
summary { cursor: pointer; display: flex; gap: .7rem; align-items: center; padding: .1rem .2rem; border-radius: 4px; }
summary:hover, :target > summary { background: color-mix(in srgb, var(--line) 45%, transparent); }
.name { flex: 1; min-width: 8rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.choice > summary .name { font-weight: 600; }
.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { position: relative; width: 7rem; height: .7rem; flex: none; border-left: 1px solid transparent; }
.bar::before { content: ""; position: absolute; left: 50%; top: -2px; bottom: -2px;
  border-left: 1px solid var(--faint); }
.bar i { position: absolute; top: 0; bottom: 0; } .good { color: var(--good); } .bad { color: var(--bad); }
.bar .good { background: var(--good); left: 50%; } .bar .bad { background: var(--bad); right: 50%; }
pre { margin: .2rem 0 .5rem 1.2rem; padding: .5rem .7rem; white-space: pre-wrap; overflow-wrap: anywhere;
  border: 1px solid var(--line); border-radius: 6px; max-height: 20rem; overflow: auto; font-size: 13px; }
"""


def page(view: View, top: int = 5) -> str:
    """The tree as a page: the decisive turns with links into it, and the tree to fold and unfold."""
    title = escape(clean(view.question_id))
    parts = [
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head><body>',
        f"<h1>{title}</h1><p>{escape(heading(view))}</p>",
    ]
    if view.task:
        parts.append(f"<p>{escape(clean(view.task))}</p>")
    decisive = view.decisive(top)
    if decisive:
        parts.append("<h2>Decisive turns</h2><ol>")
        parts += [_decisive(turn) for turn in decisive]
        parts.append("</ol>")
    parts.append('<h2>Tree</h2><div class="tree">')
    parts += _tree(view)
    parts.append("</div></body></html>")
    return "\n".join(parts)


def _decisive(turn: ShownTurn) -> str:
    others = f"{turn.alternatives} other action" + ("s" if turn.alternatives > 1 else "")
    return (
        f'<li><span class="number {_tone(turn.contrast)}">{turn.contrast:+.2f}</span> '
        f'<a href="#t{turn.number}">{escape(clean(turn.action))}</a> '
        f'<span class="faint">turn {turn.depth - 1}, against {others}</span></li>'
    )


def _tree(view: View) -> list[str]:
    """Nested lists without recursion: a tree may be deeper than Python's stack. A run without a choice is one list."""
    scale = max((abs(turn.credit) for turn in view.turns if turn.credit is not None), default=0.0)
    root = view.turns[0]
    parts = ["<ul>", *_leaf_items(root)]
    stack: list[str | int] = list(reversed([*root.children, "</ul>"]))
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        turn = view.turns[item]
        parts.append(f"<li>{_turn(turn, scale)}</li>")
        parts += _leaf_items(turn)
        if len(turn.children) == 1:
            stack.append(turn.children[0])
        elif turn.children:
            parts.append("<li><ul>")
            stack += ["</ul></li>", *reversed(turn.children)]
    return parts


def _turn(turn: ShownTurn, scale: float) -> str:
    choice = ' class="choice"' if turn.alternatives else ""
    body = clean(turn.observation)
    if len(body) > _LONGEST:
        body = body[:_LONGEST] + "…"
    thought = next((clean(step.thought) for step in turn.steps if step.thought), "")
    inside = "".join(f"<pre>{escape(text)}</pre>" for text in (clean(turn.action), thought, body) if text)
    return (
        f'<details id="t{turn.number}"{choice}><summary><span class="name">{escape(clean(turn.action))}</span>'
        f"{_numbers(turn, scale)}</summary>{inside}</details>"
    )


def _numbers(turn: ShownTurn, scale: float) -> str:
    cells = [f"×{turn.n}", "V –" if turn.value is None else f"V {turn.value:+.2f}"]
    bar = ""
    if turn.credit is not None:
        width = 50 * abs(turn.credit) / scale if scale else 0
        bar = f'<span class="bar"><i class="{_tone(turn.credit)}" style="width:{width:.1f}%"></i></span>'
        bar += f'<span class="number {_tone(turn.credit)}">{turn.credit:+.2f}</span>'
    after = [] if turn.target is None else [f"q {turn.target:.3f}"]
    first = turn.steps[0] if turn.steps else None
    if first is not None:
        known = (("N", first.visits), ("Q", first.q), ("P", first.prior))
        after += [f"{name} {value:.3g}" for name, value in known if value is not None]
    before = " ".join(f'<span class="number faint">{cell}</span>' for cell in cells)
    return before + bar + "".join(f'<span class="number faint">{cell}</span>' for cell in after)


def _leaf_items(turn: ShownTurn) -> list[str]:
    return [f"<li>{_leaf(leaf)}</li>" for leaf in turn.leaves]


def _leaf(leaf: Leaf) -> str:
    name = escape(clean(leaf.id))
    if leaf.reward is None:
        return f'<span class="faint">unfinished: {name}</span>'
    won = leaf.success if leaf.success is not None else leaf.reward > 0
    return f'<span class="{"good" if won else "bad"}">{"✓" if won else "✗"} reward {leaf.reward:g}: {name}</span>'


def _tone(value: float) -> str:
    return "good" if value > 0 else "bad" if value < 0 else "faint"
