"""The model as policy, against a scripted endpoint: what is asked, what is understood, what a bad server costs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.rollouts.commands import faulty, lines, within
from tests.rollouts.scripted_server import Fault, Script, serving
from xskill.sampling.protocol import Begun
from xskill.workers.environments.null import NullEnvironment
from xskill.workers.environments.reasoning import ReasoningEnvironment, find_answer
from xskill.workers.policies.llm import LlmPolicy, acting, read_action, read_step, reasoning, skill_text
from xskill.workers.session import CannotAnswer, State

pytest.importorskip("openai", reason="the [llm] extra")

from xskill.workers.policies.endpoint import Endpoint, Sampler

ASK = [{"role": "user", "content": "hello"}]


def say(text: str) -> Any:
    return lambda request, index: f"{text} {index}"


def sampler(script: Script, **options: Any) -> Sampler:
    return Sampler(Endpoint(model="m", base_url=script.url, **{"timeout": 60.0, "retries": 2, **options}))


def patience(fault: Fault) -> float:
    """Time for the healthy answers too, on a busy machine; only a slow server makes anyone wait for it."""
    return 1.0 if fault == "slow" else 60.0


def test_one_request_gives_all_samples_with_their_likelihoods() -> None:
    with serving(Script([], say("go north"))) as script:
        samples = sampler(script, temperature=0.7, max_tokens=9, body={"top_p": 0.9}).sample(ASK, 3, 5, stop="\n\n")
    assert [(s.text, s.logprob, s.n_tokens) for s in samples] == [
        ("go north 0", -1.5, 3),
        ("go north 1", -4.5, 3),
        ("go north 2", -7.5, 3),
    ]
    assert script.requests == [
        {
            "model": "m",
            "messages": ASK,
            "n": 3,
            "seed": 5,
            "temperature": 0.7,
            "max_tokens": 9,
            "logprobs": True,
            "stop": "\n\n",
            "top_p": 0.9,
        }
    ]


def test_a_server_that_gives_one_choice_is_asked_for_the_others() -> None:
    with serving(Script([], say("x"), choices=1)) as script:
        assert len(sampler(script).sample(ASK, 3, 5)) == 3
    assert [(r.get("n"), r["seed"]) for r in script.requests] == [(3, 5), (None, 6), (None, 7)]


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_refuses_several_choices_is_asked_one_by_one_from_then_on(status: int) -> None:
    with serving(Script([(status, {})], say("x"))) as script:
        asked = sampler(script)
        assert len(asked.sample(ASK, 2, 5)) == len(asked.sample(ASK, 2, 8)) == 2
    assert [(r.get("n"), r["seed"]) for r in script.requests] == [(2, 5), (None, 5), (None, 6), (None, 8), (None, 9)]


def test_a_server_without_log_probabilities() -> None:
    with serving(Script([], say("x"), logprobs=False)) as script:
        (sample,) = sampler(script, logprobs=False).sample(ASK, 1, 5)
    assert (sample.logprob, sample.n_tokens) == (None, None)
    assert "logprobs" not in script.requests[0]


@pytest.mark.parametrize("fault", [(500, {}), (503, {}), (429, {}), (408, {}), "cut", "garbage", "empty", "slow"])
def test_a_passing_fault_is_outlived(fault: Fault) -> None:
    with serving(Script([fault], say("still here"))) as script:
        (sample,) = sampler(script, timeout=patience(fault)).sample(ASK, 1, 5)
    assert sample.text == "still here 0"
    assert len(script.requests) == 2
    assert script.requests[0] == script.requests[1]


def test_retry_after_is_heeded() -> None:
    with serving(Script([(429, {"Retry-After": "2"})], say("x"))) as script:
        sampler(script).sample(ASK, 1, 5)
    assert script.times[1] - script.times[0] >= 1.9


@pytest.mark.parametrize(
    ("fault", "requests", "reason"),
    [
        ((400, {}), 1, "as the script says"),
        ((401, {}), 1, "as the script says"),
        ((500, {}), 3, "as the script says"),
        ("cut", 3, "the model endpoint"),
        ("garbage", 3, "broken answer 3 times"),
        ("empty", 3, "broken answer 3 times: no completion in"),
        ("slow", 3, "timed out"),
    ],
)
def test_a_lasting_fault_is_told(fault: Fault, requests: int, reason: str) -> None:
    with serving(Script([fault] * 9, say("x"))) as script, pytest.raises(CannotAnswer, match=reason):
        sampler(script, timeout=patience(fault)).sample(ASK, 1, 5)
    assert len(script.requests) == requests


def test_nobody_there() -> None:
    gone = Sampler(Endpoint(model="m", base_url="http://127.0.0.1:9/v1", retries=0))
    with pytest.raises(CannotAnswer, match="the model endpoint: Connection error"):
        gone.sample(ASK, 1, 5)


@pytest.mark.parametrize(
    ("text", "thought", "action"),
    [
        ("go north", None, "go north"),
        ("  > go north  \nand then some", None, "go north"),
        ('"open door"', None, "open door"),
        ("`open door`", None, "open door"),
        ("I should look.\nAction: look around", "I should look.", "look around"),
        ("Action: a\nNo.\n**Action:** b", "Action: a\nNo.", "b"),
        ("", None, ""),
        ("'", None, "'"),
    ],
)
def test_reading_an_action(text: str, thought: str | None, action: str) -> None:
    assert read_action(text) == (thought, action)


def state(skills: list[dict[str, Any]] | None = None) -> State:
    environment = NullEnvironment(2, 5)
    begun = environment.reset({}, 1)
    turns: list[tuple[str, str | None]] = [(f"act {i}", f"seen {i}") for i in range(3)]
    return State({"task": "not this"}, begun, turns, environment, skills or [])


def test_what_a_model_is_shown() -> None:
    skill = {"title": "Look first", "principle": "Look.", "when_to_apply": "always", "steps": ["look", "act"]}
    system, *talk = acting(None, 0)(state([skill]))
    assert system["content"].endswith(
        "What earlier episodes taught (advice, not orders):\n- Look first: Look.\n  When: always\n  1. look\n  2. act"
    )
    assert [(m["role"], m["content"]) for m in talk] == [
        ("user", "Task: Find the way.\n\nYou stand at the root."),
        ("assistant", "act 0"),
        ("user", "seen 0"),
        ("assistant", "act 1"),
        ("user", "seen 1"),
        ("assistant", "act 2"),
        ("user", "seen 2"),
    ]
    _, *short = acting(1, 5)(state())
    assert [m["content"] for m in short] == [
        "Task: Find the way.\n\nYou stand at the root.\n\n(2 earlier turns are left out.)",
        "act 2",
        "seen 2\n\nPossible actions:\n- take 0\n- take 1",
    ]
    assert len(acting(0, 1)(state())) == 2
    assert skill_text([]) == ""


def test_equal_samples_are_one_proposal() -> None:
    with serving(Script([], lambda request, index: ["go a", "go b", "go a"][index])) as script:
        policy = LlmPolicy(sampler(script), acting(None, 0), read_action)
        children = policy.propose(state(), 3, np.random.default_rng(1))
        again = policy.propose(state(), 3, np.random.default_rng(1))
    assert [(c.action, c.logprob, c.n_tokens) for c in children] == [("go a", -1.0, 2), ("go b", -3.0, 2)]
    assert children == again
    assert script.requests[0] == script.requests[1]


def test_a_constrained_model_chooses_among_the_actions() -> None:
    with serving(Script([], lambda request, index: '{"action": "take 1"}')) as script:
        (child,) = LlmPolicy(sampler(script), acting(None, 0), read_action, constrain=True).propose(
            state(), 1, np.random.default_rng(1)
        )
    assert child.action == "take 1"
    schema = script.requests[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["action"]["enum"] == ["take 0", "take 1"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("So 3 + 4 = 7.\nAnswer: 7", "7"),
        ("**Final answer:** x = 2", "x = 2"),
        ("The answer is 12.", "12."),
        (r"Thus \boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        ("I have no answer yet", None),
        ("answers: many", None),
    ],
)
def test_finding_an_answer(text: str, answer: str | None) -> None:
    assert find_answer(text) == answer


def judged(checker: str | None, answer: str, task: dict[str, Any]) -> float | None:
    environment = ReasoningEnvironment([sys.executable, "-c", checker] if checker else None)
    environment.reset({"task": "What is 3 + 4?", **task}, 0)
    assert environment.step("Let me think.").done is False
    taken = environment.step(f"Answer: {answer}")
    assert taken.done
    return taken.reward


def test_judging() -> None:
    assert judged(None, "7.", {"answer": 7}) == 1.0
    assert judged(None, "1,000", {"answer": "1000"}) == 1.0
    assert judged(None, "8", {"answer": "7"}) == 0.0
    assert judged(None, "8", {}) is None
    by_case = (
        "import json, sys; c = json.load(sys.stdin); print(0.5 if c['answer'] == '7' and len(c['steps']) == 2 else 0)"
    )
    assert judged(by_case, "7", {}) == 0.5
    assert judged("pass", "7", {}) == 1.0
    assert judged("raise SystemExit(1)", "7", {}) == 0.0
    for broken in ("print('seven')", "raise SystemExit(3)", "import sys; print('1'); sys.exit('oh no')"):
        with pytest.raises(CannotAnswer, match="the checker gave no number"):
            judged(broken, "7", {})


def test_reasoning_shows_the_steps() -> None:
    environment = ReasoningEnvironment(None)
    shown = reasoning(State({"task": "2 + 2?"}, Begun(), [("two and two", None)], environment))
    assert shown[1]["content"] == "Problem: 2 + 2?\n\nSteps so far:\n\ntwo and two"
    assert read_step(" so it is four \n") == (None, "so it is four")


def solve(request: dict[str, Any], index: int) -> str:
    """Thinks once, then answers; every other seed is wrong."""
    if "Steps so far" not in request["messages"][-1]["content"]:
        return f"Let me think {request['seed'] % 3} {index}"
    return f"Answer: {7 + (request['seed'] + index) % 2}"


def test_a_search_over_reasoning_end_to_end(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with serving(Script(["cut", (500, {})], solve)) as script:
        result = within(
            *("rollout", "puct", "--iterations", "12", "--depth", "4", "-o", out),
            *("-w", f"xskill worker chat --model m --base-url {script.url} --set temperature=0.8"),
            stdin='{"id": "sum", "task": "What is 3 + 4?", "answer": 7}\n',
        )
    assert result.returncode == 0, result.stderr
    rows = lines(out.read_text())
    assert {row["reward"] for row in rows} == {0.0, 1.0}
    assert all(len(row["steps"]) == 2 for row in rows)
    assert rows[0]["steps"][0]["n_tokens"] == 5
    assert rows[0]["extra"]["answer"] == 7
    tokens = sum(int(word.replace(",", "")) for word in result.stderr.partition("(")[2].split()[:1])
    assert tokens > 0
    assert all(r["temperature"] == 0.8 for r in script.requests)


def test_a_model_in_a_foreign_environment(tmp_path: Path) -> None:
    with serving(Script([], lambda request, index: f"go {(request['seed'] + index) % 3}")) as script:
        worker = f"xskill worker llm --model m --base-url {script.url} --environment '{faulty()}'"
        result = within("rollout", "expand", "-N", "2", "-B", "1", "-w", worker, stdin='{"id": "a"}\n{"id": "b"}\n')
        assert result.returncode == 0, result.stderr
        rows = lines(result.stdout)
        assert len(rows) == 8
        assert all(len(row["steps"]) == 4 for row in rows)
        assert {row["reward"] for row in rows} <= {0.0, 1.0}

        # The environment dies once in the middle: the worker says so, the driver asks again, nothing is lost.
        dying = faulty("kill", "b", "step", "1", tmp_path)
        worker = f"xskill worker llm --model m --base-url {script.url} --environment '{dying}'"
        again = within("rollout", "expand", "-N", "2", "-B", "1", "-w", worker, stdin='{"id": "a"}\n{"id": "b"}\n')
    assert again.stdout == result.stdout
    assert "the environment was killed by signal 9" in again.stderr


def test_an_endpoint_that_stays_away_fails_the_question_with_its_reason(tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.jsonl"
    with serving(Script([(401, {})] * 99, say("x"))) as script:
        result = within(
            *("rollout", "expand", "--rejects", rejects),
            *("-w", f"xskill worker chat --model m --base-url {script.url}"),
            stdin='{"id": "q", "task": "?"}\n',
        )
    assert result.returncode == 65
    (row,) = lines(rejects.read_text())
    assert "the model endpoint: Error code: 401" in row["reason"]
    assert json.loads(row["raw"])["id"] == "q"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("--set temprature=1", "one of temperature (1.0), max_tokens (256)"),
        ("--set temperature=hot", "Expected `float`, got `str` - at `$.temperature`"),
        ("--set temperature", "expected KEY=VALUE"),
        ("", "which model of the endpoint?"),
    ],
)
def test_settings_that_are_none(settings: str, reason: str) -> None:
    model = "--model m" if settings else ""
    result = within("worker", "chat", *f"{model} --base-url http://127.0.0.1:9/v1 {settings}".split())
    assert result.returncode == 2
    assert reason in result.stderr
