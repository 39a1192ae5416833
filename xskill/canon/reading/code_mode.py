"""Codex' code mode: a script that calls tools, read as the calls that it makes. Nothing of it is run.

``const a = await tools.exec_command({"cmd": "ls"});`` holds one call. What the commands returned is told, where the log
tells it, by events of their own; else the script's output is the result of its last call.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from xskill.canon.reading.content_text import join

_CALL = re.compile(r"\btools\.([A-Za-z_]\w*)\(\s*(?=\{)")
_ANY = re.compile(r"\btools\.([A-Za-z_]\w*)\s*\(")
_DECODER = json.JSONDecoder()


class Inner(NamedTuple):
    """One call of a script; ``text`` is None where nothing tells what it returned."""

    name: str
    arguments: Any
    text: str | None = None
    failed: bool = False


def script_calls(script: Any) -> list[Inner]:
    """The calls in a script, in the order in which they stand; none where one of them is not plain JSON.

    >>> script_calls('const a = await tools.exec_command({"cmd":"ls"});')
    [Inner(name='exec_command', arguments={'cmd': 'ls'}, text=None, failed=False)]
    """
    if not isinstance(script, str):
        return []
    calls: list[Inner] = []
    for match in _CALL.finditer(script):
        try:
            arguments, _ = _DECODER.raw_decode(script, match.end())
        except (json.JSONDecodeError, RecursionError):
            return []
        calls.append(Inner(match[1], arguments))
    return calls if len(calls) == len(_ANY.findall(script)) else []


def executed(item: Any) -> Inner | None:
    """The command that an ``item_completed`` event tells of; None for other items."""
    if not isinstance(item, dict) or item.get("type") not in ("CommandExecution", "command_execution"):
        return None
    text = join(*(item[key] for key in ("stdout", "stderr") if isinstance(item.get(key), str)))
    if text is None and isinstance(item.get("aggregated_output"), str):
        text = item["aggregated_output"]
    failed = item.get("exit_code") not in (None, 0) or item.get("status") in ("failed", "declined")
    return Inner("shell", {"command": item.get("command")}, text if text is not None else "", failed)
