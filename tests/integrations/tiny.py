"""What the trainers need to run here: a few instances, a tokenizer and a model made on the spot (no download)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tree.test_instances import RAW, TOKENS
from tests.tree.test_tree_commands import within
from tests.tree.trees import grow
from xskill.records import Step, Trajectory, encode
from xskill.tree.xtree import write_tree

GOOD = "\n".join(RAW[:3])
"""Completion that matches the node of length 3 and depth 2 (reward 1.3), and with it the one of length 2 (1.15)."""

TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} \n{% endfor %}"
    "{% if add_generation_prompt %}assistant :{% endif %}"
)


def rows(folder: Path, trainer: str, ending: str = "parquet") -> Path:
    """A file with two rows, written by the command."""
    tree = grow(("S0", "open<door>", "navigate<kitchen>"), ("S1", "S0", "take<instrument>"))
    write_tree(tree, folder / "tree.jsonl")
    steps = [Step(action=raw, observation=f"saw {i}") for i, raw in enumerate(RAW)]
    record = Trajectory(
        id="e", actions=TOKENS, steps=steps, success=True, task="Measure it.", env="scienceworld", task_type="use"
    )
    path = folder / f"{trainer}.{ending}"
    args = ("tree", "instances", "--tree", folder / "tree.jsonl", "--as", trainer, "-o", path)
    done = within(*args, stdin=encode(record) + b"\n")
    assert done.returncode == 0, done.stderr
    return path


def tokenizer() -> Any:
    """A word-level tokenizer over the words of the rows, with a chat template."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    words = ["<pad>", "<eos>", "<unk>", "user", "assistant", "system", ":", "\n", *" ".join(RAW).split(), "saw"]
    model = tokenizers.models.WordLevel({word: i for i, word in enumerate(dict.fromkeys(words))}, unk_token="<unk>")
    backend = tokenizers.Tokenizer(model)
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", padding_side="left"
    )
    made.chat_template = TEMPLATE
    return made
