"""Who acts in the environment of a shipped worker, and what a worker of another package is.

Light, so that ``xskill worker`` shows the names in its help.
"""

from __future__ import annotations

from xskill.choices import Choice, ChoiceTable


class Worker(Choice):
    """A worker that ``xskill worker NAME`` starts.

    ``implementation`` is a function that serves (:func:`xskill.workers.serve.serve`) until its input ends. Its
    parameters, as typer reads them, are the options of the subcommand; its docstring is the help.
    """


class WorkerPolicy(Choice):
    """A policy of the shipped workers; ``implementation`` is its class."""

    looks_at: tuple[str, ...] = ()
    """Options of the command that it looks at."""


_MODULES = "xskill.workers.policies"

POLICIES = ChoiceTable(
    "--policy",
    WorkerPolicy,
    [
        WorkerPolicy(
            "expert-noise",
            "the expert, but for a share of the turns",
            f"{_MODULES}.without_model:ExpertNoise",
            looks_at=("rate", "expert"),
        ),
        WorkerPolicy("random", "any action that can be taken", f"{_MODULES}.without_model:RandomPolicy"),
        WorkerPolicy("follower", "what the skills say", "xskill.workers.follower:Follower"),
        WorkerPolicy("llm", "a model", f"{_MODULES}.llm:LlmPolicy", looks_at=("model", "base_url", "settings")),
    ],
)
