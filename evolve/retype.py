"""A bank with its task types renamed, for a bank that calls them by other names than the environment.

Example: xskill bank import skills.json | python retype.py clean=pick_clean_then_place_in_recep > bank.jsonl

A type given twice is copied: its skills serve both new types. Others stay as they are.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any


def retyped(skills: Iterable[dict[str, Any]], names: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
    """Each skill under its new types; the ids of second copies end in their number."""
    for skill in skills:
        for number, name in enumerate(names.get(skill.get("task_type", ""), [skill.get("task_type")]), 1):
            copy = {"id": f"{skill['id']}-{number}"} if number > 1 else {}
            yield {**skill, **({"task_type": name} if name is not None else {}), **copy}


def main() -> None:
    names: dict[str, list[str]] = defaultdict(list)
    for pair in sys.argv[1:]:
        old, _, new = pair.partition("=")
        names[old].append(new)
    records = [json.loads(line) for line in sys.stdin]
    for skill in retyped((record for record in records if record["schema"] == "xskill.skill/1"), names):
        print(json.dumps(skill, ensure_ascii=False))


if __name__ == "__main__":
    main()
