"""A tree, and episodes tiled by it, as one HTML file: no network, no dependency, nothing of a log ever markup."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any

from xskill.records import Trajectory
from xskill.text.terminal import clean, clean_line
from xskill.tree.explorer.shown_episodes import Shown, shown_part
from xskill.tree.replay import Tiler, encode, tiler
from xskill.tree.sentences import facts, heading
from xskill.tree.summary import Wanted, adjusted_p, corpus_of, routine, summarise
from xskill.tree.xtree import XTree, roots

SCRIPTS = ("data.js", "parts.js", "state.js", "table.js", "icicle.js", "card.js", "episodes.js", "main.js")
MOST_BYTES = 2_900_000
LIMITS = ((600, 1000), (300, 1000), (160, 500), (80, 300), (40, 200), (0, 100), (0, 40))
"""(characters of an observation, steps of an episode) to try, the first that keeps the file below MOST_BYTES."""
MOST_ACTION = 400
MOST_SLOT_VALUES = 4
FIELDS = (
    "id", "left", "right", "count", "n", "rate", "low", "high", "lift", "p", "q",
    "tiles", "tiles_success", "weight", "share", "root", "types", "slots", "example",
)  # fmt: skip
_SPECIAL = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


class Texts:
    """Every text once; the data refer to it by its index, -1 being none."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._places: dict[str, int] = {}

    def of(self, text: str | None) -> int:
        """Index of a text, cleaned of control and direction characters."""
        if text is None:
            return -1
        place = self._places.get(text)
        if place is None:
            place = self._places[text] = len(self.all)
            self.all.append(clean(text))
        return place


def page(tree: XTree, episodes: Sequence[Trajectory] = ()) -> str:
    """The whole file; observations and long episodes are cut as far as its size demands."""
    ready = tiler(tree)
    for characters, steps in LIMITS:
        shown = [shown_part(episode, steps) for episode in episodes]
        data = _escaped(_data(tree, ready, shown, characters))
        if len(data) <= MOST_BYTES or (characters, steps) == LIMITS[-1]:
            break
    files = resources.files(__package__)
    style = files.joinpath("style.css").read_text(encoding="utf-8")
    parts = [files.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    policy = (
        f"default-src 'none'; script-src '{_sha256(script)}'; style-src '{_sha256(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    text = files.joinpath("page.html").read_text(encoding="utf-8")
    marks = {"CSP": policy, "TITLE": html.escape(heading(tree)), "STYLE": style, "SCRIPT": script, "DATA": data}
    return re.sub("@([A-Z]+)@", lambda match: marks[match.group(1)], text)  # in one pass: a log may hold any mark


def _sha256(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _escaped(value: Any) -> str:
    """JSON that cannot end its script element or begin a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character, escape in _SPECIAL.items():
        text = text.replace(character, escape)
    return text


def _data(tree: XTree, ready: Tiler, episodes: Sequence[Shown], characters: int) -> dict[str, Any]:
    texts = Texts()
    tokens = [clean_line(token) for token in ready.codes]
    places = {token: place for place, token in enumerate(tokens)}
    summary = summarise(tree, Wanted(top=1, depth=0))
    packed = [_episode(episode, ready, tokens, places, texts, characters) for episode in episodes]
    return {
        "title": heading(tree),
        "facts": facts(summary),
        "base": _round(corpus_of(tree).base_rate),
        "tiled": any(node.episodes is not None for node in tree.nodes),
        "fields": FIELDS,
        "nodes": _nodes(tree, ready, texts),
        "types": [texts.of(name) for name in sorted({t for node in tree.nodes for t in node.task_types or [] if t})],
        "tokens": tokens,
        "episodes": packed,
        "texts": texts.all,
    }


def _nodes(tree: XTree, ready: Tiler, texts: Texts) -> Iterable[list[Any]]:
    corpus, whole = corpus_of(tree), {node.id for node in roots(tree)}

    def side(symbol: int) -> int:
        return symbol - ready.n_primitives if symbol >= ready.n_primitives else -1 - symbol

    rows = []
    for node, (left, right) in zip(tree.nodes, ready.pairs, strict=True):
        row = routine(node, tree, corpus)
        slots = [
            [
                slot.step,
                texts.of(slot.constant if slot.constant is not None else slot.variable or ""),
                slot.constant is None,
                [[texts.of(value[:MOST_ACTION]), n] for value, n in slot.values[:MOST_SLOT_VALUES]],
            ]
            for slot in sorted(node.slots or [], key=lambda slot: (slot.step, slot.index))
        ]
        fields = {
            "id": clean_line(node.id),
            "left": side(left),
            "right": side(right),
            "count": node.count,
            "n": row.n,
            "rate": _round(row.rate),
            "low": _round(row.low),
            "high": _round(row.high),
            "lift": _round(row.lift),
            "p": _round(node.p_value),
            "q": _round(adjusted_p(node)),
            "tiles": node.tiles,
            "tiles_success": node.tiles_success,
            "weight": int(row.weight),
            "share": _round(row.share),
            "root": int(node.id in whole),
            "types": [texts.of(name or "") for name in node.task_types or []],
            "slots": slots,
            "example": [texts.of(action[:MOST_ACTION]) for action in node.example or []],
        }
        rows.append([fields[name] for name in FIELDS])
    return rows


def _episode(
    episode: Shown, ready: Tiler, tokens: list[str], places: dict[str, int], texts: Texts, characters: int
) -> dict[str, Any]:
    tiles = []
    for symbol, position in encode(ready, episode.actions):
        if ready.n_primitives <= symbol < ready.width - 1:
            tiles.append(symbol - ready.n_primitives)
        else:
            token = clean_line(episode.actions[position])
            if token not in places:
                places[token] = len(tokens)
                tokens.append(token)
            tiles.append(-1 - places[token])
    seen = [texts.of(_cut(observation, characters)) for observation in episode.observations] if characters else []
    return {
        "id": clean_line(episode.id),
        "task": texts.of(_cut(episode.task, MOST_ACTION)),
        "type": texts.of(episode.task_type),
        "success": episode.success,
        "tiles": tiles,
        "raw": [texts.of(_cut(action, MOST_ACTION)) for action in episode.raw],
        "seen": seen,
        "shown": len(episode.actions),
        "hidden": episode.hidden,
    }


def _cut(text: str | None, characters: int) -> str | None:
    if not text:
        return None
    return text if len(text) <= characters else text[: characters - 1] + "…"


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 5)
