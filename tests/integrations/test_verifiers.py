"""The verifiers adapter, scored by verifiers itself: a plugged reward, or a rubric in old versions; credited traces."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from tests.integrations.tiny import GOOD, rows
from tests.tree.test_tree_commands import within
from xskill.errors import BadRecord
from xskill.integrations.verifiers import tree_rubric
from xskill.records import Step, Trajectory, encode


def gold(folder: Path) -> str:
    return str(pl.read_parquet(rows(folder, "trl"))["ground_truth"][0])


def test_rubric_function(tmp_path: Path) -> None:
    text = gold(tmp_path)
    messages = [{"role": "assistant", "content": GOOD}]
    assert tree_rubric(completion=messages, answer=text, state={}, prompt=[]) == pytest.approx(1.3)
    assert tree_rubric(completion=GOOD, answer="", info={"ground_truth": text}) == pytest.approx(1.3)
    with pytest.raises(BadRecord):
        tree_rubric(completion=GOOD)


def test_plugged_reward(tmp_path: Path) -> None:
    pytest.importorskip("verifiers")
    vf = pytest.importorskip("verifiers.v1", reason="needs verifiers 0.2 or later")
    pytest.importorskip("verifiers.v1.graph", reason="needs verifiers 0.2 or later")
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.types import AssistantMessage, UserMessage

    class Data(vf.TaskData):  # type: ignore[misc,name-defined]
        ground_truth: str

    class Task(vf.Task[Data, vf.State, vf.TaskConfig]):  # type: ignore[misc,name-defined]
        pass

    plugged = {"tree": {"fn": "xskill.integrations.verifiers:tree_reward"}}
    data = Data(prompt="Measure it.", ground_truth=gold(tmp_path))
    task = Task(data, vf.TaskConfig(rewards=plugged))
    info: Any = vf.TraceTask(type="Task", data=data)
    for reply, expected in ((GOOD, 1.3), ("look around", 0.0)):
        nodes = [
            MessageNode(message=UserMessage(content="Measure it.")),
            MessageNode(message=AssistantMessage(content=reply), parent=0, sampled=True),
        ]
        trace = vf.Trace(task=info, agent=vf.AgentInfo(config=vf.AgentConfig()), nodes=nodes)
        asyncio.run(task.score(trace))
        assert trace.reward == pytest.approx(expected)
        assert list(trace.rewards) == ["tree"]


@pytest.mark.parametrize("tokens", [True, False], ids=["tokens", "no tokens"])
def test_credited_traces_are_read_as_meant(tmp_path: Path, tokens: bool) -> None:
    """Two runs that part at their second turn, credit 1 and -1 there; prompt tokens lead every turn, masked."""
    vf = pytest.importorskip("verifiers.v1", reason="needs verifiers 0.2 or later")
    runs = []
    for name, last, reward in (("a", 9, 1.0), ("b", 8, 0.0)):
        extra: list[dict[str, Any]] = [{}, {}]
        if tokens:
            extra = [
                {"token_ids": [1, 2, 3, 4], "mask": [0, 0, 1, 1]},
                {"token_ids": [5, 6, last], "mask": [0, 1, 1]},
            ]
        steps = [
            Step(action="look()", kind="call", observation="a lamp", logprob=[0.0, 0.0, -0.5, -0.25], extra=extra[0]),
            Step(action=f"take {last}", thought="hm", logprob=[0.0, -0.75, -1.0], extra=extra[1]),
        ]
        if not tokens:
            steps = [msgspec.structs.replace(step, logprob=-1.0, n_tokens=2) for step in steps]
        runs.append(
            Trajectory(
                id=name, question_id="q", task="Take it.", actions=["look", f"take<{last}>"], steps=steps, reward=reward
            )
        )
    done = within("credit", "--as", "verifiers", stdin=b"".join(encode(run) + b"\n" for run in runs))
    assert done.returncode == 0, done.stderr
    first, second = (vf.Trace.model_validate_json(line) for line in done.stdout.splitlines())
    assert (first.id, first.reward, second.reward, first.task.data.prompt_text) == ("a", 1.0, 0.0, "Take it.")
    assert (first.has_error, second.has_error, first.num_turns) == (False, False, 2)
    assert (first.last_reply, first.assistant_messages[0].tool_calls[0].name) == ("take 9", "look")
    for trace, sign in ((first, 1), (second, -1)):
        assert trace.info["turn_rewards"] == pytest.approx([0, sign], abs=1e-4)
        assert len(trace.info["turn_rewards"]) == trace.num_turns
        (branch,) = trace.branches
        if tokens:
            assert branch.token_ids == [1, 2, 3, 4, 5, 6, 9 if sign > 0 else 8]
            assert branch.sampled_mask == [False, False, True, True, False, True, True]
            assert branch.logprobs == [0, 0, -0.5, -0.25, 0, -0.75, -1]
            assert branch.advantages == pytest.approx([0, 0, 0, 0, 0, sign, sign], abs=1e-4)
        else:
            assert (branch.token_ids, branch.sampled_mask, branch.logprobs, branch.advantages) == ([], [], [], None)
            assert trace.info["turn_logprobs"] == [-1, -1]


def test_rubric_of_an_old_version(tmp_path: Path) -> None:
    vf = pytest.importorskip("verifiers")
    if not hasattr(vf, "Rubric"):
        pytest.skip("needs verifiers before 0.2")
    rubric = vf.Rubric(funcs=[tree_rubric])
    state: dict[str, Any] = {
        "prompt": [{"role": "user", "content": "Measure it."}],
        "completion": [{"role": "assistant", "content": GOOD}],
        "answer": gold(tmp_path),
        "task": "t",
        "info": {},
        "timing": {"scoring_ms": 0.0, "total_ms": 0.0},
        "trajectory": [],
    }
    asyncio.run(rubric.score_rollout(state))
    assert state["reward"] == pytest.approx(1.3)
