"""The worker's side: prefixes in any order, exact likelihoods, and a clean stdout."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

from xskill.records import encode
from xskill.sampling.protocol import (
    Begun,
    Finish,
    Finished,
    Propose,
    Proposed,
    Reset,
    Take,
    Taken,
    decode_request,
    parse_answer,
)
from xskill.workers import session as session_module
from xskill.workers.environments.null import NullEnvironment
from xskill.workers.policies.without_model import ExpertNoise, RandomPolicy
from xskill.workers.session import CannotAnswer, Session, State

RESET = Reset(id="q", task={}, seed=1)


class Counted(NullEnvironment):
    """Counts how often it is reset and stepped; ``drift`` makes a replay differ."""

    def __init__(self, drift: bool = False) -> None:
        super().__init__(3, 4)
        self.resets = self.steps = 0
        self.drift = drift

    def reset(self, task: dict[str, Any], seed: int) -> Begun:
        self.resets += 1
        return super().reset(task, seed)

    def step(self, action: str) -> Taken:
        self.steps += 1
        taken = super().step(action)
        return Taken(observation=f"step {self.steps}", done=False) if self.drift else taken


def take(session: Session, *path: str) -> Taken:
    answer = session.answer(Take(id="q", prefix=list(path[:-1]), action=path[-1]))
    assert isinstance(answer, Taken)
    return answer


def test_going_on_replays_nothing_and_going_elsewhere_replays_the_prefix() -> None:
    environment = Counted()
    session = Session(environment, RandomPolicy())
    session.answer(RESET)
    take(session, "take 0")
    take(session, "take 0", "take 1")
    assert (environment.resets, environment.steps) == (1, 2)
    assert take(session, "take 0", "take 2").observation == "You are 2 deep after take 2."
    assert (environment.resets, environment.steps) == (2, 4)
    session.answer(Propose(id="q", prefix=[], k=1, skills=[], seed=0))
    assert (environment.resets, environment.steps) == (3, 4)


def test_what_cannot_be_answered() -> None:
    session = Session(Counted(), RandomPolicy())
    with pytest.raises(CannotAnswer, match="'q' was not reset"):
        take(session, "take 0")
    session.answer(RESET)
    path = ["take 0"] * 4
    take(session, *path)
    with pytest.raises(CannotAnswer, match="the episode has ended"):
        session.answer(Propose(id="q", prefix=path, k=1, skills=[], seed=0))
    with pytest.raises(CannotAnswer, match="the episode ended before 'take 1'"):
        take(session, *path, "take 1")
    with pytest.raises(CannotAnswer, match="'other' was not reset"):
        session.answer(Take(id="other", prefix=[], action="a"))
    assert take(session, "take 2").done is False  # the session lives on


def test_an_environment_that_drifts_is_found_out() -> None:
    session = Session(Counted(drift=True), RandomPolicy())
    session.answer(RESET)
    take(session, "take 0")
    take(session, "take 0", "take 1")
    with pytest.raises(CannotAnswer, match="answered differently: the environment is not deterministic"):
        take(session, "take 0", "take 2")


def test_chunks_do_not_change_an_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    def episode() -> list[Any]:
        session = Session(NullEnvironment(3, 6), ExpertNoise(0.5))
        session.answer(RESET)
        steps: list[Any] = []
        chunks = 0
        while True:
            prefix = [step.action for step in steps]
            answer = session.answer(Finish(id="q", prefix=prefix, max_turns=20, skills=[], seed=9))
            assert isinstance(answer, Finished)
            steps += answer.steps
            chunks += 1
            if answer.done:
                return [chunks, *steps]

    whole = episode()
    monkeypatch.setattr(session_module, "CHUNK_SECONDS", -1.0)
    pieces = episode()
    assert (whole[0], pieces[0]) == (1, 6)
    assert whole[1:] == pieces[1:]


def state(environment: NullEnvironment) -> State:
    return State({}, environment.reset({}, 3), [], environment)


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_expert_noise_is_what_it_says(rate: float) -> None:
    environment = NullEnvironment(4, 3)
    here = state(environment)
    expert = environment.expert()
    counts: Counter[str] = Counter()
    for seed in range(3000):
        (child,) = ExpertNoise(rate).propose(here, 1, np.random.default_rng(seed))
        counts[child.action] += 1
        told = 1 - rate if child.action == expert else rate / 3
        assert child.logprob == pytest.approx(math.log(told))
    for action in environment.actions():
        told = 1 - rate if action == expert else rate / 3
        assert counts[action] / 3000 == pytest.approx(told, abs=0.035)


@pytest.mark.parametrize("policy", [ExpertNoise(0.3), RandomPolicy()])
def test_several_proposals_differ_and_the_first_is_a_fair_draw(policy: Any) -> None:
    environment = NullEnvironment(4, 3)
    here = state(environment)
    first: Counter[str] = Counter()
    for seed in range(3000):
        children = policy.propose(here, 3, np.random.default_rng(seed))
        assert len({child.action for child in children}) == 3
        first[children[0].action] += 1
    for child in policy.propose(here, 4, np.random.default_rng(0)):
        assert first[child.action] / 3000 == pytest.approx(math.exp(child.logprob), abs=0.035)
    assert len(policy.propose(here, 9, np.random.default_rng(0))) == 4


def test_without_noise_there_is_one_proposal() -> None:
    environment = NullEnvironment(4, 3)
    children = ExpertNoise(0.0).propose(state(environment), 3, np.random.default_rng(0))
    assert [child.action for child in children] == [environment.expert()]


def test_the_shipped_command_speaks_the_protocol() -> None:
    """Bad lines are answered, stdout is clean, the end of stdin ends it."""
    requests = [
        encode(RESET),
        b"gibberish",
        encode(Propose(id="q", prefix=["take 0"], k=3, skills=[], seed=4)),
        encode(Take(id="x", prefix=[], action="a")),
    ]
    result = subprocess.run(
        [sys.executable, "-m", "xskill", "worker", "null"],
        input=b"\n".join(requests) + b"\n",
        capture_output=True,
        timeout=60,
        check=True,
    )
    reset, bad, proposed, unknown = result.stdout.splitlines()
    assert json.loads(reset) == {
        "id": "q", "observation": "You stand at the root.", "task": "Find the way.", "env": "null",
    }  # fmt: skip
    assert json.loads(bad)["error"].startswith("not a request")
    answer = parse_answer(decode_request(requests[2]), proposed)
    assert isinstance(answer, Proposed)
    assert len(answer.children) == 3
    assert json.loads(unknown) == {"id": "x", "error": "question 'x' was not reset"}
