"""Speed and memory of the miner against Hugging Face tokenizers' BpeTrainer (Rust), on the same work.

    python -m bench.mine                      # 500,000 and 5,000,000 steps, both, three times
    python -m bench.mine --steps 50000000 --only "whole tree" --repeats 1

With p_length = p_success = 0, eta = 0, no length limit and min_frequency 2 the miner is plain BPE. Both
get the same list of strings (an episode each, one private-use character an action), in a process of
their own; the clock runs from the strings to the merges. That the merges are equal up to ties is
checked by running the miner along the peer's merges: each must be a best pair at its turn.
Needs `pip install tokenizers`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.measure import machine
from xskill.mine.board import Board
from xskill.mine.corpus import CodedCorpus, Labels
from xskill.mine.from_corpus import mine_corpus as mine
from xskill.mine.merges import Merge
from xskill.mine.outcomes import classify
from xskill.mine.prepare import merge_all, prepare
from xskill.mine.rules import MineRules

VOCABULARY = 1000
MERGES = 1000
FIRST = 0xE000
BPE = MineRules(p_length=0.0, p_success=0.0, eta=0.0, min_frequency=2, max_length=2**30, max_skills=MERGES)


def make_episodes(n_steps: int, mean_length: int, seed: int = 0) -> list[str]:
    """Episodes of Zipf-distributed actions and 500 routines of 2 to 8 actions, half and half by draws."""
    rng = np.random.default_rng(seed)

    def zipf(n: int) -> np.ndarray[Any, Any]:
        weights = np.arange(1, n + 1) ** -0.8
        return weights / weights.sum()

    routines = np.full((500, 8), -1, np.int16)
    for row in routines:
        size = rng.integers(2, 9)
        row[:size] = rng.choice(VOCABULARY, size=size, p=zipf(VOCABULARY))
    draws = n_steps // 3 + 1000
    pieces = np.full((draws, 8), -1, np.int16)
    planted = rng.random(draws) < 0.5
    pieces[planted] = routines[rng.choice(500, size=int(planted.sum()), p=zipf(500))]
    pieces[~planted, 0] = rng.choice(VOCABULARY, size=int((~planted).sum()), p=zipf(VOCABULARY))
    steps = pieces[pieces >= 0][:n_steps]
    text = (steps + np.int32(FIRST)).astype("<u4").tobytes().decode("utf-32-le")
    ends = np.cumsum(rng.poisson(mean_length, size=2 * n_steps // mean_length)).tolist()
    episodes, begin = [], 0
    for end in ends:
        episodes.append(text[begin:end])
        begin = end
        if begin >= len(text):
            break
    return episodes


def code(episodes: list[str]) -> CodedCorpus:
    """Strings → integer-coded corpus."""
    points = np.frombuffer("".join(episodes).encode("utf-32-le"), "<u4").astype(np.int32) - FIRST
    starts = np.concatenate([[0], np.cumsum(np.fromiter(map(len, episodes), np.int64, len(episodes)))])
    used = np.flatnonzero(np.bincount(points, minlength=VOCABULARY))
    number = np.zeros(VOCABULARY, np.int32)
    number[used] = np.arange(len(used))
    tokens = tuple(chr(FIRST + int(point)) for point in used)
    n = len(episodes)
    nothing = Labels(np.full(n, -1, np.int32), ())
    return CodedCorpus(
        tokens=tokens,
        actions=tuple((token,) for token in tokens),
        token_of=np.arange(len(tokens), dtype=np.int32),
        steps=number[points],
        starts=starts,
        ids=tuple(map(str, range(n))),
        outcome=np.full(n, -1, np.int8),
        question=nothing,
        task_type=nothing,
        env=nothing,
    )


def xskill_merges(episodes: list[str]) -> tuple[CodedCorpus, list[Merge]]:
    corpus = code(episodes)
    return corpus, merge_all(prepare(corpus, MERGES), classify(corpus.outcome, BPE), BPE)


def peer_merges(episodes: list[str]) -> list[tuple[str, str]]:
    from tokenizers import Tokenizer, models, trainers

    tokenizer = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY + MERGES, min_frequency=2, show_progress=False, special_tokens=[]
    )
    tokenizer.train_from_iterator(episodes, trainer)
    return [tuple(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]]


class Along(Board):
    """A scoreboard that prefers, among equally good pairs, the one that the peer chose."""

    names: list[str]
    wanted: list[tuple[str, str]]

    def break_ties(self, candidates: np.ndarray[Any, Any]) -> int:
        wanted = self.wanted.pop(0)
        for pair in candidates.tolist():
            if (self.names[self.pairs.left[pair]], self.names[self.pairs.right[pair]]) == wanted:
                self.names.append("".join(wanted))
                return pair
        raise SystemExit(f"the peer's merge {wanted} is no best pair at its turn")


def check_equal(n_steps: int, mean_length: int) -> str:
    """Run the miner along the peer's merges."""
    episodes = make_episodes(n_steps, mean_length)
    wanted = peer_merges(episodes)
    corpus = code(episodes)
    ready = prepare(corpus, MERGES)
    miner = ready.miner(classify(corpus.outcome, BPE), BPE)
    miner.board.__class__ = Along
    miner.board.names, miner.board.wanted = ["", *corpus.tokens], list(wanted)
    return f"{len(miner.run())} of {len(wanted)} merges of the peer are a best pair at their turn"


def measure(kind: str, n_steps: int, mean_length: int) -> dict[str, float]:
    """One run in this process: seconds, and the peak resident memory in MB (strings included)."""
    episodes = make_episodes(n_steps, mean_length)
    started, cpu = time.perf_counter(), time.process_time()
    if kind == "xskill":
        n = len(xskill_merges(episodes)[1])
    elif kind == "whole tree":
        n = len(mine(code(episodes), BPE).nodes)
    else:
        n = len(peer_merges(episodes))
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"merges": n, "seconds": seconds, "cpu": cpu, "peak": peak}


def run(kind: str, n_steps: int, mean_length: int, repeats: int) -> dict[str, float]:
    rows = []
    for _ in range(repeats):
        call = [
            sys.executable,
            "-m",
            "bench.mine",
            "--one",
            kind,
            "--steps",
            str(n_steps),
            "--length",
            str(mean_length),
        ]
        rows.append(json.loads(subprocess.run(call, check=True, capture_output=True).stdout))
    return min(rows, key=lambda row: row["seconds"])


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table; without ``tokenizers`` only our side of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, nargs="+", default=[500_000, 5_000_000])
    parser.add_argument("--length", type=int, default=40, help="mean steps of an episode")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=["xskill", "whole tree", "tokenizers"], action="append")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(measure(options.one, options.steps[0], options.length)))
        return
    kinds = options.only or ["xskill", "whole tree", "tokenizers"]
    if importlib.util.find_spec("tokenizers") is None:
        print("tokenizers is not installed: no comparison")
        kinds = [kind for kind in kinds if kind != "tokenizers"]
    print(f"{machine()}, numpy {np.__version__}")
    print(f"episodes of {options.length} steps, {VOCABULARY} actions, {MERGES} merges; best of {options.repeats}\n")
    print(f"{'steps':>12} {'miner':>12} {'seconds':>9} {'CPU s':>9} {'peak MB':>9} {'merges':>7}")
    table = {}
    for n_steps in options.steps:
        for kind in kinds:
            row = table[n_steps, kind] = run(kind, n_steps, options.length, options.repeats)
            print(
                f"{n_steps:12,} {kind:>12} {row['seconds']:9.2f} {row['cpu']:9.2f} "
                f"{row['peak']:9.0f} {row['merges']:7.0f}",
                flush=True,
            )
    if {"xskill", "tokenizers"} <= set(kinds):
        print()
        for n_steps in options.steps:
            ours, peer = table[n_steps, "xskill"], table[n_steps, "tokenizers"]
            print(
                f"{n_steps:,} steps: {peer['seconds'] / ours['seconds']:.1f}x faster, "
                f"{peer['peak'] / ours['peak']:.1f}x less memory"
            )
        print(check_equal(options.steps[0], options.length))
    if "xskill" in kinds and len(options.steps) > 1:
        low, high = options.steps[0], options.steps[-1]
        ratio = table[high, "xskill"]["seconds"] / table[low, "xskill"]["seconds"]
        print(f"{high / low:g}x the steps: {ratio:.1f}x the time")


if __name__ == "__main__":
    main(sys.argv[1:])
