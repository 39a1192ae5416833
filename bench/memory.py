"""Peak memory of canon does not grow with its input: 10 MB against 500 MB of episodes."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

from bench.measure import XSKILL, machine, run

SIZES_MB = (10, 500)
SAMPLE = Path(__file__).parent.parent / "sample_data" / "scienceworld.jsonl.gz"


def lines() -> Iterator[bytes]:
    """The sample's episodes over and over, each with an id of its own."""
    with gzip.open(SAMPLE) as file:
        episodes = [orjson.loads(line) for line in file]
    n = 0
    while True:
        for episode in episodes:
            yield orjson.dumps({**episode, "id": f"{episode['id']}-{n}"}, option=orjson.OPT_APPEND_NEWLINE)
        n += 1


def write(path: Path, size: int) -> None:
    """Write about ``size`` bytes of episodes."""
    with path.open("wb") as file:
        for line in lines():
            file.write(line)
            if file.tell() >= size:
                return


def main() -> None:
    """Print the table."""
    print(f"machine: {machine()}")
    print(f"{'input':>8}  {'seconds':>8}  {'MB/s':>6}  {'peak MB':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES_MB:
            path = Path(folder) / "episodes.jsonl"
            write(path, size * 1_000_000)
            usage = run([*XSKILL, "canon", "--quiet", str(path)])
            print(f"{size:>5} MB  {usage.seconds:8.1f}  {size / usage.seconds:6.1f}  {usage.peak_mb:8.1f}", flush=True)


if __name__ == "__main__":
    main()
