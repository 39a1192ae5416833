"""``tree show``: the same content in colour, in plain lines, as JSON, or in the authors' form."""

from __future__ import annotations

import io

import msgspec
from rich.console import Console

from xskill.tree.card import draw_card, find
from xskill.tree.forms import SHOW
from xskill.tree.plain import lines
from xskill.tree.show import draw
from xskill.tree.summary import Wanted, as_json, routine_json, summarise, with_parts
from xskill.tree.xtree import XTree

_UNLIMITED = 100_000


def report(tree: XTree, wanted: Wanted, form: str | None, terminal: Console | None) -> str | None:
    """The report as text; or None when it was drawn on ``terminal``.

    ``form`` is None (drawn on the terminal if there is one and it is not to be plain), ``json``, or one of
    :data:`xskill.tree.forms.SHOW`.

    Raises:
        UsageError: an unknown form, sort or node.
    """
    written = None if form in (None, "json") else SHOW[str(form)]
    if written is not None and written.whole_tree:
        return _compact(written.load()(tree.header, tree.nodes))
    if wanted.node is not None and written is None:
        if form == "json":
            node = find(tree, wanted.node)
            return _compact(routine_json(with_parts(node, tree, node.depth)))
        console = terminal if terminal is not None and not wanted.plain else _paper()
        draw_card(tree, wanted.node, console)
        return console.file.getvalue() if isinstance(console.file, io.StringIO) else None
    summary = summarise(tree, wanted)
    if written is not None:
        return str(written.load()(summary))
    if form == "json":
        return _compact(as_json(summary))
    if terminal is None or wanted.plain:
        return "\n".join(lines(summary))
    draw(summary, terminal)
    return None


def terminal() -> Console | None:
    """The console on stdout if a person looks at it (``FORCE_COLOR`` counts as one, ``TERM=dumb`` does not)."""
    console = Console(markup=False, emoji=False, highlight=False)
    return console if console.is_terminal and not console.is_dumb_terminal else None


def _paper() -> Console:
    """A console that writes unstyled lines, as long as they are, to a string."""
    return Console(file=io.StringIO(), width=_UNLIMITED, color_system=None, markup=False, emoji=False, highlight=False)


def _compact(value: object) -> str:
    return msgspec.json.encode(value).decode()
