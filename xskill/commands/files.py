"""Before a command opens anything: no output may destroy what another part of the command needs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from xskill.commands.types import File
from xskill.errors import UsageError

_READ = ("input", "reference")


class _Named(NamedTuple):
    """A file as it was named."""

    option: str
    role: str
    path: str


def check_files(command: Any, values: Mapping[str, Any]) -> None:
    """Refuse outputs that are the same file, and an output that would destroy an input.

    Where the result is a stream, ``-o`` may name an input: it replaces the file only when everything was read and
    written. A report (of a command without ``--to``) may not, nor may anything replace a reference. Links are
    followed; devices and pipes may be named as often as one likes, and so may what is open already: in
    ``--rejects /dev/stderr > log 2>&1`` each writes behind the other.

    Raises:
        UsageError: with both options and what to do.
    """
    named = list(_named(command.params, values))
    output = values.get("output")
    if isinstance(output, str) and output.endswith(".parquet") and "to" not in values:
        raise UsageError(f"-o {output}: this command does not write Parquet; give the file another ending")
    for one in named:
        if one.role == "side" and one.path == "-":
            raise UsageError(f"{one.option} -: standard output is for the result; name a file")
    if output in (None, "-"):
        named.insert(0, _Named("standard output", "stdout", "-"))
    if "files" in values and not values["files"]:
        named.append(_Named("standard input", "input", "-"))
    seen: dict[object, _Named] = {}
    for one in sorted(named, key=lambda file: file.role in _READ):
        identity = _identity(one)
        if identity is None:
            continue
        other = seen.setdefault(identity, one)
        if other is one or (one.role in _READ and other.role in _READ) or _both_open(one, other):
            continue
        stream = "to" in values or other.option == "--promote"
        if not (one.role == "input" and other.role == "output" and stream):
            path = one.path if other.path == "-" else other.path
            raise UsageError(f"{other.option} and {one.option} are the same file, {path}; name another one")


def _both_open(one: _Named, other: _Named) -> bool:
    """Whether they are two open files of ours, which the shell made one."""
    from xskill.process.standard import descriptor_of

    descriptors = {1 if file.role == "stdout" else descriptor_of(file.path) for file in (one, other)}
    return len(descriptors) == 2 and None not in descriptors


def _named(params: Iterable[Any], values: Mapping[str, Any]) -> Iterator[_Named]:
    for param in params:
        kind, value = getattr(param.type, "func", None), values.get(param.name)
        if not isinstance(kind, File) or value is None:
            continue
        shown = "an input" if param.param_type_name == "argument" else min(param.opts, key=len)
        for path in value if isinstance(value, (list, tuple)) else [value]:
            yield _Named(shown, kind.role, path)


def _identity(file: _Named) -> object:
    """A value that all names of a file share, and no other file has; None for a file that may be named several
    times."""
    try:
        if file.path == "-":
            found = os.fstat(1 if file.role == "stdout" else 0) if file.role != "output" else None
        else:
            found = os.stat(file.path)
    except OSError:
        return os.path.realpath(file.path)
    if found is None or not stat.S_ISREG(found.st_mode):
        return None
    return found.st_dev, found.st_ino
