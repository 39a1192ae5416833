"""The stage as a whole: trajectories → X-Tree, with the options of ``xskill mine``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from xskill.engines import Name, open_engine
from xskill.errors import UsageError
from xskill.mine.branches import Branches
from xskill.mine.corpus import CodedCorpus, encode_episodes
from xskill.mine.from_corpus import Questions, mine_corpus
from xskill.mine.rules import RuleOptions, choose
from xskill.records import Episode, Trajectory
from xskill.streams.run import Run
from xskill.tree.xtree import XTree

if TYPE_CHECKING:
    from xskill.mine.tuning import Trial


def mine(
    trajectories: Iterable[Episode | Trajectory],
    *,
    preset: str | None = None,
    stratify: str | None = None,
    permutations: int = 0,
    bootstrap: int = 0,
    auto: bool = False,
    on_trials: Callable[[Sequence[Trial]], None] | None = None,
    resumable: bool = False,
    resume: XTree | None = None,
    seed: int = 0,
    jobs: int | None = None,
    engine: Name = "local",
    name: str | None = None,
    run: Run | None = None,
    **rules: Unpack[RuleOptions],
) -> XTree:
    """Mine one X-Tree (arXiv 2609.32993; docs/methods/x-tree.md).

    The tree depends on the set of trajectories alone, never on their order. A branch counts the steps that it
    generated itself; without its parent among the trajectories it counts whole.

    Args:
        trajectories: of any outcome.
        preset: released settings to begin with (:data:`xskill.mine.rules.PRESETS`).
        stratify: test association within ``env``, ``task_type``, ``question_id`` or ``length``, or ``none``; None is
            ``env`` when there are several.
        permutations: mine so many times on shuffled outcomes too, for ``p_adjusted``.
        bootstrap: mine so many resamples too, for ``stability``.
        auto: choose ``eta``, ``min_frequency`` and ``p_success`` (those not given) on held-out tasks.
        on_trials: is given all settings that ``auto`` would try, with their scores.
        resumable: keep in the header what a later ``resume`` needs.
        resume: a tree of earlier trajectories, to go on with; ``trajectories`` are then the new ones alone.
        seed: of everything that is drawn.
        jobs: processes for the repeated runs; None is one, on a Ray cluster all.
        engine: where these run; the tree is the same.
        name: of the corpus, for the header.
        run: is told what was counted and noted; without it nothing is said.
        **rules: fields of :class:`xskill.mine.rules.MineRules` that shall differ from the preset's or the defaults.

    Raises:
        NoSuccess: no episode has the outcome that is mined.
        UsageError: a value out of range, or an option that ``resume`` cannot follow.
        BadData: ``resume`` is a tree that does not remember its episodes.
    """
    if resume is not None and (
        preset is not None
        or auto
        or on_trials is not None
        or permutations
        or bootstrap
        or stratify not in (None, "none")
    ):
        raise UsageError(
            "--resume has no old episodes to test or choose by: leave out --preset, --auto, --sweep, "
            "--permutations, --bootstrap and --stratify, or mine the old and the new ones at once"
        )
    run = Run("mine", quiet=True) if run is None else run
    if resume is not None:
        return _grown(resume, trajectories, rules, name, run)
    chosen = choose(preset, rules)
    corpus = encode_episodes(trajectories, branches=Branches(run))
    if corpus.n_duplicates:
        run.drop("repeated", corpus.n_duplicates)
    repeats = auto or on_trials is not None or permutations or bootstrap
    with open_engine(engine if repeats else "local", jobs) as runner:
        questions = Questions(stratify, permutations, bootstrap, seed, runner)
        how_chosen: dict[str, Any] = {}
        if auto or on_trials is not None:
            from xskill.mine.tuning import FOLDS, grid_around, report, tune  # few runs need it

            given = [option for option, value in rules.items() if value is not None]
            tuned, trials = tune(corpus, chosen, grid_around(given, chosen), seed, runner)
            if on_trials is not None:
                on_trials(trials)
            if auto:
                chosen = tuned
                how_chosen = {"auto": {"trials": len(trials), "folds": FOLDS, "seed": seed}}
                for line in report(trials):
                    run.note(line)
        tree = mine_corpus(corpus, chosen, questions, name=name, config=how_chosen, resumable=resumable)
    _note_environments(corpus, tree, run)
    return tree


def _grown(
    tree: XTree, trajectories: Iterable[Episode | Trajectory], rules: RuleOptions, name: str | None, run: Run
) -> XTree:
    """The tree, grown by these trajectories."""
    from xskill.mine.resume import encode_for, grow, rules_of  # few runs need it

    chosen = rules_of(tree, rules)
    corpus = encode_for(tree, trajectories, Branches(run, growing=True))
    if corpus.n_duplicates:
        run.drop("repeated", corpus.n_duplicates)
    grown = grow(tree, corpus, chosen, name)
    _note_environments(corpus, grown, run)
    return grown


def _note_environments(corpus: CodedCorpus, tree: XTree, run: Run) -> None:
    """Say how association was tested where there are several environments."""
    names = corpus.env.names
    if len(names) < 2:
        return
    how = tree.header.config["stratify"]
    run.note(
        f"{len(names)} environments in one stream ({', '.join(names)}): "
        + (
            "association is not stratified, so a routine of the easier one looks like a skill"
            if how == "none"
            else f"association is tested within each {how}"
        )
    )
