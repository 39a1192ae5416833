"""canon against a bare orjson round trip of the same lines: CPU time, share of redaction, workers, peak memory.

Workers are timed by the clock, on one file, on the same bytes from a pipe, and on many small files.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.measure import XSKILL, machine, run

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "tests" / "data" / "canon"
SIZE = 200_000_000
FILES = 500
ROUNDS = 3
CANON = [*XSKILL, "canon", "-q"]
ROUND_TRIP = """
import sys, orjson
with open("/dev/null", "wb") as out:
    for line in open(sys.argv[1], "rb"):
        out.write(orjson.dumps(orjson.loads(line)) + b"\\n")
"""


def main() -> None:
    """Print a table for each kind of log."""
    print(f"machine: {machine()}; files of {SIZE / 1e6:.0f} MB, best of {ROUNDS} rounds, CPU seconds")
    corpora = {
        "step lists": _lines("sample_data/scienceworld.jsonl.gz", "sample_data/rollouts.jsonl.gz"),
        "chats with tool calls": _lines("tests/data/canon/traces/openai_finetune_chat.jsonl.gz"),
        "tau-bench results": json.loads(_read(LOGS / "e_tau" / "taubench_gpt-4o-airline_first8.json.gz")),
    }
    for name, records in corpora.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.jsonl"
            write_log(path, records, SIZE)
            _measure(name, path)
            write_log(path, records, SIZE // 20)
            small = run([*CANON, str(path)]).peak_mb
            print(f"    peak memory with {SIZE // 20 / 1e6:.0f} MB: {small:.0f} MB")


def _measure(name: str, path: Path) -> None:
    round_trip = plain = full = memory = float("inf")
    clock: dict[str, float] = {}
    small = _parted(path)
    for _ in range(ROUNDS):
        round_trip = min(round_trip, run([sys.executable, "-c", ROUND_TRIP, str(path)]).cpu)
        plain = min(plain, run([*CANON, "--redact", "none", str(path)]).cpu)
        for way, arguments, stdin in (
            ("one file", [str(path)], None),
            ("a pipe", [], path),
            (f"{len(small)} files", small, None),
        ):
            one, two = run([*CANON, *arguments], stdin), run([*CANON, "-j", "2", *arguments], stdin)
            if stdin is None and len(arguments) == 1:
                full, memory = min(full, one.cpu), min(memory, max(one.peak_mb, two.peak_mb))
            for jobs, usage in (("1", one), ("2", two)):
                clock[way + jobs] = min(clock.get(way + jobs, usage.seconds), usage.seconds)
    print(f"{name}: round trip {round_trip:.2f} s")
    print(f"    canon {full:.2f} s = {full / round_trip:.1f}x; without redaction {plain / round_trip:.1f}x")
    for way in [key[:-1] for key in clock if key.endswith("1")]:
        one_s, two_s = clock[way + "1"], clock[way + "2"]
        print(f"    {way}: {one_s:.1f} s by the clock, with -j 2 {two_s:.1f} s = {one_s / two_s:.2f}x faster")
    print(f"    peak memory {memory:.0f} MB")


def _parted(path: Path) -> list[str]:
    """The log as small files."""
    names: list[str] = []
    with path.open("rb") as log:
        while lines := log.readlines(SIZE // FILES):
            part = path.with_name(f"part-{len(names)}.jsonl")
            part.write_bytes(b"".join(lines))
            names.append(str(part))
    return names


def write_log(path: Path, records: list[Any], size: int) -> None:
    """Repeat the records, each with an id and a question of its own, until the file has ``size`` bytes."""
    with path.open("wb") as out:
        number = 0
        while out.tell() < size:
            record = records[number % len(records)]
            again = number // len(records)
            for key in ("id", "question_id", "task_id"):
                if key in record:
                    record = {**record, key: f"{record[key]}-{again}"}
            out.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            number += 1


def _lines(*names: str) -> list[Any]:
    return [json.loads(line) for name in names for line in _read(ROOT / name).splitlines()]


def _read(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())
