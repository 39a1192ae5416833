"""The TRL adapter, in a real GRPO step of a tiny random model."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.integrations.tiny import GOOD, rows, tokenizer
from xskill.integrations.trl import tree_reward


def test_signature_and_rewards(tmp_path: Path) -> None:
    data = pl.read_parquet(rows(tmp_path, "trl"))
    completions = [[{"role": "assistant", "content": GOOD}], "look around"]
    columns = {name: data[name].to_list() for name in data.columns if name != "prompt"}
    prompts = data["prompt"].to_list()
    assert tree_reward(prompts=prompts, completions=completions, trainer_state=None, **columns) == [
        pytest.approx(1.3),
        0.0,
    ]
    with pytest.raises(ValueError):
        tree_reward(prompts=prompts, completions=completions, ground_truth=columns["ground_truth"][:1])


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_a_grpo_step(tmp_path: Path, ending: str) -> None:
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    transformers = pytest.importorskip("transformers")
    path = rows(tmp_path, "trl", ending)
    kind = "parquet" if ending == "parquet" else "json"
    data = datasets.load_dataset(kind, data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
    words = tokenizer()
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=len(words), n_positions=128, n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=1
        )
    )
    seen: list[float] = []

    def spied(**kwargs: object) -> list[float]:
        rewards = tree_reward(**kwargs)  # type: ignore[arg-type]
        seen.extend(rewards)
        return rewards

    config = trl.GRPOConfig(
        output_dir=str(tmp_path / "out"),
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=6,
        max_steps=1,
        report_to=[],
        use_cpu=True,
        bf16=False,
    )
    trainer = trl.GRPOTrainer(model=model, reward_funcs=spied, args=config, train_dataset=data, processing_class=words)
    trainer.train()
    assert len(seen) >= 4
    assert all(0 <= reward <= 1.3 for reward in seen)
