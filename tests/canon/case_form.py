"""What must come of a small log that once went wrong: the form of ``tests/data/cases/canon/cases.json``, and its check.

A case names files, what is done to their lines before the run (``make``), and what must come: episodes in any order,
each with its steps ``[action, observation, {error, thought, reward, optional}]``. A pattern is a substring; ``*``
anything, null absent, ``=x`` the whole, ``!x`` not in it, ``re:x`` a regular expression; ``kind:``, ``token:`` and
``token-re:`` look at those alone.
"""

# mypy: ignore-errors

from __future__ import annotations

import json
import re

DEFAULTS = {
    "success": None,
    "reward": None,
    "task": None,
    "question_id": None,
    "id": None,
    "parent": None,
    "steps": [],
    "actions": [],
    "args": [],
}


def as_list(value):
    return value if isinstance(value, list) else [value]


def fits(pattern, text):
    for one in as_list(pattern):
        if one == "*":
            continue
        if one is None:
            if text is not None:
                return False
            continue
        if one.startswith("!"):
            if text is not None and one[1:] in text:
                return False
            continue
        if text is None:
            return False
        if one.startswith("="):
            if text.strip() != one[1:].strip():
                return False
        elif one.startswith("re:"):
            if not re.search(one[3:], text, re.S):
                return False
        elif one not in text:
            return False
    return True


def fits_action(pattern, step, token, args):
    text = "\n".join([step.get("action") or "", token, *[a if isinstance(a, str) else json.dumps(a) for a in args]])
    for one in as_list(pattern):
        if one is None:
            return False
        if one.startswith("kind:"):
            if step.get("kind", "action") != one[5:]:
                return False
        elif one.startswith("token:"):
            if one[6:] not in token:
                return False
        elif one.startswith("token-re:"):
            if not re.search(one[9:], token):
                return False
        elif one.startswith("="):
            if (step.get("action") or "").strip() != one[1:].strip():
                return False
        elif not fits(one, text):
            return False
    return True


def same(want, got):
    if isinstance(want, bool) or isinstance(got, bool) or want is None or got is None:
        return want is got
    if isinstance(want, (int, float)):
        return isinstance(got, (int, float)) and abs(want - got) < 1e-9
    return fits(want, got if isinstance(got, str) else json.dumps(got))


def step_fault(want, step, token, args):
    more = want[2] if len(want) > 2 else {}
    if not fits_action(want[0], step, token, args):
        return f"action {want[0]!r}"
    if not fits(want[1], step.get("observation")):
        return f"observation {want[1]!r}"
    if "error" in more and bool(step.get("error")) != more["error"]:
        return f"error {more['error']}"
    if "thought" in more and not fits(more["thought"], step.get("thought")):
        return f"thought {more['thought']!r}"
    if "reward" in more and not same(more["reward"], step.get("reward")):
        return f"step reward {more['reward']}"
    return None


def steps_fault(wanted, record):
    steps, tokens, args = record["steps"], record["actions"], record["args"]
    if not (len(steps) == len(tokens) == len(args)):
        return "steps, actions and args of equal length"
    deepest = [0, None]

    def go(w, s):
        if w == len(wanted):
            if s == len(steps):
                return True
            if s >= deepest[0]:
                deepest[:] = [s, f"{len(wanted)} steps, no further one after step {s}"]
            return False
        optional = len(wanted[w]) > 2 and wanted[w][2].get("optional")
        if s < len(steps):
            fault = step_fault(wanted[w], steps[s], tokens[s], args[s])
            if fault is None:
                if go(w + 1, s + 1):
                    return True
            elif s >= deepest[0] and not optional:
                deepest[:] = [s, f"step {s + 1}: {fault}"]
        elif not optional and s >= deepest[0]:
            deepest[:] = [s, f"step {s + 1}: action {wanted[w][0]!r}"]
        return bool(optional) and go(w + 1, s)

    return None if go(0, 0) else deepest[1] or "other steps"


def episode_fault(want, record):
    if "steps" in want and (fault := steps_fault(want["steps"], record)):
        return fault
    for key in ("success", "reward", "question_id", "id"):
        if key in want and not same(want[key], record[key]):
            return f"{key} {want[key]!r}"
    if "task" in want and not fits(want["task"], record["task"]):
        return f"task {want['task']!r}"
    for text in as_list(want.get("task_not", [])):
        if text in (record["task"] or ""):
            return f"task without {text!r}"
    if "parent" in want:
        parent, told = want["parent"], record["parent"]
        if parent is None or parent is True:
            if (told is not None) is not (parent is True):
                return f"parent {parent!r}"
        elif told is None or any(told.get(key) != value for key, value in parent.items()):
            return f"parent {parent!r}"
    if "classes" in want:
        tokens, classes = record["actions"], want["classes"]
        for i in range(len(classes)):
            for j in range(i):
                if (classes[i] == classes[j]) is not (tokens[i] == tokens[j]):
                    return f"tokens of steps {j + 1} and {i + 1} {'equal' if classes[i] == classes[j] else 'different'}"
    return None


def brief(record):
    steps = [
        f"{token} {step.get('action')!r:.60} -> {step.get('observation')!r:.50}{' error' if step.get('error') else ''}"
        for step, token in zip(record["steps"], record["actions"], strict=True)
    ]
    head = " ".join(
        f"{k}={record[k]!r:.60}" for k in ("id", "task", "success", "reward", "parent") if record[k] is not None
    )
    return f"[{head}: {'; '.join(steps)}]"


def assign(wants, records, ordered):
    """Which record fits which wanted episode; None when they cannot be assigned."""
    table = [[episode_fault(w, r) is None for r in records] for w in wants]

    def go(i, used):
        if i == len(wants):
            return used
        for j in range(len(records)):
            if j not in used and table[i][j] and (not ordered or not used or j > max(used)):
                rest = go(i + 1, [*used, j])
                if rest is not None:
                    return rest
        return None

    return go(0, [])


def outcome_fault(case, run):
    want = case.get("exit", 0)
    if run["exit"] not in as_list(want):
        return f"exit {want}", f"exit {run['exit']}, stderr {run['stderr'][-250:]!r}"
    for text in as_list(case.get("stdout_not", [])):
        if text in run["stdout"]:
            at = run["stdout"].index(text)
            return f"no {text!r} on stdout", run["stdout"][max(0, at - 60) : at + 60]
    for text in as_list(case.get("stderr", [])):
        if text not in run["stderr"]:
            return f"stderr with {text!r}", repr(run["stderr"][-250:])
    if "stderr_any" in case and not any(text in run["stderr"] for text in case["stderr_any"]):
        return f"stderr with one of {case['stderr_any']}", repr(run["stderr"][-250:])
    for text in as_list(case.get("not_stderr", [])):
        if text in run["stderr"]:
            return f"stderr without {text!r}", repr(run["stderr"][-250:])
    if "rejects" in case:
        told, rows = case["rejects"], run["rejects"]
        if rows is None or not told.get("min", 0) <= rows <= told.get("max", 1 << 60):
            return f"rejects {told.get('min', 0)}..{told.get('max', '')}", f"{rows} rows"
    if "episodes" not in case:
        return None
    records = run["records"]
    if records is None:
        return "one JSON object a line on stdout", repr(run["stdout"][:200])
    wants = case["episodes"]
    came = " ".join(map(brief, records)) or "no episode"
    used = assign(wants, records, case.get("ordered", False))
    if used is None:
        for number, want in enumerate(wants, 1):
            faults = [episode_fault(want, record) for record in records]
            if all(faults):
                nearest = min(range(len(faults)), key=lambda i: abs(i - number + 1), default=None)
                fault = "an episode" if nearest is None else faults[nearest]
                return f"episode {number} of {len(wants)}: {fault}", came
        return f"{len(wants)} different episodes", came
    rest = [record for index, record in enumerate(records) if index not in used]
    others = case.get("others", "none")
    bad = [r for r in rest if others == "none" or (others == "branches" and r["parent"] is None)]
    if bad:
        return f"{len(wants)} episodes" + (" and branches" if others == "branches" else ""), came
    for key in case.get("distinct", []):
        values = [json.dumps(record[key]) for record in records]
        if len(set(values)) < len(values):
            return f"different {key}", str(values)
    return None


def made(base, ops):
    with open(base, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        lines[-1] += b"\n"
    for op, *rest in ops:
        if op == "dup":
            lines.insert(rest[0], lines[rest[0] - 1])
        elif op == "dup_end":
            lines.append(lines[rest[0] - 1])
        elif op == "swap":
            i, j = rest[0] - 1, rest[1] - 1
            lines[i], lines[j] = lines[j], lines[i]
        elif op == "cut":
            lines[-1] = lines[-1][: rest[0]]
        elif op == "insert":
            text = rest[1].encode() + b"\n"
            lines[rest[0] - 1 : rest[0] - 1] = [text] * (rest[2] if len(rest) > 2 else 1)
        elif op == "long":
            lines[rest[0] - 1] = lines[rest[0] - 1].replace(rest[1].encode(), b"x" * rest[2] + b" END-OF-LONG")
        else:
            raise ValueError(f"no such operation: {op}")
    return b"".join(lines)
