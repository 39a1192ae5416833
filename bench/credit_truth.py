"""Turn credit against the truth: random tabular MDPs whose exact Q-values are known.

    python -m bench credit_truth

Each question is a random MDP (12 states, 3 actions, horizon 8, reward 0 or 1 at the end) with a random softmax
policy. Rollouts are sampled at a budget of 8 full ones a question: N chains, and from each B branches at uniformly
random turns (the cost that came out is printed). Every method credits the same rollouts. A turn's credit is the
mean over its copies, as the gradient sees it. The truth of a turn is

* advantage A(s, a) = Q(s, a) - V(s): was the action better than the policy's usual one here, and
* outcome Q(s, a) - V(start): is the rollout better off after the action than the question promised.

"copies" is r with the advantage copy by copy (weights 1/k): methods that give each leaf's copy of a shared turn a value
of its own agree with the truth on average only, and lose that in minibatches and under clipping.

r is Pearson's correlation over all turns of all questions; mse the mean squared error after the best single scale
(a learning rate absorbs it), in units of the truth's variance: 1 is no better than crediting nothing. Turns of
questions whose rewards are all equal count, with the 0 (or whatever the official code says) that they get.
Everything is repeated with fresh MDPs and rollouts for each seed: means, with the standard error over seeds.
"less ours" is r less that of TreeOPSD's pointwise credit on the same rollouts, with the error of the paired difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xskill.credit.methods import Config, run_method
from xskill.rollouts.gather import Gather, Rollout, RolloutParent, RolloutStep
from xskill.rollouts.prefix_tree import build, summary

STATES, ACTIONS, HORIZON = 12, 3, 8
SEEDS, QUESTIONS = 12, 200


@dataclass(frozen=True, slots=True)
class Mdp:
    """A finite-horizon MDP with its policy and exact values."""

    policy: Any
    """[S, A]"""
    moves: Any
    """[S, A, S]"""
    win: Any
    """[S] probability of reward 1 when the horizon ends there."""
    q: Any
    """[H, S, A]"""
    v: Any
    """[H + 1, S]"""


def random_mdp(rng: np.random.Generator, deterministic: bool) -> Mdp:
    """Sparse random moves, a random policy, and a reward in about a third of the states."""
    if deterministic:
        moves = np.eye(STATES)[rng.integers(0, STATES, (STATES, ACTIONS))]
    else:
        moves = rng.dirichlet(np.full(3, 0.5), (STATES, ACTIONS)) @ np.eye(STATES)[rng.permutation(STATES)[:3]]
        moves = 0.7 * np.eye(STATES)[rng.integers(0, STATES, (STATES, ACTIONS))] + 0.3 * moves
    logits = rng.normal(0, 1, (STATES, ACTIONS))
    policy = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    win = (rng.random(STATES) < 0.35).astype(float)
    q, v = np.zeros((HORIZON, STATES, ACTIONS)), np.zeros((HORIZON + 1, STATES))
    v[HORIZON] = win
    for t in range(HORIZON - 1, -1, -1):
        q[t] = moves @ v[t + 1]
        v[t] = (policy * q[t]).sum(1)
    return Mdp(policy, moves, win, q, v)


def play(mdp: Mdp, rng: np.random.Generator, prefix: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """(state, action, next state) to the horizon, continuing a prefix; state 0 is the start."""
    path = list(prefix)
    state = path[-1][2] if path else 0
    while len(path) < HORIZON:
        action = int(rng.choice(ACTIONS, p=mdp.policy[state]))
        after = int(rng.choice(STATES, p=mdp.moves[state, action]))
        path.append((state, action, after))
        state = after
    return path


def sample(mdp: Mdp, rng: np.random.Generator, chains: int, branches: int, question: str) -> list[Any]:
    """Initialize-then-expand: (record, path) of each rollout."""
    made: list[Any] = []

    def add(name: str, path: list[tuple[int, int, int]], parent: RolloutParent | None) -> None:
        steps = [
            RolloutStep(f"a{action}", f"s{after}", logprob=float(np.log(mdp.policy[state, action])), n_tokens=1)
            for state, action, after in path
        ]
        reward = float(mdp.win[path[-1][2]])
        steps[-1] = RolloutStep(steps[-1].action, steps[-1].observation, reward=reward, logprob=steps[-1].logprob)
        record = Rollout(
            id=name, question_id=question, steps=steps, reward=reward, initial_observation="s0", parent=parent
        )
        made.append((record, path))

    for i in range(chains):
        add(f"{i}", play(mdp, rng, []), None)
    for i in range(chains):
        for b in range(branches):
            turn = int(rng.integers(0, HORIZON))
            add(f"{i}.{b}", play(mdp, rng, made[i][1][:turn]), RolloutParent(f"{i}", turn))
    return made


def measure(
    mdps: list[Mdp], rng: np.random.Generator, scheme: tuple[int, int], configs: dict[str, Config]
) -> tuple[float, dict[str, list[float]]]:
    """The cost of the rollouts, and :data:`MEASURES` of each method over the turns (nodes) of all questions."""
    gather = Gather()
    advantage: list[float] = []
    outcome: list[float] = []
    for number, mdp in enumerate(mdps):
        for record, path in sample(mdp, rng, *scheme, f"q{number}"):
            gather.add(record)
            for t, (state, action, _) in enumerate(path):
                advantage.append(mdp.q[t, state, action] - mdp.v[t, state])
                outcome.append(mdp.q[t, state, action] - mdp.v[0, 0])
    rollouts = gather.finish()
    trie = build(rollouts)
    shared = np.bincount(trie.node, minlength=trie.n_nodes)
    turns = shared > 0

    def per_node(x: Any) -> Any:
        return np.bincount(trie.node, x, trie.n_nodes)[turns] / shared[turns]

    found = {}
    for name, config in configs.items():
        credit = np.nan_to_num(run_method(rollouts, trie, config).credit)
        by_node = (agreement(per_node(credit), per_node(np.array(truth))) for truth in (advantage, outcome))
        copies = weighted_correlation(credit, np.array(advantage), 1 / shared[trie.node])
        found[name] = [*(value for pair in by_node for value in pair), copies]
    return summary(rollouts, trie)["cost"], found


MEASURES = ("r", "mse", "outcome r", "outcome mse", "copies r")


def agreement(x: Any, y: Any) -> tuple[float, float]:
    """Correlation, and mean squared error after the best scale in units of the truth's."""
    scale = (x @ y) / max(1e-12, x @ x)
    return float(np.corrcoef(x, y)[0, 1]), float(((scale * x - y) ** 2).mean() / (y**2).mean())


def weighted_correlation(x: Any, y: Any, weight: Any) -> float:
    """Pearson's correlation with weights."""
    x, y = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    return float((weight * x * y).sum() / np.sqrt((weight * x * x).sum() * (weight * y * y).sum()))


METHODS = {
    "treeopsd pointwise": Config(),
    "treeopsd listwise": Config(turn_credit="listwise"),
    "treeopsd pointwise, mean": Config(backup="mean"),
    "treeopsd pointwise, leaf": Config(backup="leaf"),
    "grpo": Config(method="grpo"),
    "tree-grpo": Config(method="tree-grpo"),
    "at2po": Config(method="at2po"),
    "at2po diff_parent": Config(method="at2po", options={"adv": "diff_parent"}),
    "treepo": Config(method="treepo"),
    "treepo segment": Config(method="treepo", options={"estimator": "segment"}),
    "treerl": Config(method="treerl"),
    "treerl local": Config(method="treerl", options={"reward": "local"}),
    "gigpo": Config(method="gigpo"),
}


def main() -> None:
    """Print the tables, whatever they say."""
    for deterministic in (True, False):
        kind = "deterministic" if deterministic else "stochastic"
        print(f"\n{kind} environment, {SEEDS} seeds of {QUESTIONS} questions, budget 8 full rollouts each")
        head = " ".join(f"{name:>14s}" for name in (*MEASURES, "less ours"))
        print(f"{'rollouts':9s} {'cost':>5s} {'method':25s} {head}")
        for scheme in ((4, 2), (8, 0), (2, 6)):
            costs, runs = [], []
            for seed in range(SEEDS):
                rng = np.random.default_rng([seed, deterministic])
                mdps = [random_mdp(rng, deterministic) for _ in range(QUESTIONS)]
                cost, found = measure(mdps, rng, scheme, METHODS)
                costs.append(cost)
                runs.append(np.array(list(found.values())))
            values = np.array(runs)  # [seed, method, measure]
            values = np.concatenate([values, values[:, :, :1] - values[:, :1, :1]], axis=2)
            mean, error = values.mean(0), values.std(0, ddof=1) / np.sqrt(SEEDS)
            for name, means, errors in zip(METHODS, mean, error, strict=True):
                cells = " ".join(f"{m:6.3f} ± {e:5.3f}" for m, e in zip(means, errors, strict=True))
                print(f"{scheme!s:9s} {np.mean(costs):5.2f} {name:25s} {cells}")


if __name__ == "__main__":
    main()
