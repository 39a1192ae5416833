"""tree reward on 100,000 rollouts of 20 steps, against two plain JSON parses of the same file.

A plain parse is ``json.loads`` of every line; orjson, the faster parser, is shown beside it.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
from pathlib import Path

from bench.measure import XSKILL, machine, run
from xskill.records import Corpus, Node, Parent, Step, Trajectory, TreeHeader, encode
from xskill.records.tree_rules import derived
from xskill.tree.xtree import XTree, write_tree

ROLLOUTS, STEPS, GROUP = 100_000, 20, 8
VERBS = ["open", "close", "take", "put", "navigate", "observe", "use", "heat"]
ROLES = ["door", "container", "object", "surface", "device", "room"]


def make_tree(rng: random.Random, tokens: list[str], n_nodes: int = 256, longest: int = 8) -> XTree:
    """A tree of random merges."""
    nodes: dict[str, Node] = {}
    pairs: set[tuple[str, str]] = set()
    while len(nodes) < n_nodes:
        pair = rng.choice([*tokens, *nodes]), rng.choice([*tokens, *nodes])
        depth, length, expansion = derived(pair, nodes)
        if pair in pairs or length > longest:
            continue
        pairs.add(pair)
        name = f"S{len(nodes)}"
        nodes[name] = Node(
            id=name, children=pair, depth=depth, length=length, expansion=expansion, count=9, frequency=9, success=0.5
        )
    return XTree(TreeHeader(n_nodes=n_nodes, corpus=Corpus(n_trajectories=1000)), tuple(nodes.values()))


def make_rollouts(rng: random.Random, tree: XTree, tokens: list[str], path: Path) -> None:
    """Rollouts of random routines and actions, with observations of about 100 characters."""
    with path.open("wb") as out:
        for number in range(ROLLOUTS):
            actions: list[str] = []
            while len(actions) < STEPS:
                actions += rng.choice(tree.nodes).expansion if rng.random() < 0.4 else [rng.choice(tokens)]
            actions = actions[:STEPS]
            steps = [
                Step(
                    action=f"{token.replace('<', ' the ').rstrip('>')} {rng.randrange(40)}",
                    observation=f"On the table {rng.randrange(99)} you see " + "a bowl, " * rng.randrange(5, 15),
                    logprob=-rng.random(),
                    n_tokens=rng.randrange(3, 12),
                )
                for token in actions
            ]
            success = rng.random() < 0.2
            record = Trajectory(
                id=f"r{number}",
                question_id=f"q{number // GROUP}",
                task_type="task",
                success=success,
                reward=float(success),
                actions=actions,
                args=[[str(rng.randrange(40))] for _ in actions],
                steps=steps,
                parent=Parent(id=f"r{number - 1}", turn=3) if number % 3 else None,
            )
            out.write(encode(record) + b"\n")


def main() -> None:
    """Print the table."""
    print(f"machine: {machine()}")
    rng = random.Random(0)
    tokens = [f"{verb}<{role}>" for verb in VERBS for role in ROLES]
    with tempfile.TemporaryDirectory() as folder:
        tree, rollouts = Path(folder) / "tree.jsonl", Path(folder) / "rollouts.jsonl"
        value = make_tree(rng, tokens)
        write_tree(value, tree)
        make_rollouts(rng, value, tokens, rollouts)
        print(f"{ROLLOUTS:,} rollouts x {STEPS} steps, {rollouts.stat().st_size / 1e6:.0f} MB")
        parse = "import sys, {0}\nfor line in open(sys.argv[1], 'rb'): {0}.loads(line)"
        times: dict[str, list[tuple[float, float]]] = {"json": [], "orjson": [], "xskill tree reward": []}
        memory = 0.0
        for _ in range(3):
            for name in ("json", "orjson"):
                usage = run([sys.executable, "-c", parse.format(name), str(rollouts)])
                times[name].append((usage.seconds, usage.cpu))
            output = ["-o", str(Path(folder) / "out.jsonl"), "-q"]
            usage = run([*XSKILL, "tree", "reward", "--tree", str(tree), str(rollouts), *output])
            times["xskill tree reward"].append((usage.seconds, usage.cpu))
            memory = max(memory, usage.peak_mb)
    median = {name: [statistics.median(pair[i] for pair in pairs) for i in (0, 1)] for name, pairs in times.items()}
    for name, (wall, cpu) in median.items():
        print(f"{name:<20}{wall:7.2f} s wall {cpu:7.2f} s CPU")
    for name in ("json", "orjson"):
        wall, cpu = (ours / (2 * plain) for ours, plain in zip(median["xskill tree reward"], median[name], strict=True))
        print(f"tree reward / two parses with {name:<7}{wall:6.2f} wall {cpu:6.2f} CPU  (bar 1.0)")
    print(f"peak memory {memory:.0f} MB")


if __name__ == "__main__":
    main()
