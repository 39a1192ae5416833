"""Choose eta, min_frequency and p_success on held-out tasks.

Each configuration is mined without a part of the tasks and tried on that part: how many bits do the
held-out steps take when they are written in the tree's symbols, and how well do these symbols
predict success. A tree of noise costs bits and predicts nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import msgspec
import numpy as np
import numpy.typing as npt

from xskill.array_types import Ints32
from xskill.engines import ONE, Engine
from xskill.errors import NoSuccess
from xskill.mine.corpus import CodedCorpus, Labels
from xskill.mine.held_out import Scores, score
from xskill.mine.merges import Merge
from xskill.mine.outcomes import IGNORED, Classes, classify
from xskill.mine.prepare import Prepared, check_outcomes, prepare
from xskill.mine.rules import Gate, MineRules


@dataclass(frozen=True, slots=True)
class Explored:
    """The merges of one run, and the gates under which it is the run."""

    gates: tuple[Gate, ...]
    merges: list[Merge]


def explore(prepared: Prepared, classes: Classes, rules: MineRules, gates: Sequence[Gate]) -> Iterator[Explored]:
    """Run the miner under all gates at once; each gate gets exactly the merges of a run under it alone."""
    waiting = [(prepared.miner(classes, rules, gates), list[Merge]())]
    while waiting:
        miner, merges = waiting.pop()
        while len(merges) < rules.max_skills:
            chosen = miner.choose()
            if chosen is None:
                break
            passing, shut_out = miner.board.passing(chosen[0])
            if shut_out:
                waiting.append((miner.fork(shut_out), list(merges)))
                miner.board.narrow(passing)
            merges.append(miner.merge(*chosen))
        yield Explored(miner.board.gates, merges)


ETA = (0.0, 0.3, 0.5, 1.0, 2.0)
MIN_FREQUENCY = (2, 3, 5, 10, 20)
P_SUCCESS = (0.0, 0.5, 1.0, 1.5, 2.0)
FOLDS = 3
MOST_STEPS = 2_000_000
"""Steps of the episodes that are drawn for the search from a larger corpus."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Values to try; a value that the user gave stands alone."""

    eta: tuple[float, ...] = ETA
    min_frequency: tuple[int, ...] = MIN_FREQUENCY
    p_success: tuple[float, ...] = P_SUCCESS


def grid_around(given: Collection[str], rules: MineRules) -> Grid:
    """The grid, with the options in ``given`` fixed at the value that the rules have."""
    values = {"eta": ETA, "min_frequency": MIN_FREQUENCY, "p_success": P_SUCCESS}
    return Grid(**{name: (getattr(rules, name),) if name in given else each for name, each in values.items()})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Trial:
    """One configuration, cross-validated."""

    eta: float
    min_frequency: int
    p_success: float
    nodes: float
    """Mean number of nodes over the folds."""
    bits_per_step: float
    """Held-out bits, plus the bits of the tree itself, for each step of the corpus."""
    log_loss: float | None
    """Held-out bits of an outcome, mean over the episodes with one; None when outcomes do not differ."""
    excess: float | None
    """Mean of log_loss above the best trial's, in its standard errors (paired over episodes)."""
    chosen: bool


def tune(
    corpus: CodedCorpus, rules: MineRules, grid: Grid, seed: int, engine: Engine = ONE
) -> tuple[MineRules, list[Trial]]:
    """Cross-validate the grid; return the rules with the chosen values, and all trials in grid order.

    Chosen is the fewest bits per step among the trials whose log loss is at most one standard error
    above the best; ties go to the stricter gate and the smaller exponent.

    Raises:
        NoSuccess: no episode has the outcome that is mined.
    """
    check_outcomes(corpus, rules)
    corpus = _bounded(corpus, seed)
    fold = folds(corpus, seed)
    outcomes = corpus.outcome[corpus.outcome >= 0]
    differ = len(np.unique(outcomes)) > 1 and not rules.successes_only
    exponents = grid.p_success if differ else (rules.p_success,)
    runs = list(product(range(int(fold.max(initial=0)) + 1), exponents))
    gates = [Gate(eta, least) for eta, least in product(grid.eta, grid.min_frequency)]
    task = partial(_run, prepare(corpus, rules.max_skills), rules, gates, fold, runs)
    scores: dict[tuple[Gate, float], list[Scores]] = defaultdict(list)
    for (_, exponent), by_gate in zip(runs, engine.map(task, len(runs)), strict=True):
        for gate, each in by_gate.items():
            scores[gate, exponent].append(each)
    trials = _trials(scores, len(corpus.steps), exponents, gates, differ)
    best = next(trial for trial in trials if trial.chosen)
    chosen = replace(rules, eta=best.eta, min_frequency=best.min_frequency, p_success=best.p_success)
    return chosen, trials


def folds(corpus: CodedCorpus, seed: int, n: int = FOLDS) -> Ints32:
    """Fold of each episode: all episodes of a task in one, folds of like size.

    A task is a question, where there are as many questions as folds; else a task type; else an episode.
    """
    task = np.arange(corpus.n_episodes)
    for labels in (corpus.question, corpus.task_type):
        if len(labels.names) >= n:
            task = _with_singles(labels)
            break
    size = np.bincount(task)
    fold_of = np.zeros(len(size), np.int32)
    filled = [0] * n
    for number in np.random.default_rng(seed).permutation(len(size)).tolist():
        smallest = filled.index(min(filled))
        fold_of[number] = smallest
        filled[smallest] += int(size[number])
    return fold_of[task]


def _with_singles(labels: Labels) -> npt.NDArray[np.intp]:
    """Label codes; each episode without a label is a group of its own."""
    codes = labels.codes.astype(np.intp)
    single = codes < 0
    codes[single] = len(labels.names) + np.arange(int(single.sum()))
    return np.unique(codes, return_inverse=True)[1]


def _bounded(corpus: CodedCorpus, seed: int) -> CodedCorpus:
    if len(corpus.steps) <= MOST_STEPS:
        return corpus
    order = np.random.default_rng([seed, 1]).permutation(corpus.n_episodes)
    steps = np.cumsum(corpus.lengths[order])
    return corpus.select(np.sort(order[: int(np.searchsorted(steps, MOST_STEPS)) + 1]))


def _run(
    prepared: Prepared,
    rules: MineRules,
    gates: Sequence[Gate],
    fold: Ints32,
    runs: Sequence[tuple[int, float]],
    number: int,
) -> dict[Gate, Scores]:
    """All gates on one fold, under one exponent."""
    held_out, exponent = runs[number]
    rules = replace(rules, p_success=exponent)
    corpus = prepared.corpus
    classes = classify(corpus.outcome, rules)
    held = fold == held_out
    classes[held] = IGNORED
    try:
        check_outcomes(corpus.select(np.flatnonzero(~held)), rules)
    except NoSuccess:
        return dict.fromkeys(gates, score(prepared, [], held))
    by_gate: dict[Gate, Scores] = {}
    for explored in explore(prepared, classes, rules, gates):
        by_gate.update(dict.fromkeys(explored.gates, score(prepared, explored.merges, held)))
    return by_gate


def _trials(
    scores: dict[tuple[Gate, float], list[Scores]],
    n_steps: int,
    exponents: Sequence[float],
    gates: Sequence[Gate],
    differ: bool,
) -> list[Trial]:
    keys = [(gate, exponent) for exponent in exponents for gate in gates]
    nodes = [float(np.mean([each.nodes for each in scores[key]])) for key in keys]
    bits = [
        (sum(each.step_bits for each in scores[key]) + float(np.mean([each.tree_bits for each in scores[key]])))
        / max(n_steps, 1)
        for key in keys
    ]
    losses = [np.concatenate([each.outcome_bits for each in scores[key]]) for key in keys] if differ else None
    means, excess = _compare(losses) if losses is not None else ([None] * len(keys), [None] * len(keys))
    good = [index for index in range(len(keys)) if excess[index] is None or excess[index] <= 1.0]  # type: ignore[operator]
    best = min(good, key=lambda i: (round(bits[i], 9), -keys[i][0].min_frequency, -keys[i][0].eta, keys[i][1]))
    return [
        Trial(gate.eta, gate.min_frequency, exponent, nodes[i], bits[i], means[i], excess[i], i == best)
        for i, (gate, exponent) in enumerate(keys)
    ]


def _compare(losses: list[npt.NDArray[np.float64]]) -> tuple[list[float | None], list[float | None]]:
    """Mean losses, and how many standard errors each lies above the smallest."""
    means = [float(loss.mean()) for loss in losses]
    best = losses[int(np.argmin(means))]
    excess: list[float | None] = []
    for loss in losses:
        difference = loss - best
        error = float(difference.std(ddof=1)) / len(difference) ** 0.5 if len(difference) > 1 else 0.0
        mean = float(difference.mean())
        excess.append(0.0 if mean <= 0 else (mean / error if error > 0 else float("inf")))
    return list(means), excess


def report(trials: Sequence[Trial], rows: int = 8) -> list[str]:
    """What was tried, one line a trial: the chosen one, then those that predict as well with the fewest bits."""
    ordered = sorted(trials, key=lambda trial: (not trial.chosen, (trial.excess or 0.0) > 1.0, trial.bits_per_step))
    lines = [f"tried {len(trials)} settings on held-out tasks, {FOLDS} folds; the chosen one, and the next"]
    for trial in ordered[:rows]:
        predicted = "" if trial.log_loss is None else f"  {trial.log_loss:.3f} bits/outcome"
        lines.append(
            f"  eta {trial.eta:<4g} min-frequency {trial.min_frequency:<4d} p-success {trial.p_success:<4g}"
            f" {trial.bits_per_step:7.3f} bits/step{predicted}  {trial.nodes:5.0f} nodes"
        )
    return lines


def as_lines(trials: Sequence[Trial]) -> str:
    """The whole grid as JSON lines."""
    return b"".join(msgspec.json.encode(trial) + b"\n" for trial in trials).decode()
