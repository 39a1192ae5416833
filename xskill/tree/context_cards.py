"""Context cards for on-policy self-distillation: what experts do in this kind of task, for the teacher's prompt only.

X-Tree, arXiv 2609.32993 (self-distillation integration). A card has a header that names the task type, a line of
provenance, up to six routines and a closing line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from xskill.errors import BadData, UsageError
from xskill.records import Episode, Node, Slot, Trajectory
from xskill.text.quoted import NOTE, estimate_tokens, exact, named
from xskill.tree.numbers import count, percent, plural
from xskill.tree.shaping import refuse_failures
from xskill.tree.summary import MinedCorpus, Routine, corpus_of, routine
from xskill.tree.xtree import XTree, by_id, roots

if TYPE_CHECKING:
    from xskill.streams.run import Run

MOST_ROUTINES = 6
PLAN = "Plan: follow the first routine that fits the current state, then choose again."


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One card, as a line of JSON."""

    id: str
    """Id of the episode, or the task type."""
    context: str
    """Empty when the tree knows nothing that fits."""
    n_tokens: int
    """Estimate, at four characters a token."""


@dataclass(frozen=True, slots=True)
class Deck:
    """A tree made ready for cards: its routines, best first."""

    routines: tuple[Routine, ...]
    """Most successful first (by the lower bound), or most standard first (by the steps that they cover) in a tree that
    knows successes only."""
    inside: Mapping[str, frozenset[str]]
    """Ids of the nodes that each routine holds, itself among them."""
    corpus: MinedCorpus
    provenance: str
    typed: bool
    """Does any node tell its task types? If not, as in the authors' files, all routines fit any task type."""


def deck_of(tree: XTree) -> Deck:
    """Make ``tree`` ready.

    Raises:
        BadData: a tree of failures.
    """
    refuse_failures(tree, "a card")
    corpus = corpus_of(tree)
    rows = [routine(node, tree, corpus) for node in roots(tree)]
    rated = any(row.low is not None for row in rows)
    rows.sort(key=lambda row: (-(row.low or 0.0) if rated else 0.0, -row.weight, row.node.id))
    nodes, inside = by_id(tree), dict[str, frozenset[str]]()
    for node in tree.nodes:
        inside[node.id] = frozenset([node.id]).union(*(inside[child] for child in node.children if child in nodes))
    typed = any(node.task_types for node in tree.nodes)
    return Deck(tuple(rows), inside, corpus, _provenance(tree, corpus), typed)


def _provenance(tree: XTree, corpus: MinedCorpus) -> str:
    n, success = tree.header.corpus.n_trajectories, tree.header.stats.get("episodes_success")
    if isinstance(success, int) and n is not None and corpus.base_rate not in (None, 1):
        return f"Mined from {count(n)} episodes, of which {count(success)} succeeded ({percent(corpus.base_rate)})."
    if n is None:
        return "Mined from expert episodes."
    kind = "expert episodes" if tree.header.corpus.successful_only or corpus.base_rate == 1 else "episodes"
    return f"Mined from {count(n)} {kind}."


def card(
    deck: Deck,
    *,
    task_type: str | None = None,
    prefix: Sequence[str] = (),
    budget: int | None = None,
    most: int = MOST_ROUTINES,
) -> str:
    """The card for a task type and the tokens of the episode so far.

    Routines that the last actions have begun come first (longest beginning first), then those seen in the task type;
    without a task type and without a prefix, all. One that is a part of a chosen one, or holds one, is left out.

    Args:
        budget: most tokens (:func:`estimate_tokens`); routines are left out, the last first, until the card fits.

    Returns:
        The text, or an empty one when no routine fits.

    Raises:
        UsageError: a budget or number of routines below 1.
    """
    if most < 1 or (budget is not None and budget < 1):
        raise UsageError("the number of routines and the budget must be at least 1")
    by_type = task_type is not None and deck.typed
    every = (task_type is not None and not deck.typed) or (task_type is None and not prefix)
    fitting = [
        (done, row)
        for done, row in ((began(row.node, prefix), row) for row in deck.routines)
        if done or every or (by_type and task_type in (row.node.task_types or []))
    ]
    fitting.sort(key=lambda pair: -pair[0])
    chosen: list[tuple[int, Routine]] = []
    for done, row in fitting:
        if len(chosen) == most:
            break
        held = deck.inside[row.node.id]
        if not any(row.node.id in deck.inside[other.node.id] or other.node.id in held for _, other in chosen):
            chosen.append((done, row))
    header = f"Routines for the task type {named(task_type)}" if task_type is not None else "Routines"
    bullets = [_bullet(row, done, deck.corpus) for done, row in chosen]
    while bullets:
        lines = [header, deck.provenance, *bullets, PLAN]
        text = "\n".join([*lines, NOTE] if any("`" in line for line in lines) else lines)
        if budget is None or estimate_tokens(text) <= budget:
            return text
        bullets.pop()
    return ""


def cards(
    tree: XTree, episodes: Iterable[Episode | Trajectory], *, budget: int | None = None, most: int = MOST_ROUTINES
) -> Iterator[Card]:
    """A card for each episode, by its task type and its actions so far.

    Args:
        tree: mined from successes, or from both.
        budget: most tokens of a card.
        most: most routines of a card.

    Raises:
        BadData: a tree of failures.
        UsageError: a budget or number of routines below 1.
    """
    deck = deck_of(tree)
    for episode in episodes:
        text = card(deck, task_type=episode.task_type, prefix=episode.actions, budget=budget, most=most)
        yield Card(id=episode.id, context=text, n_tokens=estimate_tokens(text))


def type_cards(
    tree: XTree,
    task_types: Sequence[str] = (),
    *,
    by_type: bool = False,
    budget: int | None = None,
    most: int = MOST_ROUTINES,
    run: Run | None = None,
) -> Iterator[Card]:
    """A card for each of these task types, and with ``by_type`` for each that the tree tells; empty where none fits.

    Args:
        run: is told of task types that no routine was seen in, and counts the cards.

    Raises:
        BadData: a tree of failures; or, with ``by_type``, one that tells no task types.
        UsageError: a budget or number of routines below 1.
    """
    deck = deck_of(tree)
    seen = {name for node in tree.nodes for name in node.task_types or [] if name is not None}
    if by_type and not seen:
        raise BadData("--by-type: this tree tells no task types; mine episodes that have a task_type")
    for name in task_types:
        if run is not None and seen and name not in seen:
            run.note(f"no routine was seen in the task type {name}: an empty card; known: {', '.join(sorted(seen))}")
    for name in dict.fromkeys([*task_types, *(sorted(seen) if by_type else [])]):
        text = card(deck, task_type=name, budget=budget, most=most)
        if run is not None:
            run.read += 1
            run.kept += 1
        yield Card(id=name, context=text, n_tokens=estimate_tokens(text))


def began(node: Node, prefix: Sequence[str]) -> int:
    """How many actions of the node the end of ``prefix`` has done: the largest k < length with equal tokens."""
    for done in range(min(node.length - 1, len(prefix)), 0, -1):
        if list(prefix[-done:]) == node.expansion[:done]:
            return done
    return 0


def _bullet(row: Routine, done: int, corpus: MinedCorpus) -> str:
    node = row.node
    facts = [node.id, f"depth {node.depth}", plural(row.n, "episode" if node.episodes is not None else "occurrence")]
    if node.task_types:
        facts.append(plural(len(node.task_types), "task type"))
    text = f"- {' -> '.join(_steps(node))} [{', '.join(facts)}]"
    if row.rate is not None:
        text += f" success {percent(row.rate)}"
        if corpus.base_rate is not None:
            against = "above" if row.rate > corpus.base_rate else "below" if row.rate < corpus.base_rate else "equal to"
            text += f", {against} the base {percent(corpus.base_rate)}"
    return text + (f" ({done} of {node.length} done)" if done else "")


def _steps(node: Node) -> list[str]:
    """Tokens with their arguments: constants written out, varying ones as ``<obj>`` (``<obj2>`` … for further ones)."""
    slots: dict[int, list[Slot]] = defaultdict(list)
    for slot in node.slots or []:
        slots[slot.step].append(slot)
    names: dict[str | None, str] = {}
    steps = []
    for step, token in enumerate(node.expansion):
        args = []
        for slot in sorted(slots[step], key=lambda slot: slot.index):
            if slot.constant is not None:
                args.append(exact(slot.constant))
            else:
                args.append(names.setdefault(slot.variable, f"<obj{len(names) + 1}>" if names else "<obj>"))
        steps.append(exact(token) + (f"({', '.join(args)})" if args else ""))
    return steps
