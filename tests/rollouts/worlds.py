"""Worlds without a process: what a sampler's requests are answered from in the tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from xskill.records import Step, Trajectory
from xskill.sampling.growing_episode import Question, Sampler
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
    Task,
)

Path = tuple[str, ...]


def pump(sampler: Sampler, answer: Callable[[Request], Answer]) -> list[Trajectory]:
    """Answer a sampler's requests until it is done."""
    try:
        request = next(sampler)
        while True:
            request = sampler.send(answer(request))
    except StopIteration as end:
        found: list[Trajectory] = end.value
        return found


def question(begun: Begun | None = None, *, seed: int = 0, max_turns: int = 50, name: str = "q") -> Question:
    return Question(
        task=Task(id=name, task="a task"),
        begun=begun or Begun(observation="start"),
        seed=seed,
        max_turns=max_turns,
        skills=[],
        config={"sampler": "test"},
    )


@dataclass
class Table:
    """A tree written down: path → proposals; and path → observation, reward, value."""

    proposals: dict[Path, list[Child]]
    ends: dict[Path, float | None] = field(default_factory=dict)
    """Paths at which the episode ends, with the reward."""
    values: dict[Path, float] = field(default_factory=dict)
    completions: dict[Path, float] = field(default_factory=dict)
    """Outcome of the straight completion of a path: one further turn."""
    asked: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Answer:
        assert not isinstance(request, Reset)
        self.asked.append(request)
        prefix = tuple(request.prefix)
        if isinstance(request, Propose):
            return Proposed(children=self.proposals.get(prefix, [])[: request.k])
        if isinstance(request, Take):
            path = (*prefix, request.action)
            if path in self.ends:
                return Taken(observation="/".join(path), done=True, reward=self.ends[path])
            return Taken(observation="/".join(path), done=False, value=self.values.get(path))
        assert isinstance(request, Finish)
        outcome = self.completions.get(prefix, 0.0)
        return Finished(steps=[Step(action="rest", observation="end", reward=outcome)], done=True)


def of_kind(requests: list[Request], kind: type[Any]) -> list[Any]:
    return [request for request in requests if isinstance(request, kind)]
