"""What sampling cost, counted from the answers themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from xskill.records import Step, Trajectory, turns
from xskill.sampling.protocol import Answer, Finished, Proposed, Taken


@dataclass(slots=True)
class Cost:
    """Counters of one question, or of a run."""

    questions: int = 0
    """That were finished."""
    trajectories: int = 0
    turns: int = 0
    """Turns that the policy generated: proposals, taken or not, and turns of completions."""
    tokens: int = 0
    """Their tokens, as far as workers tell (``n_tokens``)."""
    proposed: int = 0
    """Proposals among the turns."""
    taken: int = 0
    """Steps taken one by one; with the turns of completions, all that went through the environment."""
    own_turns: int = 0
    """Turns in the output that a trajectory did not copy from its parent."""
    full_rollouts: float = 0.0
    """``own_turns`` of each question, divided by the mean length of its trajectories."""
    requests: int = 0
    """Answered."""
    retries: int = 0
    starts: int = 0
    """Worker processes started."""

    def count(self, answer: Answer) -> None:
        """Add an answer that was accepted."""
        self.requests += 1
        if isinstance(answer, Proposed):
            self.proposed += len(answer.children)
            self.turns += len(answer.children)
            self.tokens += sum(child.n_tokens or 0 for child in answer.children)
        elif isinstance(answer, Taken):
            self.taken += 1
        elif isinstance(answer, Finished):
            self.turns += _n_turns(answer.steps)
            self.tokens += sum(step.n_tokens or 0 for step in answer.steps)

    def finish(self, trajectories: Sequence[Trajectory]) -> None:
        """Add what a question's sampler made of it."""
        lengths = [_n_turns(trajectory.steps or []) for trajectory in trajectories]
        own = sum(lengths) - sum(trajectory.parent.turn for trajectory in trajectories if trajectory.parent)
        self.questions += 1
        self.trajectories += len(trajectories)
        self.own_turns += own
        if sum(lengths):
            self.full_rollouts += own * len(lengths) / sum(lengths)

    def add(self, other: Cost) -> None:
        """Add another's counters."""
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)

    def as_dict(self) -> dict[str, Any]:
        """All counters, and the full rollouts of a question in the mean."""
        mean = self.full_rollouts / self.questions if self.questions else None
        return asdict(self) | {"full_rollouts_per_question": mean}

    def summary(self) -> str:
        """For the summary line."""
        text = f"{self.trajectories:,} trajectories; {self.turns:,} turns generated"
        if self.tokens:
            text += f" ({self.tokens:,} tokens)"
        if self.questions:
            text += f"; {self.full_rollouts / self.questions:.2f} full rollouts a question"
        if self.retries:
            text += f"; {self.retries:,} retried"
        return text


def _n_turns(steps: list[Step]) -> int:
    return turns(steps)[-1] + 1 if steps else 0
