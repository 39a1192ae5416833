"""The one function that runs any method of credit; TreeOPSD's own is here."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from xskill.array_types import Floats, Ints64
from xskill.credit.advantage import SINGLE_LEAF, UNFINISHED, ZERO_VARIANCE, advantages
from xskill.credit.backup import action_likelihood, back_up, turn_credit
from xskill.credit.baselines import run_baseline
from xskill.credit.choices import BACKUPS, MAPS, METHODS, RATIOS, SHARED, STDS, TURN_CREDITS
from xskill.credit.targets import check_radius, log_ratio, student, target, teacher_map
from xskill.errors import BadData, UsageError
from xskill.rollouts.arrays import Rollouts
from xskill.rollouts.prefix_tree import Trie

AUTO_QUANTILE = 0.9


@dataclass(frozen=True, slots=True)
class Config:
    """Every choice of a credit run; the names are those of the tables in :mod:`xskill.credit.choices`."""

    method: str = "treeopsd"
    backup: str = "likelihood"
    tau: float = 1.0
    """Temperature of the likelihood weights."""
    turn_credit: str = "pointwise"
    map: str = "odds"
    radius: float | Literal["auto"] | None = None
    """None = 0.2 with summed ratios, 0.005 with mean ratios; ``auto`` = :func:`radius_from_data`."""
    scale: float | Literal["max"] = 1.0
    """Credit at which a target reaches its bound; ``max`` = the largest absolute credit of the question."""
    ratio: str = "sum"
    std: str = "population"
    shared: str = "weight"
    """Each of k copies of a turn weighs 1/k, or the copy that was generated first weighs 1 and the others 0."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of a baseline, as text."""

    def __post_init__(self) -> None:
        METHODS[self.method], BACKUPS[self.backup], TURN_CREDITS[self.turn_credit], MAPS[self.map], RATIOS[self.ratio]
        STDS[self.std], SHARED[self.shared]
        for name, value in (("tau", self.tau), ("scale", self.scale)):
            if value != "max" and not 0 < value < math.inf:
                or_max = ", or max" if name == "scale" else ""
                raise UsageError(f"--{name} {value:g}: expected a finite number above 0{or_max}")

    @property
    def across_questions(self) -> bool:
        """Whether the credit of a question may depend on other questions of the run."""
        return METHODS[self.method].across_questions or self.radius == "auto"

    @property
    def needs_texts(self) -> bool:
        """Whether the method reads the texts of actions or observations."""
        return METHODS[self.method].needs_texts


@dataclass(frozen=True, slots=True)
class Credits:
    """What a method gives: arrays over the T turns and n trajectories, NaN = null; None = not by this method."""

    credit: Floats
    advantage: Floats | None
    skipped: Ints64
    """[n] indices into :data:`xskill.credit.advantage.SKIPPED`."""
    value: Floats | None = None
    target: Floats | None = None
    target_ratio: Floats | None = None
    weight: Floats | None = None
    log_ratio: Floats | None = None
    residual: Floats | None = None
    loss: Floats | None = None
    sequence_ratio: Floats | None = None
    config: dict[str, Any] = field(default_factory=dict)
    """For the header: the choices, defaults filled in."""
    stats: dict[str, Any] = field(default_factory=dict)
    """For the header: counts."""


def run_method(rollouts: Rollouts, trie: Trie, config: Config) -> Credits:
    """Credit every turn.

    Raises:
        UsageError: an option that does not exist or cannot have its value.
        BadData: no trajectory with a reward; a method that is undefined on a question.
    """
    finished = ~np.isnan(rollouts.reward)
    if not finished.any():
        raise BadData("no trajectory has a reward (--reward-from success takes the outcome as 0 or 1)")
    method = METHODS[config.method]
    if not method.looks_at:
        return _baseline(rollouts, trie, config)
    if config.options:
        raise UsageError(f"--option belongs to the baselines; {' and '.join(_own_options())} have options of their own")
    credits: Credits = method.load()(rollouts, trie, config)
    return credits


def _own_options() -> list[str]:
    return [method.name for method in METHODS if method.looks_at]


def tree_pg(rollouts: Rollouts, trie: Trie, config: Config) -> Credits:
    """Credit by backed-up advantages (docs/methods/tree-opsd.md), without targets."""
    n_questions = len(rollouts.questions)
    advantage, skipped = advantages(rollouts.reward, rollouts.question, n_questions, config.std)
    likelihood = action_likelihood(rollouts, trie) if BACKUPS[config.backup].by_likelihood else None
    values = back_up(trie, advantage, config.backup, likelihood, config.tau)
    by_node = turn_credit(trie, values, config.turn_credit)
    node = trie.node
    chosen: dict[str, Any] = {
        "backup": config.backup,
        "turn_credit": config.turn_credit,
        "std": config.std,
        "shared": config.shared,
    }
    stats = _stats(rollouts, trie, skipped)
    if likelihood is not None:
        chosen["tau"] = config.tau
        lacks = np.bincount(trie.question[trie.group_parent[np.isnan(likelihood)]], minlength=n_questions) > 0
        stats["questions_without_logprob"] = int((lacks & _has_branches(trie, n_questions)).sum())
    return Credits(
        credit=by_node[node],
        advantage=advantage,
        skipped=skipped,
        value=values.node[node],
        weight=_weights(rollouts, trie, config.shared),
        config=chosen,
        stats=stats,
    )


def tree_opsd(rollouts: Rollouts, trie: Trie, config: Config) -> Credits:
    """The credit of :func:`tree_pg` with targets, and with residuals where the policy's new log-probabilities are."""
    credits = tree_pg(rollouts, trie, config)
    rho = log_ratio(rollouts.logprob_new, rollouts.logprob, rollouts.n_tokens.astype(np.float64), config.ratio)
    moved = ~np.isnan(rho)
    if config.radius == "auto":
        radius = radius_from_data(rho[moved], config.map)
    else:
        radius = RATIOS[config.ratio].radius if config.radius is None else config.radius
    check_radius(config.map, radius)
    scale = _largest(rollouts, credits.credit) if config.scale == "max" else config.scale
    q, ratio = target(credits.credit, config.map, radius, scale)
    chosen: dict[str, Any] = {"map": config.map, "radius": radius, "scale": config.scale, "ratio": config.ratio}
    if config.radius == "auto":
        chosen["radius_from"] = f"{AUTO_QUANTILE:g} quantile of |log ratio|"
    taught = dataclasses.replace(credits, target=q, target_ratio=ratio, config={**credits.config, **chosen})
    if not moved.any():
        return taught
    state = student(rho, q)
    return dataclasses.replace(
        taught,
        log_ratio=rho,
        residual=state.residual,
        loss=state.loss,
        stats={**credits.stats, "clamped": state.clamped},
    )


def radius_from_data(log_rho: Floats, kind: str) -> float:
    """The radius whose strongest target lies where nine of ten turns have not yet gone.

    TreeOPSD leaves the radius open. A target that the ratios of one update round pass at once stops the
    learning early; one that they never come near leaves a constant gradient, and nothing corrects itself.

    Args:
        log_rho: log ratios of turns between the behaviour and the current policy, of :class:`Config.ratio`'s kind.
        kind: the map that the radius is for.

    Raises:
        BadData: no log ratio, or the policy has not moved.
    """
    if not len(log_rho):
        raise BadData("--radius auto needs steps[].logprob and logprob_new")
    spread = float(np.quantile(np.abs(log_rho), AUTO_QUANTILE))
    if spread == 0:
        raise BadData("--radius auto: the policy has not moved, every log ratio is 0; give a number")
    chosen = teacher_map(kind)
    return min(chosen.radius_of(spread), chosen.bound - 0.001)


def _baseline(rollouts: Rollouts, trie: Trie, config: Config) -> Credits:
    result, chosen = run_baseline(rollouts, trie, config.method, config.options)
    skipped = advantages(rollouts.reward, rollouts.question, len(rollouts.questions))[1]
    rules = METHODS[config.method].rules
    return Credits(
        credit=result.turn,
        advantage=result.rollout,
        skipped=np.where(skipped == UNFINISHED, skipped, 0),  # the others get what the official code gives
        sequence_ratio=result.sequence_ratio,
        config=chosen if rules is None else {**chosen, "rules": rules},
        stats=_stats(rollouts, trie, skipped),
    )


def _weights(rollouts: Rollouts, trie: Trie, shared: str) -> Floats:
    """[T] weights of the copies of a turn; they sum to 1 over a node."""
    node = trie.node
    if not SHARED[shared].once:
        return 1.0 / trie.shared[node]
    order = np.lexsort((np.arange(len(node)), ~rollouts.generated, node))
    first = np.ones(len(order), bool)
    first[1:] = node[order][1:] != node[order][:-1]
    weight = np.zeros(len(node))
    weight[order[first]] = 1.0
    return weight


def _largest(rollouts: Rollouts, credit: Floats) -> Floats:
    """[T] largest |credit| of the turn's question."""
    question = rollouts.question[rollouts.trajectory]
    largest = np.zeros(len(rollouts.questions))
    np.maximum.at(largest, question, np.nan_to_num(np.abs(credit)))
    return largest[question]


def _has_branches(trie: Trie, n_questions: int) -> Any:
    actions = np.bincount(trie.group_parent, minlength=trie.n_nodes)
    return np.bincount(trie.question[actions > 1], minlength=n_questions) > 0


def _stats(rollouts: Rollouts, trie: Trie, skipped: Ints64) -> dict[str, Any]:
    def questions(chosen: Any) -> int:
        return int(np.count_nonzero(np.bincount(rollouts.question[chosen])))

    positive, shared = rollouts.positive_logprobs, rollouts.shared_ids
    return {
        "questions": questions(slice(None)),
        "trajectories": rollouts.n,
        "turns": rollouts.n_turns,
        "nodes": trie.n_nodes - len(rollouts.questions),
        "unfinished": int((skipped == UNFINISHED).sum()),
        "zero_variance": questions(skipped == ZERO_VARIANCE),
        "single_leaf": questions(skipped == SINGLE_LEAF),
        **({"positive_logprobs": positive} if positive else {}),
        **({"shared_question_ids": shared} if shared else {}),
    }
