"""A worker that uses nothing of ours and can misbehave: faulty_worker.py [FAULT QUESTION OP TIMES FOLDER].

The first TIMES times that OP of QUESTION is asked (counted in FOLDER, over restarts) it does FAULT instead.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

DEPTH = 4


def act(seed: int, turn: int) -> str:
    return f"go {random.Random(seed * 100 + turn).randrange(3)}"


def step(prefix: list[str], action: str) -> dict[str, Any]:
    path = [*prefix, action]
    done = len(path) == DEPTH
    return {"observation": "at " + " ".join(path), "done": done, "reward": float(done and action == "go 1")}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    prefix = request.get("prefix", [])
    if request["op"] == "reset":
        return {"observation": f"task {request['task'].get('task')}", "done": False}
    if request["op"] == "propose":
        return {"children": [{"action": f"go {i}", "logprob": -1.0 - i} for i in range(request["k"])]}
    if request["op"] == "step":
        return step(prefix, request["action"])
    steps: list[dict[str, Any]] = []
    for turn in range(len(prefix), DEPTH):
        action = act(request["seed"], turn)
        taken = step(prefix + [s["action"] for s in steps], action)
        steps.append(
            {"action": action, "observation": taken["observation"], "reward": taken["reward"], "logprob": -1.1}
        )
    return {"steps": steps, "done": True}


def misbehave(fault: str, request: dict[str, Any]) -> None:
    if fault == "die":
        print("Traceback: out of luck", file=sys.stderr)
        sys.exit(3)
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "hang":
        time.sleep(600)
    if fault == "hang-with-child":
        subprocess.Popen(["sleep", "600"])
        time.sleep(600)
    if fault == "garbage":
        print("Loading model... 100%", flush=True)
    if fault == "half":
        sys.stdout.write('{"id": "q')
        sys.stdout.flush()
        sys.exit(0)
    if fault == "twice":
        print(json.dumps({"id": request["id"], **answer(request)}) + "\nand by the way", flush=True)
    if fault == "other":
        print(json.dumps({"id": "someone else", **answer(request)}), flush=True)
    if fault == "endless":
        while True:
            sys.stdout.write("x" * (1 << 20))
    if fault == "error":
        print(json.dumps({"id": request["id"], "error": "no such game"}), flush=True)
    if fault == "too-many":
        print(json.dumps({"id": request["id"], "steps": [{"action": "a"}] * 99, "done": True}), flush=True)
    if fault == "nothing":
        print(json.dumps({"id": request["id"], "steps": [], "done": False}), flush=True)
    if fault == "types":
        print(json.dumps({"id": request["id"], "steps": [{"action": 7}], "done": True}), flush=True)
    if fault == "changed":
        print(json.dumps({"observation": "elsewhere", "done": False}), flush=True)
    if fault == "escape":
        print("\x1b[2Jwiped\x1b]0;title\x07", file=sys.stderr)
        sys.exit(1)


def main(arguments: list[str]) -> None:
    sys.stderr.write("noise on stderr\n" * 20_000)  # more than a pipe holds: nobody may block on it
    for line in sys.stdin:
        request = json.loads(line)
        if arguments:
            fault, question, op, times, folder = arguments
            fired = Path(folder) / "fired"
            count = int(fired.read_text()) if fired.exists() else 0
            if request["id"] == question and request["op"] == op and count < int(times):
                fired.write_text(str(count + 1))
                misbehave(fault, request)
                continue
        print(json.dumps({"id": request["id"], **answer(request)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
