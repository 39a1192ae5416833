"""An environment of three rooms as a worker of its own: it answers reset and step, and lists what can be done."""

from __future__ import annotations

import json
import sys

ROOMS = ["the cellar", "the hall", "the garden"]

for line in sys.stdin:
    request = json.loads(line)
    path = [*request.get("prefix", []), request.get("action", "")]
    room = 1
    for action in path:
        room = max(0, min(2, room + {"go up": 1, "go down": -1}.get(action, 0)))
    answer = {
        "id": request["id"],
        "observation": f"You are in {ROOMS[room]}.",
        "done": room != 1,
        "actions": ["go up", "go down", "wait"],
    }
    if request["op"] == "reset":
        answer["task"] = "Get out into the garden."
    else:
        answer["reward"] = float(room == 2)
    print(json.dumps(answer), flush=True)
