"""The SkyRL environment, made by SkyRL's registry from a row that SkyRL's dataset loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.tiny import GOOD, rows, tokenizer


def test_skyrl_makes_the_environment_of_a_row(tmp_path: Path) -> None:
    registration = pytest.importorskip("skyrl_gym.envs.registration")
    dataset = pytest.importorskip("skyrl.train.dataset.dataset")
    from xskill.errors import BadRecord

    data = dataset.PromptDataset(str(rows(tmp_path, "skyrl")), tokenizer(), 512, num_workers=1)
    assert len(data) == 2
    messages, env_class, extras, _ = data[0]
    assert [message["role"] for message in messages] == ["system", "user"]
    registration.register(id=env_class, entry_point="xskill.integrations.skyrl:TreeEnv")
    env = registration.make(env_class, env_config={}, extras=extras)
    env.init(messages)
    result = env.step(GOOD)
    assert (result["reward"], result["done"]) == (pytest.approx(1.3), True)
    with pytest.raises(BadRecord, match="missing"):
        registration.make(env_class, env_config={}, extras={})
