"""Logs that were changed a little: the same episodes come out, or what is missing is told.

Of every log of the test data a record is written twice, two are swapped, one is dropped, the last is cut in the middle,
and a line of another program is put between. A record is a line, or an item of the longest list of a document.
"""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.canon.logs import LOGS, canon
from xskill.canon.accounts.totals import Totals
from xskill.errors import BadRecord, XskillError

JUNK = b"=== not a record, but a line of another program ==="
PLACES = 3
"""Mutations of each kind and log."""
LARGEST = 400_000

_RUN = "each record is a run of its own, without an id: the same may well have been sampled twice"
_MESSAGE = "messages have no id: the same may well have been said, or seen, twice"
_IN_SPAN = "the longest list is that of the messages or attributes of a span, which have no id"

CANNOT_TELL = {
    **dict.fromkeys(
        [
            f"{name} twice"
            for name in (
                "agentbench", "agentgym", "prompt-completion", "promptfoo", "rstar", "tau-bench", "tau-few-shot",
                "tree-of-thoughts", "verl-dump",
            )
        ],
        _RUN,
    ),
    **dict.fromkeys(
        [
            f"{name} twice"
            for name in (
                "atif-viewer", "codex", "mini-swe-agent", "openhands-v0", "sharegpt", "tau2-bench", "webvoyager",
            )
        ],
        _MESSAGE,
    ),
    **dict.fromkeys(
        [
            f"{name} twice"
            for name in ("langfuse", "mlflow", "openai-agents", "otel-console", "otlp", "phoenix")
        ],
        _IN_SPAN,
    ),
    "mlflow dropped": "a trace without its root falls apart into its branches",
    "kimi twice": "the pieces of streamed arguments have no number",
    "kimi swapped": "the pieces of streamed arguments have no number",
    "kimi dropped": "the pieces of streamed arguments have no number",
}  # fmt: skip
"""Format and kind of mutation → why it cannot be told."""

COUNTS: Counter[str] = Counter()


@dataclass
class Read:
    """What came of a log."""

    format: str = ""
    episodes: list[dict[str, Any]] = field(default_factory=list)
    told: int = 0
    bad: int = 0

    def steps(self) -> Counter[str]:
        return Counter(
            json.dumps([step["action"], step.get("observation")])
            for one in self.episodes
            for step in one["steps"] or ()
        )

    def texts(self) -> Counter[str]:
        return Counter(
            text
            for one in self.episodes
            for step in one["steps"] or ()
            for text in (step["action"], step.get("observation"))
            if text is not None
        )


def read(path: Path) -> Read:
    bad: list[BadRecord] = []
    totals = Totals()
    try:
        episodes = canon(path, bad=bad, totals=totals)
    except XskillError as error:
        return Read(bad=1, format=str(error))
    told = sum(tally.skipped.total() for tally in totals.tallies.values())
    formats = [one["source"]["format"] for one in episodes if one.get("source")]
    return Read(formats[0] if formats else "", episodes, told, len(bad))


def mutations(records: list[Any], chance: random.Random) -> Iterator[tuple[str, list[Any]]]:
    last = len(records) - 1
    for _ in range(PLACES):
        one, other = chance.randint(0, last), chance.randint(0, last)
        yield "twice", [*records[: one + 1], records[one], *records[one + 1 :]]
        if last:
            swapped = list(records)
            swapped[one], swapped[other] = swapped[other], swapped[one]
            yield "swapped", swapped
            yield "dropped", records[:one] + records[one + 1 :]


def longest_list(value: Any) -> list[Any] | None:
    lists: list[list[Any]] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            if len(one) > 1 and all(isinstance(item, dict) for item in one):
                lists.append(one)
            waiting += one
        elif isinstance(one, dict):
            waiting += one.values()
    return max(lists, key=len, default=None)


def changed(raw: bytes, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Kind of mutation, and the log."""
    lines = raw.splitlines()
    try:
        document = json.loads(raw)
    except ValueError:
        if not all(line.startswith(b"{") for line in lines if line):
            return
        for kind, records in mutations(lines, chance):
            yield kind, b"\n".join(records) + b"\n"
        yield "cut", b"\n".join([*lines[:-1], lines[-1][: len(lines[-1]) // 2]])
        for _ in range(PLACES):
            at = chance.randint(0, len(lines))
            yield "junk", b"\n".join([*lines[:at], JUNK, *lines[at:]]) + b"\n"
        return
    records = longest_list(document)
    if records is not None:
        before = list(records)
        for kind, after in mutations(before, chance):
            records[:] = after
            yield kind, json.dumps(document).encode()
            records[:] = before
    yield "cut", raw[: len(raw) // 2]


def fault(kind: str, before: Read, after: Read) -> str | None:
    """What is wrong with what came of a mutation."""
    told = after.bad > before.bad or after.told > before.told
    if kind == "junk":
        same = after.steps() == before.steps()
        return None if told and (same or not after.episodes) else "other episodes, or a junk line that was not told"
    if kind == "cut":
        return None if told or after.steps() == before.steps() else "a cut that was not told"
    if kind == "dropped":
        more = after.texts() - before.texts()
        return f"invented: {list(more)[:1]}" if more and not told else None
    if told or after.steps() == before.steps():
        return None
    whole = json.dumps(after.episodes, ensure_ascii=False)
    lost = [text for text in before.texts() - after.texts() if json.dumps(text, ensure_ascii=False)[1:-1] not in whole]
    return f"lost: {list(lost)[:1]}" if lost else "counted twice" if kind == "twice" else None


FILES = sorted(
    path for path in LOGS.rglob("*") if path.is_file() and path.suffix != ".md" and path.stat().st_size < LARGEST
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(LOGS)))
def test_the_same_episodes_or_the_loss_told(path: Path, tmp_path: Path) -> None:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    copy = tmp_path / path.name.removesuffix(".gz")
    copy.write_bytes(raw)
    before = read(copy)
    if not before.episodes or len(raw) > 10 * LARGEST:
        return  # a part of a folder, a profile or a picture
    faults = []
    for kind, mutated in changed(raw, random.Random(path.name)):
        copy.write_bytes(mutated)
        after = read(copy)
        COUNTS[kind] += 1
        what = fault(kind, before, after)
        if what is not None and f"{before.format} {kind}" not in CANNOT_TELL:
            faults.append(f"{before.format} {kind}: {what}")
    assert not faults, faults[:4]


def test_count_of_mutations(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{COUNTS.total()} mutations: {', '.join(f'{n} {kind}' for kind, n in sorted(COUNTS.items()))}")
