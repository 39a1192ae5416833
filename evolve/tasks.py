"""Task records of a worker (``xskill worker … --tasks``) → a small, even choice that ``xskill split`` can split.

Example: xskill worker alfworld --games DIR --tasks | python tasks.py --per-type 8 --test-per-type 4 > tasks.jsonl

Of each task type the same number, spread over the type's whole range. What the benchmark itself holds out
(``split`` test) stays test; the rest loses its mark, so that ``xskill split --keep`` deals it out anew.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from typing import Any


def spread(records: list[dict[str, Any]], most: int, *, inner: bool = False) -> list[dict[str, Any]]:
    """At most ``most`` of the records, at even distances, each from the middle of its stretch when ``inner``."""
    if len(records) <= most:
        return records
    return [records[(2 * index + inner) * len(records) // (2 * most)] for index in range(most)]


def as_episode(task: dict[str, Any], split: str | None) -> dict[str, Any]:
    """The task as a trajectory without a step: what the stages split, filter and roll out from."""
    episode: dict[str, Any] = {"schema": "xskill.trajectory/1", "id": task["id"], "question_id": task["id"]}
    episode |= {name: task[name] for name in ("task", "task_type", "env") if name in task}
    if split is not None:
        episode["split"] = split
    extra = {name: value for name, value in task.items() if name not in episode and name != "split"}
    return episode | {"actions": [], "extra": extra}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--types", default="", help="task types, by commas; none: all")
    parser.add_argument("--per-type", type=int, default=8)
    parser.add_argument("--test-per-type", type=int, default=4)
    options = parser.parse_args()
    wanted = [name for name in options.types.split(",") if name]
    groups: dict[tuple[str, bool], list[dict[str, Any]]] = defaultdict(list)
    for line in sys.stdin:
        task = json.loads(line)
        if not wanted or task["task_type"] in wanted:
            groups[task["task_type"], task.get("split") == "test"].append(task)
    if not groups:
        sys.exit(f"tasks.py: no task of the types {options.types or '(any)'} on stdin")
    for (_, is_test), tasks in sorted(groups.items()):
        most = options.test_per_type if is_test else options.per_type
        for task in spread(tasks, most, inner=is_test):
            print(json.dumps(as_episode(task, "test" if is_test else None), ensure_ascii=False))


if __name__ == "__main__":
    main()
