"""PUCT search over one question (Branch2Skill, arXiv 2608.08677; docs/methods/branch2skill.md).

A node is one turn. Each iteration walks from the root to a child that was never visited, always to the child with the
highest ``Q(v) + c * P(v|u) * sqrt(max(1, N(u))) / (1 + N(v))``, takes its action, and backs up

* the outcome, when the episode ended there;
* at the maximal depth, and where nothing was proposed to go on with, the outcome of one straight completion;
* else the worker's value, or 0.

A node's children are proposed when a walk first goes through it. After the last iteration every visited
node without a visited child that has no outcome yet gets one straight completion, which is backed up as well.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from xskill.records import Parent, Step, Trajectory
from xskill.sampling.growing_episode import Prefix, Question, Sampler, complete, completion_seed, sealed, to_trajectory
from xskill.sampling.protocol import Answer, Child, Propose, Proposed, Request, Take, Taken
from xskill.sampling.seeds import seed_for

PriorFrom = Literal["auto", "worker", "logprob", "uniform"]
ValueFrom = Literal["worker", "zero"]


@dataclass(frozen=True, slots=True)
class Search:
    """Choices of the search; the first three defaults are the paper's, the others ours."""

    iterations: int = 40
    depth: int = 6
    """Turns below the root that are searched."""
    children: int = 3
    """Proposals for each node."""
    c: float = 1.4
    """Weight of exploration."""
    prior: PriorFrom = "auto"
    """Where P comes from: the worker's own, the proposals' log-probabilities, or neither; auto = the first there is."""
    value: ValueFrom = "worker"
    """What a new node backs up that is neither an end nor completed."""


@dataclass(slots=True, eq=False)
class _Node:
    child: Child | None
    """The proposal that it is; None for the root."""
    prior: float
    depth: int
    visits: int = 0
    total: float = 0.0
    """Sum of what was backed up."""
    prefix: Prefix | None = None
    """The episode up to here; None until its action was taken."""
    whole: Prefix | None = None
    """The episode to its end, once there is one."""
    children: list[_Node] | None = None
    """None until they were proposed."""
    owner: str | None = None
    """Id of the first trajectory that goes through it."""

    @property
    def q(self) -> float:
        return self.total / self.visits if self.visits else 0.0


def score(q: float, prior: float, parent_visits: int, visits: int, c: float) -> float:
    """PUCT(u, v)."""
    return q + c * prior * math.sqrt(max(1, parent_visits)) / (1 + visits)


def search(question: Question, choices: Search) -> Sampler:
    """Search the question's tree; one trajectory a visited leaf, in the order of the tree.

    The steps of the tree carry ``q``, ``visits`` and ``prior``; ``extra.rollout.completed_from`` is the index of
    the first step of a straight completion.
    """
    root = _Node(child=None, prior=1.0, depth=0, prefix=question.start())
    if question.begun.done:
        root.whole = root.prefix
    for _ in range(choices.iterations):
        yield from _iterate(question, choices, root)
    for path in list(_leaves([root])):
        if path[-1].whole is None:
            _back_up(path, (yield from _finish(question, path[-1])))
    return sealed(list(_trajectories(question, root)))


def _iterate(question: Question, choices: Search, root: _Node) -> Generator[Request, Answer, None]:
    path = [root]
    while True:
        node = path[-1]
        if node.whole is not None:
            return _back_up(path, node.whole.reward or 0.0)
        if node.children is None:
            node.children = yield from _propose(question, choices, node)
        if not node.children:
            return _back_up(path, (yield from _finish(question, node)))
        best = max(
            node.children,
            key=lambda child: (score(child.q, child.prior, node.visits, child.visits, choices.c), child.prior),
        )
        path.append(best)
        if best.prefix is None:
            return _back_up(path, (yield from _take(question, choices, node, best)))


def _propose(question: Question, choices: Search, node: _Node) -> Generator[Request, Answer, list[_Node]]:
    assert node.prefix is not None
    actions = node.prefix.actions
    seed = seed_for(question.seed, question.id, "propose", *actions)
    answer = yield Propose(id=question.id, prefix=actions, k=choices.children, skills=question.skills, seed=seed)
    assert isinstance(answer, Proposed)
    distinct: dict[str, Child] = {}
    for child in answer.children:
        distinct.setdefault(child.action, child)
    siblings = list(distinct.values())
    return [
        _Node(child=child, prior=prior, depth=node.depth + 1)
        for child, prior in zip(siblings, priors(siblings, choices.prior), strict=True)
    ]


def priors(children: Sequence[Child], source: PriorFrom) -> list[float]:
    """P of each of the siblings; sums to 1.

    The worker's own numbers, normalised; or the softmax of the mean token log-probability; or 1/k. A source that
    not all siblings have is passed over.
    """
    own = [child.prior for child in children if child.prior is not None]
    if source in ("auto", "worker") and len(own) == len(children) and sum(own) > 0:
        return [prior / sum(own) for prior in own]
    means = [mean for child in children if (mean := _mean_logprob(child)) is not None]
    if source in ("auto", "logprob") and len(means) == len(children) and means:
        weights = [math.exp(mean - max(means)) for mean in means]
        return [weight / sum(weights) for weight in weights]
    return [1 / len(children) for _ in children]


def _mean_logprob(child: Child) -> float | None:
    if child.logprob is None:
        return None
    if isinstance(child.logprob, list):
        return sum(child.logprob) / len(child.logprob) if child.logprob else None
    return child.logprob / (child.n_tokens or 1)


def _take(question: Question, choices: Search, parent: _Node, node: _Node) -> Generator[Request, Answer, float]:
    """Visit a node for the first time; gives what is to be backed up."""
    assert parent.prefix is not None
    assert node.child is not None
    child = node.child
    answer = yield Take(id=question.id, prefix=parent.prefix.actions, action=child.action)
    assert isinstance(answer, Taken)
    step = Step(
        action=child.action,
        observation=answer.observation,
        thought=child.thought,
        kind=child.kind,
        error=answer.error is True,
        reward=answer.reward,
        logprob=child.logprob,
        n_tokens=child.n_tokens,
        extra=child.extra | answer.extra,
    )
    node.prefix = parent.prefix.then([step], done=answer.done, success=answer.success)
    if answer.done:
        node.whole = node.prefix
        return node.prefix.reward or 0.0
    if node.depth >= min(choices.depth, question.max_turns):
        return (yield from _finish(question, node))
    return answer.value if answer.value is not None and choices.value == "worker" else 0.0


def _finish(question: Question, node: _Node) -> Generator[Request, Answer, float]:
    """Complete the episode from a node on; gives its outcome (0 when it has none)."""
    assert node.prefix is not None
    node.whole = yield from complete(question, node.prefix, completion_seed(question, *node.prefix.actions))
    return node.whole.reward or 0.0


def _back_up(path: Sequence[_Node], value: float) -> None:
    for node in path:
        node.visits += 1
        node.total += value


def _leaves(path: list[_Node]) -> Iterator[list[_Node]]:
    """Paths from the root to each visited node that has no visited child, in the order of the tree."""
    visited = [child for child in path[-1].children or () if child.prefix is not None]
    if not visited:
        yield path
    for child in visited:
        yield from _leaves([*path, child])


def _trajectories(question: Question, root: _Node) -> Iterator[Trajectory]:
    """One episode a leaf; its parent is the first episode that passed the deepest node they share."""
    for number, path in enumerate(_leaves([root])):
        name = f"{question.id}/{number}"
        shared = [node for node in path if node.owner is not None]
        parent = Parent(id=shared[-1].owner, turn=shared[-1].depth) if shared and shared[-1].owner else None
        for node in path[len(shared) :]:
            node.owner = name
        whole, depth = path[-1].whole, path[-1].depth
        assert whole is not None
        searched = [
            msgspec.structs.replace(step, q=node.q, visits=node.visits, prior=node.prior)
            for step, node in zip(whole.steps, path[1:], strict=False)
        ]
        episode = replace(whole, steps=(*searched, *whole.steps[depth:]))
        completed = {} if len(whole.steps) == depth else {"completed_from": depth}
        yield to_trajectory(question, name, episode, parent=parent, **completed)
