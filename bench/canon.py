"""canon against a bare orjson round trip of the same file; workers, redaction, peak memory."""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

from bench.measure import XSKILL, Usage, machine, run

SIZE_MB = 200
SAMPLES = Path(__file__).parent.parent / "sample_data"
LOGS = ("alfworld.jsonl.gz", "rollouts.jsonl.gz", "scienceworld.jsonl.gz")
ROUND_TRIP = (
    "import sys, orjson\n"
    "with open(sys.argv[1], 'rb') as source, open('/dev/null', 'wb') as out:\n"
    "    for line in source:\n"
    "        out.write(orjson.dumps(orjson.loads(line)))\n"
    "        out.write(b'\\n')\n"
)


def lines() -> Iterator[bytes]:
    """The shipped episodes and rollouts over and over, with ids and parents of their own each time."""
    episodes = []
    for name in LOGS:
        with gzip.open(SAMPLES / name) as file:
            episodes += [orjson.loads(line) for line in file]
    n = 0
    while True:
        for episode in episodes:
            changed = {**episode, "id": f"{episode['id']}-{n}"}
            if episode.get("parent"):
                changed["parent"] = {**episode["parent"], "id": f"{episode['parent']['id']}-{n}"}
            yield orjson.dumps(changed, option=orjson.OPT_APPEND_NEWLINE)
        n += 1


def write(path: Path, size: int) -> None:
    """Write about ``size`` bytes."""
    with path.open("wb") as file:
        for line in lines():
            file.write(line)
            if file.tell() >= size:
                return


def row(name: str, usage: Usage, base: Usage) -> None:
    """Print one line of the table."""
    ratio = f"{usage.seconds / base.seconds:5.2f}  {usage.cpu / base.cpu:8.2f}"
    print(f"{name:<28}  {usage.seconds:7.1f}  {usage.cpu:6.1f}  {ratio}  {usage.peak_mb:7.0f}", flush=True)


def main() -> None:
    """Print the table."""
    print(f"machine: {machine()}")
    print(f"{'command':<28}  {'seconds':>7}  {'CPU s':>6}  {'ratio':>5}  {'CPU ratio':>8}  {'peak MB':>7}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "logs.jsonl"
        write(path, SIZE_MB * 1_000_000)
        base = run([sys.executable, "-c", ROUND_TRIP, str(path)])
        row("orjson round trip", base, base)
        canon = [*XSKILL, "canon", "-q", str(path)]
        row("canon", run(canon), base)
        row("canon --redact none", run([*canon, "--redact", "none"]), base)
        row("canon -j 2", run([*canon, "-j", "2"]), base)


if __name__ == "__main__":
    main()
