"""The evaluator of ``xskill bank evaluate``: one episode of a worker's policy a task, with the bank's skills.

Example: python score.py --worker "xskill worker …" bank.jsonl tasks.jsonl results.jsonl

Metrics: ``success``, ``score`` (the reward of the whole episode) and ``turns``, its length. ``--episodes FILE`` takes
episodes that are there already instead of rolling out.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator


def results(lines: Iterable[str]) -> Iterator[str]:
    """Trajectories → results, header lines skipped."""
    for line in lines:
        record = json.loads(line)
        if record["schema"] == "xskill.trajectory/1":
            success = record.get("success") is True
            score = round(record["reward"], 6) if record.get("reward") is not None else float(success)
            metrics = {"success": success, "score": score, "turns": len(record["actions"])}
            yield json.dumps({"schema": "xskill.result/1", "task_id": record["question_id"], "metrics": metrics})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--xskill", default="xskill", help="the command")
    parser.add_argument("--worker", help="worker command")
    parser.add_argument("--turns", default="50")
    parser.add_argument("--jobs", default="1")
    parser.add_argument("--episodes", help="these instead of new ones")
    parser.add_argument("files", nargs="*", metavar="BANK TASKS OUT")
    options = parser.parse_args()
    if options.episodes:
        with open(options.episodes, encoding="utf-8") as episodes:
            lines = list(results(episodes))
        out = options.files[-1]
    else:
        bank, tasks, out = options.files
        command = [*shlex.split(options.xskill), "rollout", "expand", tasks, "-N", "1", "-B", "0", "-q"]
        command += ["--bank", bank, "--max-turns", options.turns, "-j", options.jobs, "--worker", options.worker]
        done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False)
        if done.returncode:
            sys.exit(done.returncode)
        lines = list(results(done.stdout.splitlines()))
    part = f"{out}.part"
    with open(part, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    os.replace(part, out)


if __name__ == "__main__":
    main()
