"""Hostile inputs: no traceback, no hang, no memory blow-up, no good record lost, no control byte on a terminal."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.canon.logs import canon, write_lines
from tests.command import ENVIRONMENT, within
from xskill.canon.reading.json_text import parse
from xskill.errors import BadRecord

NULLED = {"n_number_NaN.json", "n_number_infinity.json", "n_number_minus_infinity.json"}
"""Python writers emit these; in a foreign log they are read as null and counted."""

HOSTILE = {
    "00_control.jsonl": (6, 0),
    "01_deep_nesting_100k.jsonl": (2, 1),
    "01b_deep_objects_100k_open.json": (0, 1),
    "01c_string_in_string_12.jsonl": (1, 0),
    "04_truncated.jsonl.gz": (0, 1),
    "04b_bad_crc.jsonl.gz": (0, 1),
    "04c_two_members.jsonl.gz": (6, 0),
    "04d_trailing_garbage.jsonl.gz": (6, 0),
    "04e_not_gzip.jsonl.gz": (6, 0),
    "04f_gzip_named_jsonl.jsonl": (6, 0),
    "05_truncated.jsonl.zst": (0, 1),
    "05b_no_content_size.jsonl.zst": (6, 0),
    "05c_two_frames_skippable.jsonl.zst": (6, 0),
    "06_utf16le_bom.jsonl": (6, 0),
    "06b_utf16be_bom.jsonl": (6, 0),
    "06c_utf8_bom.jsonl": (6, 0),
    "06d_bom_each_line.jsonl": (6, 0),
    "06e_latin1.jsonl": (1, 1),
    "07_lone_surrogates.jsonl": (2, 0),
    "07b_invalid_utf8.jsonl": (1, 1),
    "08_nul_bytes.jsonl": (2, 1),
    "09_duplicate_keys.jsonl": (2, 0),
    "10_nan_infinity.jsonl": (5, 0),
    "11_big_integers.jsonl": (3, 1),
    "12_crlf.jsonl": (6, 0),
    "12b_cr_only.jsonl": (6, 0),
    "12c_unicode_line_separators.jsonl": (2, 0),
    "12d_no_final_newline_partial.jsonl": (6, 1),
    "12e_pretty_and_array.json": (6, 0),
    "12f_concatenated_objects.json": (6, 0),
    "12g_blank_and_comment_lines.jsonl": (6, 2),
    "12h_scalars.jsonl": (1, 6),
    "13_empty.jsonl": (0, 0),
    "13b_only_newlines.jsonl": (0, 0),
    "15_wrong_types.jsonl": (3, 8),
    "16_terminal_escapes.jsonl": (16, 0),
    "17_html_markdown_csv.jsonl": (21, 0),
    "17b_prompt_injection.jsonl": (3, 0),
    "19_zip_slip.eval": (1, 0),
    "NOTES.md": (0, 1),
}
"""File → (good records, bad ones), as its NOTES.md says."""


@pytest.fixture(scope="module")
def robustness(shared: Path) -> Path:
    return shared / "tracing" / "robustness"


@pytest.fixture(scope="module")
def hostile(robustness: Path) -> Path:
    return robustness / "hostile"


def test_json_suite(robustness: Path) -> None:
    """JSONTestSuite: what must be read is, what must be refused is, the rest does not crash; each in bounded time."""
    for path in sorted((robustness / "json" / "test_parsing").iterdir()):
        begun = time.monotonic()
        try:
            parse(path.read_bytes())
            read = True
        except BadRecord:
            read = False
        if path.name.startswith("y_"):
            assert read, path.name
        if path.name.startswith("n_") and path.name not in NULLED:
            assert not read, path.name
        canon(path, bad=[])
        assert time.monotonic() - begun < 10, path.name


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input(hostile: Path, name: str) -> None:
    bad: list[BadRecord] = []
    made = canon(hostile / name, bad=bad)
    assert (len(made), len(bad)) == HOSTILE[name]
    for record in made:
        json.dumps(record, allow_nan=False).encode()
    for error in bad:
        assert error.line or error.byte is not None or error.file


def test_every_hostile_file_is_listed(hostile: Path) -> None:
    listed = set(HOSTILE)
    for path in hostile.iterdir():
        assert path.name in listed or path.name.startswith(("16b_", "14_", "18_")), path.name


def test_where_it_is_wrong(hostile: Path) -> None:
    """The line, the place in the record, what was found."""

    def told(name: str) -> list[str]:
        bad: list[BadRecord] = []
        canon(hostile / name, bad=bad)
        return [f"{error.line}: {error.what}" for error in bad]

    assert told("01_deep_nesting_100k.jsonl") == ["2: not valid JSON: nested too deeply"]
    assert told("06e_latin1.jsonl")[0].startswith("1: not UTF-8 at byte 25")
    assert told("12d_no_final_newline_partial.jsonl") == [
        "7: not valid JSON: it ends in the middle of a value (truncated?)"
    ]
    assert told("15_wrong_types.jsonl") == [
        '1: messages: expected a list, got "hello"',
        '2: messages: expected a list, got {"0":{"role":"user"}}',
        "3: messages[0]: expected a message, got null",
        '4: success: expected true or false, got "False"',
        '5: success: expected true or false, got "yes"',
        "7: success: expected true or false, got [true]",
        '8: reward: expected a number, got "0.5/1"',
        '10: id: expected a string, got {"a":1}',
    ]


def test_values_that_survive(hostile: Path) -> None:
    first, second = canon(hostile / "09_duplicate_keys.jsonl")
    assert (first["success"], second["id"]) == (True, "d2")  # the last of duplicate keys counts, in every parser
    assert all("reward" not in record for record in canon(hostile / "10_nan_infinity.jsonl"))
    identities = [record["id"] for record in canon(hostile / "11_big_integers.jsonl", bad=[])]
    assert identities == ["9007199254740993", "9007199254740992", "y"]
    surrogates = canon(hostile / "07_lone_surrogates.jsonl")[0]
    assert "\ufffd" in surrogates["task"]
    for record in canon(hostile / "17b_prompt_injection.jsonl"):
        assert "success" not in record or record["success"] in (True, False)


def test_control_characters_stay_out_of_messages(hostile: Path, tmp_path: Path) -> None:
    unmatched, report = tmp_path / "unmatched", tmp_path / "report"
    broken = tmp_path / "broken\x1b[31m\u202e.jsonl"
    broken.write_bytes(b'{"messages":[{"role":"user"},"\\u001b[2J"]}\n')
    for path in [*hostile.glob("16*"), broken]:
        done = within("canon", path, "-o", tmp_path / "out", "--unmatched", unmatched, "--report", report, check=None)
        shown = done.stderr.decode() + "".join(p.read_text() for p in (unmatched, report) if p.exists())
        for char in shown:
            assert char in "\n\t" or (ord(char) >= 0x20 and not 0x7F <= ord(char) <= 0x9F), repr(char)
            assert char not in "\u202a\u202b\u202c\u202d\u202e\u200b\ufeff", repr(char)


def test_secrets_do_not_reach_the_output(robustness: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, robustness / "make_hostile.py", tmp_path / "made"], check=True, capture_output=True)
    source = tmp_path / "made" / "18_fake_secrets.jsonl"
    done = within("canon", source)
    shown = done.stdout.decode()
    for record in map(json.loads, shown.splitlines()):
        kind = record["id"].removeprefix("sec_")
        if kind in ("split", "b64ed", "card", "email"):
            continue  # near-misses, and what only --redact pii takes
        assert "<redacted:" in record["steps"][0]["observation"], kind
        assert "<redacted:" in record["steps"][0]["action"], kind
    assert "hunter2" not in shown
    assert "redacted:" in done.stderr.decode()
    kept = within("canon", source, "--redact", "none").stdout.decode()
    assert "<redacted:" not in kept


def test_parquet_corpus(robustness: Path) -> None:
    """Damaged, odd and foreign tables: each is refused in one line, or holds nothing."""
    for path in sorted((robustness / "parquet").rglob("*.parquet")):
        if path.name != "large_string_map.brotli.parquet":
            bad: list[BadRecord] = []
            assert canon(path, bad=bad) == []
            assert len(bad) <= 1


@pytest.mark.slow
def test_a_small_file_that_inflates_past_two_gigabytes(robustness: Path) -> None:
    bad: list[BadRecord] = []
    assert canon(robustness / "parquet" / "data" / "large_string_map.brotli.parquet", bad=bad) == []
    assert "memory limit" in str(bad[0])


def limited(megabytes: int) -> Callable[[], None]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    return limit


BIG = {
    "02_single_line_64mb.jsonl": (3, 0, 60),
    "02b_no_newline_64mb.bin.jsonl": (0, 65, 30),
    "03_gzip_bomb_50mb_string.jsonl.gz": (0, 65, 60),  # one result, for which there is no call
    "03b_gzip_in_gzip_1gb.json.gz.gz": (0, 65, 120),
    "20_many_tiny_1m.jsonl": (1_000_000, 0, 300),
    "20b_one_episode_200k_steps.jsonl": (1, 0, 120),
}
"""File → (records, exit code, seconds)."""


@pytest.mark.slow
def test_big_inputs_under_a_memory_limit(robustness: Path, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, robustness / "make_hostile.py", tmp_path / "big", "--big"], check=True, capture_output=True
    )
    for name, (records, code, seconds) in BIG.items():
        out = tmp_path / "out.jsonl"
        begun = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "xskill", "canon", str(tmp_path / "big" / name), "-o", str(out)],
            capture_output=True,
            env=ENVIRONMENT,
            preexec_fn=limited(1536),
            timeout=seconds,
        )
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        assert done.returncode == code, (name, done.stderr.decode())
        if records:
            with out.open("rb") as lines:
                assert sum(1 for _ in lines) == records
            out.unlink()
        assert time.monotonic() - begun < seconds


def test_a_folder_with_a_file_s_name(tmp_path: Path) -> None:
    folder = tmp_path / "log.jsonl"
    folder.mkdir()
    done = within("canon", folder, check=66)
    assert b"no format claims" in done.stderr


def test_one_bad_record_stops_the_run_and_says_where(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "run.jsonl", {"steps": [{"action": "look"}]}, {"steps": [{"action": 12}]})
    done = within("canon", path, check=65)
    assert "run.jsonl:2: steps[0].action: expected a string, got 12" in done.stderr.decode()
    assert len(done.stdout.splitlines()) == 1
    done = within("canon", path, "--rejects", tmp_path / "rejects")
    (reject,) = map(json.loads, (tmp_path / "rejects").read_text().splitlines())
    assert (reject["line"], reject["reason"]) == (2, "steps[0].action: expected a string, got 12")
    assert json.loads(reject["raw"]) == {"steps": [{"action": 12}]}
