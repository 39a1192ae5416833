"""What the driver itself costs a turn, over 100,000 turns of a worker that does nothing."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.measure import machine
from xskill.records import Trajectory
from xskill.sampling.canonical_names import Namer
from xskill.sampling.drive import QuestionJob, Setting, Stop
from xskill.sampling.expand import expand
from xskill.sampling.growing_episode import Question, Sampler
from xskill.sampling.protocol import Task
from xskill.sampling.puct import Search, search
from xskill.sampling.whole_rollout import Sampling
from xskill.streams.run import Run
from xskill.streams.write import open_output

TURNS = 100_000
LENGTH = 25

WORKER = f"""
import json, sys
for line in sys.stdin:
    r = json.loads(line)
    if r["op"] == "reset":
        a = {{"observation": "start", "done": False}}
    elif r["op"] == "propose":
        a = {{"children": [{{"action": "go to place %d" % i, "logprob": -1.0, "n_tokens": 3}} for i in range(r["k"])]}}
    elif r["op"] == "step":
        n = len(r["prefix"]) + 1
        a = {{"observation": "here is a description of the place", "done": n == {LENGTH}, "reward": 0.0, "value": 0.1}}
    else:
        n = len(r["prefix"])
        m = n + 1 if len(sys.argv) > 1 else {LENGTH}
        s = [{{"action": "go to place %d" % (r["seed"] % 99), "observation": "here is a description of the place",
              "reward": 0.0, "logprob": -1.0, "n_tokens": 3}}]
        a = {{"steps": s * (m - n), "done": m == {LENGTH}}}
    sys.stdout.write(json.dumps(a) + "\\n")
    sys.stdout.flush()
"""


def main() -> None:
    """Print a row for each way of asking."""
    print(f"machine: {machine()}")
    print(f"{'':44}{'turns':>9}{'requests':>10}{'driver CPU, us/turn':>21}{'wall, us/turn':>15}")
    straight = partial(expand, initial=4, branches=2)
    deep = Search(iterations=100, depth=LENGTH)
    for name, sampler, argument, jobs in (
        ("expand, an episode an answer", straight, [], 1),
        ("expand, a turn an answer", straight, ["one"], 1),
        ("expand, a turn an answer, 2 workers", straight, ["one"], 2),
        ("puct, 100 iterations a question", partial(search, choices=deep), ["one"], 1),
    ):
        _row(name, sampler, argument, jobs)


def _row(name: str, sampler: Callable[[Question], Sampler], argument: list[str], jobs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "worker.py"
        script.write_text(WORKER)
        run = Run("bench", quiet=True)
        setting = Setting(
            words=[sys.executable, str(script), *argument],
            workers=jobs,
            timeout=60.0,
            seed=0,
            max_turns=LENGTH,
            config={},
            skills_for=lambda task, task_type: [],
        )
        per_question = {"expand": 12 * LENGTH * 0.68, "puct": 1400.0}[name.split(",")[0]]
        work = [QuestionJob(Task(id=f"q{n}"), sampler) for n in range(round(TURNS / per_question))]
        sampling = Sampling(setting, Namer("generic"), Stop(), run)
        wall, cpu = time.perf_counter(), time.process_time()
        with open_output(f"{folder}/out.jsonl", kind=Trajectory) as out:
            for trajectory in sampling.trajectories(work, {}, {}):
                out.write(trajectory)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        cost = sampling.cost
        turns = cost.turns
        assert json.loads(Path(f"{folder}/out.jsonl").read_bytes().splitlines()[0])["question_id"] == "q0"
        print(f"{name:44}{turns:9,}{cost.requests:10,}{1e6 * cpu / turns:21.1f}{1e6 * wall / turns:15.1f}", flush=True)


if __name__ == "__main__":
    main()
