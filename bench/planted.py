"""Do mined routines and their p-values hold: planted routines against other miners, and calibration.

    python -m bench planted

1,000 episodes over 20 actions hold 12 routines of 3 to 6 actions, each in 6% of the episodes: 4 raise
the odds of success (log odds + 2), 4 leave them, 4 lower them; a fifth of the executions is broken by
a wrong step. The rest is noise. Found = the routine is among the first 12 of a miner's list, exactly.
Needs `pip install prefixspan seq2pat` for the other miners; those that are missing are left out.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from xskill.engines import Local
from xskill.mine.corpus import encode_episodes
from xskill.mine.from_corpus import Questions
from xskill.mine.from_corpus import mine_corpus as mine
from xskill.mine.rules import MineRules
from xskill.records import Episode
from xskill.tree.xtree import XTree

Routine = tuple[str, ...]

ACTIONS = [f"a{number:02d}" for number in range(20)]
EFFECTS = (2.0, 0.0, -2.0)
SEEDS = 5
CORPORA = 200
PERMUTATIONS = 99
FREQUENCY = MineRules(p_success=0.0)


@dataclass(frozen=True)
class Planted:
    """A corpus of which the truth is known."""

    episodes: list[Episode]
    routines: dict[Routine, float]
    """Routine → what it adds to the log odds of success."""


def plant(noise: float, seed: int, n_episodes: int = 1000) -> Planted:
    """Episodes in which a share ``noise`` of the steps is noise."""
    rng = np.random.default_rng(seed)
    routines: dict[Routine, float] = {}
    while len(routines) < 12:
        routine = tuple(rng.choice(ACTIONS, size=rng.integers(3, 7), replace=False).tolist())
        routines[routine] = EFFECTS[len(routines) % 3]
    steps = 0.06 * sum(map(len, routines))
    episodes = []
    for number in range(n_episodes):
        held = [routine for routine in routines if rng.random() < 0.06]
        pieces = [broken(routine, rng) for routine in held]
        pieces += [[action] for action in rng.choice(ACTIONS, size=rng.poisson(steps * noise / (1 - noise))).tolist()]
        order = rng.permutation(len(pieces))
        odds = sum(routines[routine] for routine in held)
        episodes.append(
            Episode(
                id=f"{number:04d}",
                actions=[action for place in order for action in pieces[place]],
                success=bool(rng.random() < 1 / (1 + np.exp(-odds))),
            )
        )
    return Planted(episodes, routines)


def broken(routine: Routine, rng: np.random.Generator) -> list[str]:
    """The routine; in one of five cases with a wrong step."""
    actions = list(routine)
    if rng.random() < 0.2:
        actions[rng.integers(len(actions))] = str(rng.choice(ACTIONS))
    return actions


def by_saving(tree: XTree) -> list[Routine]:
    """Whole routines, those first that shorten the corpus most."""
    nodes = sorted(tree.nodes, key=lambda node: (-(node.tiles or 0) * (node.length - 1), node.id))
    return [tuple(node.expansion) for node in nodes]


def x_tree(data: Planted) -> list[Routine]:
    return by_saving(mine(encode_episodes(data.episodes), MineRules()))


def frequency_bpe(data: Planted) -> list[Routine]:
    return by_saving(mine(encode_episodes(data.episodes), replace(FREQUENCY, p_length=0.0)))


def prefix_span(data: Planted) -> list[Routine]:
    """Closed patterns of 3 to 6 actions, gaps allowed (it knows no other), by support times length saved."""
    from prefixspan import PrefixSpan

    miner = PrefixSpan([episode.actions for episode in data.episodes])
    miner.minlen, miner.maxlen = 3, 6
    found = miner.topk(100, closed=True)
    ranked = sorted(found, key=lambda row: (-row[0] * (len(row[1]) - 1), row[1]))
    return [tuple(pattern) for _, pattern in ranked]


def seq2pat(data: Planted, episodes: list[Episode] | None = None) -> list[Routine]:
    """Contiguous patterns (gap constraint 1) by frequency times length saved."""
    ranked = sorted(_contiguous(episodes or data.episodes), key=lambda row: (-row[-1] * (len(row) - 2), row[:-1]))
    return [tuple(row[:-1]) for row in ranked if len(row) > 3]


def _contiguous(episodes: list[Episode], least: float = 0.03) -> list[list[str | int]]:
    from sequential.seq2pat import Attribute, Seq2Pat

    sequences = [episode.actions for episode in episodes if len(episode.actions) > 1]
    miner = Seq2Pat(sequences=sequences, max_span=None)
    place = Attribute([list(range(len(sequence))) for sequence in sequences])
    miner.add_constraint(place.gap() <= 1)
    return miner.get_patterns(min_frequency=least)


MINERS: dict[str, tuple[str | None, Callable[[Planted], list[Routine]]]] = {
    "X-Tree": (None, x_tree),
    "frequency BPE": (None, frequency_bpe),
    "PrefixSpan": ("prefixspan", prefix_span),
    "Seq2Pat": ("sequential", seq2pat),
}


def raising_by(data: Planted, field: str) -> set[Routine]:
    """Nodes that the tree calls success-raising at 5%."""
    tree = mine(encode_episodes(data.episodes), MineRules(), Questions(permutations=PERMUTATIONS, seed=1))
    return {tuple(node.expansion) for node in tree.nodes if (getattr(node, field) or 0.0) < 0.05}


def raising_dichotomic(data: Planted) -> set[Routine]:
    """Dichotomic pattern mining (Seq2Pat): patterns frequent in successes and not in failures."""
    found = []
    for success in (True, False):
        rows = _contiguous([episode for episode in data.episodes if episode.success is success])
        found.append({tuple(row[:-1]) for row in rows})
    return found[0] - found[1]


CLAIMS: dict[str, tuple[str | None, Callable[[Planted], set[Routine]]]] = {
    "X-Tree, p_adjusted": (None, partial(raising_by, field="p_adjusted")),
    "X-Tree, q": (None, partial(raising_by, field="q_value")),
    "Dichotomic": ("sequential", raising_dichotomic),
}


def is_true(claim: Routine, data: Planted) -> bool:
    """A claim is true that is a part of a success-raising routine, or holds a whole one."""

    def within(part: Routine, whole: Routine) -> bool:
        return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))

    raising = [routine for routine, effect in data.routines.items() if effect > 0]
    return any(within(claim, routine) or within(routine, claim) for routine in raising)


def installed(module: str | None) -> bool:
    return module is None or importlib.util.find_spec(module) is not None


def recovery() -> None:
    print(f"planted routines among the first 12 of each list, mean of {SEEDS} corpora (precision = recall)")
    print(f"{'noise':>6}" + "".join(f"{name:>16}" for name, (module, _) in MINERS.items() if installed(module)))
    for noise in (0.5, 0.7, 0.85, 0.92):
        row = f"{noise:6.0%}"
        for module, miner in MINERS.values():
            if installed(module):
                started, found = time.perf_counter(), []
                for seed in range(SEEDS):
                    data = plant(noise, seed)
                    found.append(len(set(miner(data)[:12]) & set(data.routines)) / 12)
                row += f"{statistics.mean(found):8.2f} {(time.perf_counter() - started) / SEEDS:5.1f} s"
        print(row, flush=True)


def claims() -> None:
    print(
        f"\nclaims that a routine raises success: true ones / all, and whole raising routines claimed; {SEEDS} corpora"
    )
    for noise in (0.5, 0.7, 0.85, 0.92):
        for name, (module, claim) in CLAIMS.items():
            if not installed(module):
                continue
            true = all_claims = whole = raising = 0
            for seed in range(SEEDS):
                data = plant(noise, seed)
                found = {each for each in claim(data) if len(each) > 1}
                truth = {routine for routine, effect in data.routines.items() if effect > 0}
                true, all_claims = true + sum(is_true(each, data) for each in found), all_claims + len(found)
                whole, raising = whole + len(found & truth), raising + len(truth)
            share = true / all_claims if all_claims else float("nan")
            print(
                f"{noise:6.0%}  {name:<20} precision {share:.2f} ({true}/{all_claims}), recall {whole}/{raising}",
                flush=True,
            )


def shuffled(number: int) -> tuple[bool, bool]:
    """Does any node of a corpus without effects have p_adjusted < .05, and any q < .05?"""
    data = plant(0.5, 1000 + number, n_episodes=120)
    rng = np.random.default_rng([7, number])
    episodes = [
        Episode(id=episode.id, actions=episode.actions, success=bool(rng.random() < 0.5)) for episode in data.episodes
    ]
    rules = MineRules(min_success_rate=0.7)
    tree = mine(encode_episodes(episodes), rules, Questions(permutations=PERMUTATIONS, seed=number))
    return (
        any((node.p_adjusted or 1.0) < 0.05 for node in tree.nodes),
        any((node.q_value or 1.0) < 0.05 for node in tree.nodes),
    )


def binomial_interval(n: int, p: float, level: float = 0.99) -> tuple[int, int]:
    """Central interval of a binomial count."""
    from math import comb

    cumulative = np.cumsum([comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])
    return int(np.searchsorted(cumulative, (1 - level) / 2)), int(np.searchsorted(cumulative, (1 + level) / 2))


def calibration(jobs: int = 2) -> None:
    rows = Local(jobs).map(shuffled, CORPORA)
    adjusted, descriptive = (sum(column) for column in zip(*rows, strict=True))
    low, high = binomial_interval(CORPORA, 0.05)
    print(f"\n{CORPORA} corpora with outcomes at random, min_success_rate .7, {PERMUTATIONS} permutations each")
    print(
        f"  some node with p_adjusted < .05: {adjusted} ({adjusted / CORPORA:.1%}); 99% interval of 5%: {low} to {high}"
    )
    print(f"  some node with q < .05 (descriptive): {descriptive} ({descriptive / CORPORA:.1%})")


def main() -> None:
    recovery()
    claims()
    calibration()


if __name__ == "__main__":
    main()
