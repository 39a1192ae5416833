"""The verifiers adapter, scored by verifiers itself: a plugged reward, or a rubric in old versions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.integrations.tiny import GOOD, rows
from xskill.errors import BadRecord
from xskill.integrations.verifiers import tree_rubric


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
