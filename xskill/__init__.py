"""xskill: reusable skills and training signal from the logs of LLM agents.

This package is its own face: what stands in ``__all__`` here and in the packages of the stages (:mod:`xskill.canon`,
:mod:`xskill.mine`, :mod:`xskill.tree`, :mod:`xskill.credit`, :mod:`xskill.distill`, :mod:`xskill.bank`,
:mod:`xskill.gate`) is public, has the options, defaults and errors of the commands, and stays. Every other module and
name is private, underscore or not: it may change with any release.

Logs → routines, in Python::

    from xskill import canon, mine, tree

    routines = mine.mine(canon.read("logs/run.jsonl"))
    tree.save(routines, "tree.jsonl")

Importing it costs nothing: each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xskill.lazy import lazily

if TYPE_CHECKING:
    from xskill import bank, canon, credit, distill, gate, mine, tree
    from xskill.errors import (
        BadData,
        BadPlugIn,
        BadRecord,
        CannotAnswer,
        CannotWrite,
        EditFailure,
        EvaluationFailed,
        HeldOut,
        MissingMetric,
        NoInput,
        NoRecord,
        NoSuccess,
        NoWorker,
        SomeFailed,
        SplitLeak,
        TaskMismatch,
        TerminalInput,
        UsageError,
        WorkerError,
        XskillError,
    )
    from xskill.records import (
        BankHeader,
        Candidate,
        Corpus,
        CreditsHeader,
        Edit,
        Evidence,
        Gold,
        Instance,
        Message,
        Node,
        Parent,
        Result,
        RolloutNode,
        Skill,
        Slot,
        Source,
        Step,
        Tile,
        Trajectory,
        TreeHeader,
        TurnCredit,
        Verdict,
    )
    from xskill.streams.streams_face import from_polars, read, to_polars, write

__version__ = "0.1.0"

__all__ = [
    "BadData",
    "BadPlugIn",
    "BadRecord",
    "BankHeader",
    "Candidate",
    "CannotAnswer",
    "CannotWrite",
    "Corpus",
    "CreditsHeader",
    "Edit",
    "EditFailure",
    "EvaluationFailed",
    "Evidence",
    "Gold",
    "HeldOut",
    "Instance",
    "Message",
    "MissingMetric",
    "NoInput",
    "NoRecord",
    "NoSuccess",
    "NoWorker",
    "Node",
    "Parent",
    "Result",
    "RolloutNode",
    "Skill",
    "Slot",
    "SomeFailed",
    "Source",
    "SplitLeak",
    "Step",
    "TaskMismatch",
    "TerminalInput",
    "Tile",
    "Trajectory",
    "TreeHeader",
    "TurnCredit",
    "UsageError",
    "Verdict",
    "WorkerError",
    "XskillError",
    "bank",
    "canon",
    "credit",
    "distill",
    "from_polars",
    "gate",
    "mine",
    "read",
    "to_polars",
    "tree",
    "write",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "xskill.bank": (),
            "xskill.canon": (),
            "xskill.credit": (),
            "xskill.distill": (),
            "xskill.gate": (),
            "xskill.mine": (),
            "xskill.tree": (),
            "xskill.errors": (
                "BadData",
                "BadPlugIn",
                "BadRecord",
                "CannotAnswer",
                "CannotWrite",
                "EditFailure",
                "EvaluationFailed",
                "HeldOut",
                "MissingMetric",
                "NoInput",
                "NoRecord",
                "NoSuccess",
                "NoWorker",
                "SomeFailed",
                "SplitLeak",
                "TaskMismatch",
                "TerminalInput",
                "UsageError",
                "WorkerError",
                "XskillError",
            ),
            "xskill.records": tuple(
                """BankHeader Candidate Corpus CreditsHeader Edit Evidence Gold Instance Message Node Parent Result
                RolloutNode Skill Slot Source Step Tile Trajectory TreeHeader TurnCredit Verdict""".split()
            ),
            "xskill.streams.streams_face": (
                "from_polars",
                "read",
                "to_polars",
                "write",
            ),
        },
    )
