"""How the mode and the format of an input are told."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.canon.logs import canon, log, write_lines
from tests.command import ENVIRONMENT, within
from xskill.canon.formats.table import FORMATS
from xskill.errors import BadRecord

STEP = {"steps": [{"action": "look", "observation": "a room"}]}


def test_names_are_distinct_and_described() -> None:
    assert len({fmt.name for fmt in FORMATS}) == len(list(FORMATS))
    assert all(fmt.description for fmt in FORMATS)
    listed = within("canon", "--list-formats").stdout.decode().splitlines()
    assert [line.split()[0] for line in listed] == [fmt.name for fmt in FORMATS]


def test_one_document_several_documents_and_lines_are_the_same(tmp_path: Path) -> None:
    records = [{"id": str(n), **STEP} for n in range(3)]
    forms = {
        "lines": "\n".join(map(json.dumps, records)),
        "pretty list": json.dumps(records, indent=2),
        "list": json.dumps(records),
        "pretty run": "\n".join(json.dumps(record, indent=1) for record in records),
        "nothing between": "".join(map(json.dumps, records)),
        "crlf": "\r\n".join(map(json.dumps, records)),
        "blank lines": "\n\n  \n" + "\n\n".join(map(json.dumps, records)),
    }
    for name, text in forms.items():
        path = tmp_path / "log"
        path.write_text(text)
        assert [record["id"] for record in canon(path)] == ["0", "1", "2"], name
        path.write_bytes(b"\xef\xbb\xbf" + text.encode())
        assert len(canon(path)) == 3, name
        path.write_bytes(text.encode("utf-16"))
        assert len(canon(path)) == 3, name
        path.write_bytes(gzip.compress(text.encode()))
        assert len(canon(path)) == 3, name


def test_a_single_object_of_one_line_is_a_document_too(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(STEP))
    assert len(canon(path)) == 1


def test_a_header_line_does_not_decide(tmp_path: Path) -> None:
    """The first line is of no format: most of the first 64 decide, and the odd one is told."""
    bad: list[BadRecord] = []
    path = write_lines(tmp_path / "x.jsonl", {"exported": "2031-01-01"}, *[STEP] * 3)
    assert [record["source"]["record"] for record in canon(path, bad=bad)] == [2, 3, 4]
    assert [error.line for error in bad] == [1]


def test_the_source_says_where_a_record_was(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "run.jsonl", STEP, STEP)
    first, second = canon(path)
    assert second["source"] == {"format": "steps", "file": "run.jsonl", "record": 2}
    assert (first["id"], second["id"]) == ("run-1", "run-2")
    piped = json.loads(within("canon", stdin=json.dumps(STEP)).stdout)
    assert (piped["source"], piped["id"]) == ({"format": "steps", "record": 1}, "stdin-1")


def test_from_reads_what_detection_would_not(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "x.jsonl", {"messages": [{"role": "user", "content": "hi"}], "steps": [{"action": "a"}]}
    )
    assert canon(path)[0]["source"]["format"] == "steps"
    assert canon(path, format="openai-chat")[0]["actions"] == []


@pytest.mark.parametrize(
    "text", ["hello\nworld\n", "a,b\n1,2\n", "<html></html>", "{}", "[1, 2]", '{"a": 1}\n{"b": 2}\n']
)
def test_what_no_format_claims(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    done = within("canon", path, check=65)
    assert b"no format that xskill knows" in done.stderr
    assert b"--map" in done.stderr


def test_a_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(bytes(range(256)) * 4)
    assert b"a binary file" in within("canon", path, check=65).stderr


def test_several_inputs_are_detected_one_by_one(tmp_path: Path) -> None:
    steps = write_lines(tmp_path / "s.jsonl", STEP)
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    done = within("canon", steps, empty, log("e_tau/taubench_gpt-4o-airline_first8.json"))
    formats = [json.loads(line)["source"]["format"] for line in done.stdout.splitlines()]
    assert formats == ["steps"] + ["tau-bench"] * 8
    assert f"{empty}: no record in it" in done.stderr.decode()
    assert within("canon", empty, check=66).stdout == b""


def test_a_pipe_flows(tmp_path: Path) -> None:
    """Trajectories come out while the writer still writes."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = subprocess.Popen(
        [sys.executable, "-m", "xskill", "canon", "-q", fifo], stdout=subprocess.PIPE, env=ENVIRONMENT
    )
    assert reader.stdout is not None
    line = json.dumps(STEP).encode() + b"\n"
    os.set_blocking(reader.stdout.fileno(), False)
    deadline = time.monotonic() + 30
    got = b""
    with fifo.open("wb", buffering=0) as writer:
        while not got and time.monotonic() < deadline:
            writer.write(line)
            time.sleep(0.4)
            got = reader.stdout.read() or b""
    with reader:
        assert json.loads(got.splitlines()[0])["actions"]


def test_the_profile_is_chosen_for_each_source_and_environment(tmp_path: Path) -> None:
    """Two environments in one file, and another file: each has its own rules, from its first record on."""
    both = write_lines(
        tmp_path / "two.jsonl",
        {"env": "alfworld", "steps": [{"action": "go to fridge 1"}]},
        {"env": "webshop", "steps": [{"action": "click[buy now]"}]},
        {"env": "alfworld", "steps": [{"action": "go to fridge 1"}]},
    )
    made = canon(both)
    assert [record["actions"] for record in made] == [["navigate<fridge>"], ["click<buy>"], ["navigate<fridge>"]]


def test_a_webshop_option_that_the_goal_asks_for(tmp_path: Path) -> None:
    goal = "find me shoes with color: dark grey, and size: 8.5, and price lower than 30.00 dollars"
    (record,) = canon(
        write_lines(
            tmp_path / "w.jsonl",
            {"env": "webshop", "task": goal, "steps": [{"action": "click[dark grey]"}, {"action": "click[red]"}]},
        )
    )
    assert record["actions"] == ["click<option-color>", "click<option>"]


def test_splits_have_one_name(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "s.jsonl", *({**STEP, "split": word} for word in ("valid_unseen", "dev", "test", "odd"))
    )
    made: list[dict[str, Any]] = canon(path)
    assert [record.get("split") for record in made] == ["validation", "validation", "test", None]
    assert [record.get("extra", {}).get("split") for record in made] == ["valid_unseen", "dev", None, "odd"]


def test_rollouts_keep_their_parents(sample_data: Path) -> None:
    made = canon(sample_data / "rollouts.jsonl.gz")
    branches = [record for record in made if "parent" in record]
    assert branches
    by_id = {record["id"]: record for record in made}
    for record in branches:
        turn = record["parent"]["turn"]
        parent = by_id[record["parent"]["id"]]
        assert record["actions"][:turn] == parent["actions"][:turn]
        assert record["question_id"] == parent["question_id"]
