"""Which parts of which episodes become instances."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from xskill.errors import UsageError
from xskill.records import Gold, Instance, Trajectory, turns
from xskill.records.instances import STEP_SHARE
from xskill.tree.offline_instances import completion_bonus
from xskill.tree.profiles import Profiles, goal_options
from xskill.tree.prompts import PromptTemplate, prompt_of
from xskill.tree.replay import Tiler, derivation, encode, tiler
from xskill.tree.shaping import refuse_failures
from xskill.tree.tiles import each_good, own_start
from xskill.tree.xtree import XTree

if TYPE_CHECKING:
    from xskill.streams.run import Run

Ablation = Literal["random-span", "outcome"]
Curriculum = Literal["depth", "none"]


@dataclass(frozen=True, slots=True)
class InstanceChoices:
    """The options of ``tree instances``."""

    curriculum: Curriculum = "none"
    """``depth``: shallow nodes first, else in the order of the episodes."""
    max_per_node: int | None = None
    """At most this many instances a node, drawn at random."""
    dedupe: bool = False
    """Leave out what has the same task, history and gold actions as an earlier instance."""
    ablation: Ablation | None = None
    """``random-span``: each occurrence moves to a random place of its episode, its length and reward stay.
    ``outcome``: only the complete match pays, with 1."""
    mix: float = 0.0
    """Share of whole trajectories in the output, each at most once."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.mix < 1:
            raise UsageError(f"--mix {self.mix}: must be at least 0 and below 1")
        if self.max_per_node is not None and self.max_per_node < 1:
            raise UsageError(f"--max-per-node {self.max_per_node}: must be at least 1")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of an episode: an occurrence of a node, or (node None) the whole."""

    episode: int
    start: int
    length: int
    node: int | None
    depth: int


def excerpts_of(episodes: Sequence[Trajectory], tiler: Tiler, choices: InstanceChoices) -> list[Excerpt]:
    """The spans in output order: every node of the derivation of every tile, and whole trajectories mixed in."""
    rng = np.random.default_rng(choices.seed)
    excerpts = [
        Excerpt(index, start, tiler.nodes[node].length, node, tiler.nodes[node].depth)
        for index, episode in enumerate(episodes)
        for node, start in _occurrences(episode, tiler)
    ]
    if choices.dedupe:
        excerpts = _distinct(excerpts, episodes)
    if choices.max_per_node is not None:
        excerpts = _sampled(excerpts, choices.max_per_node, rng)
    if choices.ablation == "random-span":
        excerpts = [_moved(span, episodes[span.episode], rng) for span in excerpts]
    if choices.curriculum == "depth":
        excerpts.sort(key=lambda span: span.depth)
    wanted = min(len(episodes), round(len(excerpts) * choices.mix / (1 - choices.mix)))
    if wanted:
        chosen = sorted(rng.choice(len(episodes), wanted, replace=False).tolist())
        excerpts = _spread(excerpts, [_whole(index, episodes[index]) for index in chosen])
    return excerpts


def _occurrences(episode: Trajectory, tiler: Tiler) -> Iterator[tuple[int, int]]:
    """Every (node, start) inside the tiles of the part that the episode generated itself, by start, longest first."""
    offset = own_start(episode)
    first, last = tiler.n_primitives, tiler.width - 1
    for symbol, position in encode(tiler, episode.actions[offset:]):
        if first <= symbol < last:
            yield from derivation(tiler, symbol - first, offset + position)


def _distinct(spans: list[Excerpt], episodes: Sequence[Trajectory]) -> list[Excerpt]:
    """The first span of each (history, gold actions); histories are compared by digests that grow step by step."""
    histories: dict[int, list[bytes]] = {}
    seen: set[bytes] = set()
    kept = []
    for span in spans:
        steps = episodes[span.episode].steps or []
        if span.episode not in histories:
            histories[span.episode] = _histories(episodes[span.episode])
        gold = [step.action for step in steps[span.start : span.start + span.length]]
        key = _digest(histories[span.episode][span.start], gold)
        if key not in seen:
            seen.add(key)
            kept.append(span)
    return kept


def _histories(episode: Trajectory) -> list[bytes]:
    """Digest of what was known before each step, and after the last."""
    digests = [_digest(b"", [episode.task, episode.initial_observation])]
    for step in episode.steps or []:
        digests.append(_digest(digests[-1], [step.action, step.observation]))
    return digests


def _digest(before: bytes, texts: Sequence[str | None]) -> bytes:
    return hashlib.blake2b(before + msgspec.json.encode(texts), digest_size=16).digest()


def _sampled(spans: list[Excerpt], most: int, rng: np.random.Generator) -> list[Excerpt]:
    places: dict[int, list[int]] = {}
    for place, span in enumerate(spans):
        assert span.node is not None
        places.setdefault(span.node, []).append(place)
    keep: set[int] = set()
    for node in sorted(places):
        here = places[node]
        keep.update(here if len(here) <= most else rng.choice(here, most, replace=False).tolist())
    return [span for place, span in enumerate(spans) if place in keep]


def _moved(span: Excerpt, episode: Trajectory, rng: np.random.Generator) -> Excerpt:
    start = int(rng.integers(own_start(episode), len(episode.actions) - span.length, endpoint=True))
    return Excerpt(span.episode, start, span.length, span.node, span.depth)


def _whole(index: int, episode: Trajectory) -> Excerpt:
    start = own_start(episode)
    return Excerpt(index, start, len(episode.actions) - start, None, 0)


def _spread(many: list[Excerpt], few: list[Excerpt]) -> list[Excerpt]:
    """Both, in their order, the few evenly between the many."""
    mixed, taken = [], 0
    for place, span in enumerate(many):
        due = (place + 1) * len(few) // len(many)
        mixed.append(span)
        mixed += few[taken:due]
        taken = due
    return mixed + few[taken:]


def instances(
    tree: XTree,
    trajectories: Iterable[Trajectory],
    choices: InstanceChoices = InstanceChoices(),
    *,
    template: PromptTemplate = PromptTemplate(),
    profile: str | None = None,
    run: Run | None = None,
) -> Iterator[Instance]:
    """One instance for each occurrence of a node in a successful trajectory (docs/methods/x-tree.md).

    All trajectories are read before the first instance comes.

    Args:
        tree: mined from successes, or from both.
        trajectories: those that failed, or have no raw steps, give nothing.
        choices: order, draws and ablations.
        template: texts of the prompt.
        profile: scores completions; None: the one that gives an episode's tokens.
        run: gets the bad records, and counts what is left out; without it a bad record raises.

    Raises:
        BadData: a tree of failures.
        UsageError: no such profile.
        BadRecord: a branch that claims to have copied more actions than it has.
    """
    refuse_failures(tree, "an instance")
    episodes = []

    def looked_at(record: Trajectory) -> tuple[Trajectory, str | None]:
        return record, why_not(record)

    pairs = map(looked_at, trajectories) if run is None else each_good(trajectories, looked_at, run)
    for record, reason in pairs:
        if reason is None:
            episodes.append(record)
        elif run is not None:
            run.drop(reason)
    return build(episodes, tiler(tree), choices, template, profile)


def build(
    episodes: Sequence[Trajectory],
    tiler: Tiler,
    choices: InstanceChoices,
    template: PromptTemplate,
    profile: str | None = None,
) -> Iterator[Instance]:
    """One instance a span, in order; all episodes must have ``steps``.

    Raises:
        UsageError: no such profile.
        BadRecord: a branch that claims to have copied more actions than it has.
    """
    profiles = Profiles(profile)
    profile_of = [profiles.of(episode) for episode in episodes]
    for span in excerpts_of(episodes, tiler, choices):
        yield _instance(episodes[span.episode], span, tiler, choices, template, profile_of[span.episode])


def _instance(
    episode: Trajectory,
    span: Excerpt,
    tiler: Tiler,
    choices: InstanceChoices,
    template: PromptTemplate,
    profile: str | None,
) -> Instance:
    steps = episode.steps or []
    part = slice(span.start, span.start + span.length)
    node = None if span.node is None else tiler.nodes[span.node].id
    kind: Literal["node", "span", "trajectory"] = "node"
    if node is None:
        kind = "trajectory"
    elif choices.ablation == "random-span":
        kind = "span"
    outcome = choices.ablation == "outcome"
    gold = Gold(
        actions=[step.action for step in steps[part]],
        tokens=episode.actions[part],
        kinds=[step.kind for step in steps[part]],
        profile=profile,
        options=goal_options(episode) or {},
        step_share=0.0 if outcome else STEP_SHARE,
        completion=1.0 if outcome else completion_bonus(span.depth),
    )
    return Instance(
        id=f"{episode.id}:{node or 'all'}@{span.start}",
        kind=kind,
        node=node,
        depth=span.depth,
        length=span.length,
        episode=episode.id,
        question_id=episode.question_id,
        task_type=episode.task_type,
        env=episode.env,
        split=episode.split,
        start=span.start,
        turn=turns(steps)[span.start] if span.start < len(steps) else 0,
        prompt=prompt_of(episode, span.start, template),
        gold=gold,
    )


def why_not(record: Trajectory) -> str | None:
    """Why a record gives no instances; None when it does."""
    if record.success is not True:
        return "not a success"
    if record.steps is None:
        return "without raw steps"
    return "without actions of its own" if own_start(record) == len(record.actions) else None
