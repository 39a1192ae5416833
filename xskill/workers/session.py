"""The worker's side of the protocol: an environment and a policy, asked about prefixes in any order."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from xskill.errors import CannotAnswer
from xskill.records import Step
from xskill.sampling.protocol import (
    Answer,
    Begun,
    Child,
    Finish,
    Finished,
    Propose,
    Proposed,
    Request,
    Reset,
    Take,
    Taken,
    same_text,
)

CHUNK_SECONDS = 5.0
"""A finish answer is sent after this time, done or not, so that the driver sees life."""


class Environment(Protocol):
    """What a worker acts in. Reset with the same task and seed, it answers the same actions the same way."""

    def reset(self, task: dict[str, Any], seed: int) -> Begun:
        """Begin an episode of the task; called again for every replay."""

    def step(self, action: str) -> Taken:
        """Take one action."""

    def actions(self) -> list[str] | None:
        """What can be done now, in a fixed order; None when nobody can list it."""

    def expert(self) -> str | None:
        """What an expert would do now; None when there is none, or it is at its wits' end."""

    def close(self) -> None:
        """Let go of what it holds."""


@dataclass(frozen=True, slots=True)
class State:
    """What a policy sees."""

    task: dict[str, Any]
    begun: Begun
    turns: list[tuple[str, str | None]]
    """Actions so far with their observations."""
    environment: Environment
    skills: list[dict[str, Any]] = field(default_factory=list)
    refused: frozenset[int] = frozenset()
    """Numbers of the turns that the environment reported as errors: they did nothing."""


class Policy(Protocol):
    """What chooses actions. The same state and generator give the same choice."""

    def propose(self, state: State, k: int, rng: np.random.Generator) -> list[Child]:
        """At most ``k`` different actions, sampled; of one (k = 1) the likelihood is the policy's."""


class Session:
    """Answers requests about the current question, replaying the prefix when the environment stands elsewhere."""

    def __init__(self, environment: Environment, policy: Policy) -> None:
        self._environment = environment
        self._policy = policy
        self._reset: Reset | None = None
        self._begun = Begun()
        self._turns: list[tuple[str, str | None]] = []
        """Actions since the environment's reset, with their observations."""
        self._refused: set[int] = set()
        """Numbers of those that were errors."""
        self._last = Taken(done=False)
        self._seen: dict[tuple[str, ...], str | None] = {}
        """Observation after each prefix that was ever walked: a replay must give it again."""

    def answer(self, request: Request) -> Answer:
        """Answer one request.

        Raises:
            XskillError: it cannot be answered; the session stays usable.
        """
        if isinstance(request, Reset):
            return self._begin(request)
        if self._reset is None or request.id != self._reset.id:
            raise CannotAnswer(f"question {request.id!r} was not reset")
        self._go_to(request.prefix)
        if isinstance(request, Take):
            return self._take(request.action)
        if self._last.done:
            raise CannotAnswer("the episode has ended")
        if isinstance(request, Propose):
            rng = np.random.default_rng(request.seed)
            return Proposed(children=self._policy.propose(self._state(request.skills), request.k, rng))
        return self._finish(request)

    def _begin(self, request: Reset) -> Begun:
        self._reset = None
        self._seen = {}
        begun = self._environment.reset(request.task, request.seed)
        self._reset, self._begun = request, begun
        self._turns, self._refused, self._last = [], set(), Taken(done=begun.done)
        return begun

    def _go_to(self, prefix: list[str]) -> None:
        assert self._reset is not None
        if [action for action, _ in self._turns] != prefix[: len(self._turns)]:
            begun = self._environment.reset(self._reset.task, self._reset.seed)
            if not same_text(begun.observation, self._begun.observation):
                raise CannotAnswer("a second reset gave another observation: the environment is not deterministic")
            self._turns, self._refused, self._last = [], set(), Taken(done=begun.done)
        for action in prefix[len(self._turns) :]:
            self._take(action)

    def _take(self, action: str) -> Taken:
        if self._last.done:
            raise CannotAnswer(f"the episode ended before {action!r}")
        taken = self._environment.step(action)
        if taken.error is True:
            self._refused.add(len(self._turns))
        self._turns.append((action, taken.observation))
        self._last = taken
        before = self._seen.setdefault(tuple(action for action, _ in self._turns), taken.observation)
        if not same_text(taken.observation, before):
            raise CannotAnswer(f"replayed, {action!r} was answered differently: the environment is not deterministic")
        return taken

    def _finish(self, request: Finish) -> Finished:
        steps: list[Step] = []
        until = time.monotonic() + CHUNK_SECONDS
        while len(steps) < request.max_turns and not self._last.done:
            # Each turn has its own draw, so that it does not matter in which chunks the turns are asked for.
            rng = np.random.default_rng([request.seed, len(self._turns)])
            children = self._policy.propose(self._state(request.skills), 1, rng)
            if not children:
                return Finished(steps=steps, done=True, success=self._last.success)
            child = children[0]
            taken = self._take(child.action)
            steps.append(as_step(child, taken))
            if time.monotonic() > until:
                break
        return Finished(steps=steps, done=self._last.done, success=self._last.success)

    def _state(self, skills: list[dict[str, Any]]) -> State:
        assert self._reset is not None
        return State(self._reset.task, self._begun, self._turns, self._environment, skills, frozenset(self._refused))


def as_step(child: Child, taken: Taken) -> Step:
    """The turn's record: what was proposed and what came of it."""
    return Step(
        action=child.action,
        observation=taken.observation,
        thought=child.thought,
        kind=child.kind,
        error=taken.error is True,
        reward=taken.reward,
        logprob=child.logprob,
        n_tokens=child.n_tokens,
        extra=child.extra | taken.extra,
    )
