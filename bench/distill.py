"""distill on 100,000 episodes of 20 steps, against mine on the same file."""

from __future__ import annotations

import random
import re
import subprocess
import tempfile
from pathlib import Path

from bench.measure import XSKILL, machine, run
from bench.reward import ROLES, VERBS, make_rollouts, make_tree


def main() -> None:
    """Print both times and their ratio."""
    print(f"machine: {machine()}")
    rng = random.Random(0)
    tokens = [f"{verb}<{role}>" for verb in VERBS for role in ROLES]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file, tree = folder / "episodes.jsonl", folder / "tree.jsonl"
        make_rollouts(rng, make_tree(rng, tokens), tokens, file)
        with file.open("rb") as lines, (folder / "alone.jsonl").open("wb") as out:
            out.writelines(re.sub(rb',"parent":\{[^}]*\}', b"", line) for line in lines)
        file = folder / "alone.jsonl"
        subprocess.run([*XSKILL, "mine", str(file), "-o", str(tree), "-q"], check=True)
        for round_ in range(3):
            mined = run([*XSKILL, "mine", str(file)])
            distilled = run([*XSKILL, "distill", str(file), "--tree", str(tree)])
            print(
                f"round {round_ + 1}: mine {mined.seconds:.1f} s ({mined.cpu:.1f} CPU, {mined.peak_mb:.0f} MB), "
                f"distill {distilled.seconds:.1f} s ({distilled.cpu:.1f} CPU, {distilled.peak_mb:.0f} MB): "
                f"{distilled.cpu / mined.cpu:.2f}x"
            )
