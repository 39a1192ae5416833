"""The output of ``canon``: trajectories as they are or in another form, and the profile that ``--learn`` mines."""

from __future__ import annotations

import msgspec

from xskill.canon.pipeline import Conversion
from xskill.errors import UsageError
from xskill.records import Trajectory, decode
from xskill.streams.write import container_of, open_output

FORMS = ("trajectory", "atif")
"""What ``--as`` takes."""


def check_form(as_name: str, output: str | None, to: str | None) -> None:
    """Whether the output can have the form that ``--as`` names.

    Raises:
        UsageError: no such form, or one that is no Parquet.
    """
    if as_name not in FORMS:
        raise UsageError(f"--as {as_name}: expected trajectory or atif")
    if as_name == "atif" and container_of(output, to) == "parquet":
        raise UsageError("--as atif is written as JSON lines, not as Parquet")


def write_trajectories(
    conversion: Conversion, output: str | None, *, to: str | None, as_name: str, learn: bool
) -> str | None:
    """Write all trajectories of a conversion.

    Args:
        output: the ``-o`` option.
        to: the ``--to`` option.
        as_name: one of :data:`FORMS`, checked.
        learn: mine a profile from the raw actions.

    Returns:
        The TOML text of that profile; None where ``learn`` is false.
    """
    learner = None
    if learn:
        from xskill.canon.actions.learn_profile import Learner

        learner = Learner()
    as_they_are = as_name == "trajectory" and learner is None and container_of(output, to) != "parquet"
    with open_output(output, to=to, kind=Trajectory) as out:
        for block in conversion.blocks():
            if as_they_are:
                out.write_line(block)
                continue
            for line in block.split(b"\n"):
                if learner is not None:
                    for step in decode(line, Trajectory).steps or ():
                        learner.add(step.action, step.kind)
                out.write_line(line if as_name == "trajectory" else _atif(line))
    return learner.toml() if learner is not None else None


def _atif(line: bytes) -> bytes:
    from xskill.canon.formats.atif_export import to_atif

    return msgspec.json.encode(to_atif(decode(line, Trajectory)))
