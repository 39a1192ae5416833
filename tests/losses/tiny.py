"""Credited rollouts and a tiny random transformer under the real TRL trainer, on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from xskill.integrations.tree_opsd_loss import Teacher, trl_trainer


def tiny_trainer(folder: Any, teacher: Teacher, rows: list[dict[str, Any]], steps: int, lr: float) -> Any:
    import datasets
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from trl import GRPOConfig

    words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(32)} | {"[PAD]": 32, "[EOS]": 33}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", eos_token="[EOS]", unk_token="w0")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=34,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        attention_dropout=0.0,
    )
    model = LlamaForCausalLM(config)
    for row in rows:
        row["old_log_probs"] = logprobs(model, row)
    arguments = GRPOConfig(
        output_dir=str(folder),
        max_steps=steps,
        learning_rate=lr,
        lr_scheduler_type="constant",
        per_device_train_batch_size=2 * len(rows),
        num_generations=2,
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        beta=0.0,
        max_grad_norm=1e9,
        shuffle_dataset=False,
    )
    return trl_trainer(teacher)(
        model=model,
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=arguments,
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=tokenizer,
    )


def logprobs(model: Any, row: dict[str, Any]) -> list[float]:
    ids = torch.tensor([row["prompt_ids"] + row["completion_ids"]])
    with torch.no_grad():
        logits = model(input_ids=ids).logits[0, len(row["prompt_ids"]) - 1 : -1]
    logp = torch.log_softmax(logits.float(), -1)
    return logp[torch.arange(len(row["completion_ids"])), torch.tensor(row["completion_ids"])].tolist()


def rows() -> list[dict[str, Any]]:
    """Three rollouts of two or three turns, observations in between."""
    rng = np.random.default_rng(1)
    made = []
    for turns in (((3, 1.0), (2, -1.0)), ((2, 0.6), (4, 0.2), (1, -0.6)), ((3, -0.3), (3, 0.8))):
        row: dict[str, Any] = {"prompt": "w1 w2", "prompt_ids": rng.integers(0, 32, 4).tolist()}
        mask: list[int] = []
        credit: list[float] = []
        for n, c in turns:
            mask += [1] * n + [0, 0]
            credit += [c] * n + [0.0, 0.0]
        row |= {"completion_ids": rng.integers(0, 32, len(mask)).tolist(), "response_mask": mask, "advantages": credit}
        made.append(row)
    return made


def ratios(model: Any, data: list[dict[str, Any]]) -> Any:
    """Log ratio of every turn, and its credit."""
    found = []
    for row in data:
        new, old = np.array(logprobs(model, row)), np.array(row["old_log_probs"])
        mask, credit = np.array(row["response_mask"]), np.array(row["advantages"])
        starts = np.flatnonzero(np.diff(mask, prepend=0) == 1)
        stops = np.flatnonzero(np.diff(mask, append=0) == -1) + 1
        found += [((new - old)[a:b].sum(), credit[a]) for a, b in zip(starts, stops, strict=True)]
    return np.array(found).T


def run(folder: Any, teacher: Teacher, steps: int, lr: float) -> list[Any]:
    """Log ratios of the turns after each optimizer step, and the credits."""
    from transformers import TrainerCallback

    data = rows()
    trainer = tiny_trainer(folder, teacher, data, steps, lr)
    path = []

    class Watch(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            path.append(ratios(trainer.model, data)[0])

    trainer.add_callback(Watch())
    trainer.train()
    return [np.array(path), ratios(trainer.model, data)[1]]
