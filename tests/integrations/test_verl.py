"""The verl adapter, by verl's own loader of rewards and its own dataset."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.integrations.tiny import GOOD, rows, tokenizer
from xskill.integrations.verl import compute_score


def test_signature_and_reward(tmp_path: Path) -> None:
    row = pl.read_parquet(rows(tmp_path, "verl")).to_dicts()[0]
    assert row["reward_model"]["style"] == "rule"
    gold = row["reward_model"]["ground_truth"]
    assert compute_score(row["data_source"], GOOD, gold, row["extra_info"], any_other=1) == pytest.approx(1.3)
    assert compute_score(row["data_source"], "look around", gold) == 0


def test_verl_loads_the_rows_and_the_reward(tmp_path: Path) -> None:
    pytest.importorskip("verl")
    omegaconf = pytest.importorskip("omegaconf")
    from verl.utils.dataset.rl_dataset import RLHFDataset
    from verl.utils.import_utils import load_extern_object

    config = omegaconf.OmegaConf.create({"cache_dir": str(tmp_path / "cache"), "filter_overlong_prompts_workers": 1})
    dataset = RLHFDataset([str(rows(tmp_path, "verl"))], tokenizer(), config)
    assert len(dataset) == 2
    item = dataset[0]
    assert [message["role"] for message in item["raw_prompt"]] == ["system", "user"]
    assert item["index"] == 0
    reward = load_extern_object("pkg://xskill.integrations.verl", "compute_score")
    found = reward(
        data_source=item["data_source"],
        solution_str=GOOD,
        ground_truth=item["reward_model"]["ground_truth"],
        extra_info=item["extra_info"],
    )
    assert found == pytest.approx(1.3)
