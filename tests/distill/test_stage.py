"""The stage as a function: the same bank, edits and evidence as the command's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import within
from tests.distill.corpora import cleaning
from xskill.bank.skillbank import read_bank, write_bank
from xskill.distill.stage import distill, distillation
from xskill.errors import UsageError
from xskill.mine.mining import mine
from xskill.records import Edit, decode, encode
from xskill.tree.xtree import write_tree


def test_the_function_distills_what_the_command_distills(tmp_path: Path) -> None:
    records = cleaning(12)
    path, tree, out = tmp_path / "e.jsonl", tmp_path / "t.jsonl", tmp_path / "b.jsonl"
    path.write_bytes(b"".join(encode(record) + b"\n" for record in records))
    mined = mine(records)
    write_tree(mined, tree)
    within("distill", path, "--tree", tree, "--max-general", 1, "-o", out)
    bank = distill(records, mined, max_general=1)
    assert bank == read_bank(str(out))
    assert bank.skills
    small = distill(records, max_total=1)
    write_bank(str(out), small)
    edits = within("distill", path, "--bank", out, "--as", "edits").stdout.splitlines()
    result = distillation(records, bank=small)
    assert result.edits == [decode(line, Edit) for line in edits]
    assert result.edits
    within("distill", path, "--bank", out, "-o", tmp_path / "c.jsonl")
    assert result.bank() == read_bank(str(tmp_path / "c.jsonl"))
    within("distill", "--bank", out, "--failures-from", path, "--min-rate", 1, "-o", tmp_path / "d.jsonl")
    assert distill([], bank=small, failures=records, min_rate=1) == read_bank(str(tmp_path / "d.jsonl"))


def test_refusals() -> None:
    with pytest.raises(UsageError, match="--bank"):
        distill([], failures=[])
    with pytest.raises(UsageError, match="--min-rate"):
        distill([], min_rate=2.0)
