"""What a credit run can choose: methods, back-ups, turn credit, teacher maps and ratios, one table each.

Light, so that the command shows the names in its help: implementations are imported when a run uses them.
"""

from __future__ import annotations

from typing import Any

from xskill.choices import Choice, ChoiceTable

OFFICIAL = "as the official code, its singleton rules included"


class CreditMethod(Choice):
    """A way to credit turns.

    ``implementation(rollouts, trie, options)`` gives a :class:`xskill.credit.group_baselines.Baseline`. ``rollouts``
    is a :class:`xskill.rollouts.arrays.Rollouts`, ``trie`` the tree of their questions. Where the method ``looks_at``
    choices of the run, it gets the run's :class:`xskill.credit.methods.Config` in place of ``options``, and gives
    :class:`xskill.credit.methods.Credits`.
    """

    across_questions: bool = True
    """Whether the credit of a question may depend on other questions of the run. If not, a large file is credited
    by several processes, each of which sees a part of the questions."""
    needs_texts: bool = True
    """Whether it reads ``rollouts.actions`` or ``rollouts.observations``; without, these are empty or incomplete."""
    options: Any = None
    """Frozen dataclass of what ``--option NAME=VALUE`` can set, or its ``module:attribute``; fields are bool, float or
    Literal texts, each with a default. None: the method has no such options."""
    looks_at: tuple[str, ...] = ()
    """Choices of the run (fields of :class:`xskill.credit.methods.Config`) that the method looks at."""
    rules: str | None = None
    """What the header says of the rules that the numbers follow."""


class Backup(Choice):
    """How the children of a node are weighed; :func:`xskill.credit.backup.back_up` does all of them in one pass."""

    by_likelihood: bool = False
    """Weights are a softmax over the log-probabilities of the actions, with temperature ``tau``."""
    by_leaves: bool = False
    """Children count by the finished leaves below them, not equally."""


class Deviation(Choice):
    """Which standard deviation advantages are divided by."""

    ddof: int = 0
    """The squares are divided by n less this."""


class Copies(Choice):
    """How the copies of a turn that several rollouts share are weighed."""

    once: bool = False
    """The copy that was generated first weighs 1 and the others 0; if not, each of k weighs 1/k."""


class Ratio(Choice):
    """How the log ratios of a turn's tokens become one."""

    per_token: bool = False
    """Divide the sum by the number of tokens."""
    radius: float = 0.0
    """The teacher's radius where none was chosen."""


_OF_TREES = ("backup", "tau", "turn_credit", "std", "shared")
_OF_TARGETS = ("map", "radius", "scale", "ratio")


METHODS = ChoiceTable(
    "--method",
    CreditMethod,
    [
        CreditMethod(
            "treeopsd",
            "TreeOPSD: backed-up credit of each turn, and the teacher's bounded target.",
            "xskill.credit.methods:tree_opsd",
            across_questions=False,  # but for --radius auto, see Config.across_questions
            needs_texts=False,
            looks_at=(*_OF_TREES, *_OF_TARGETS),
        ),
        CreditMethod(
            "tree-pg",
            "The same credit without targets, for a policy gradient.",
            "xskill.credit.methods:tree_pg",
            across_questions=False,
            needs_texts=False,
            looks_at=_OF_TREES,
        ),
        CreditMethod(
            "grpo",
            "Reward against the mean of the question.",
            "xskill.credit.group_baselines:grpo",
            across_questions=False,
            needs_texts=False,
            options="xskill.credit.group_baselines:Grpo",
            rules=OFFICIAL,
        ),
        CreditMethod(
            "rloo",
            "Reward against the mean of the other rollouts.",
            "xskill.credit.group_baselines:rloo",
            across_questions=False,
            needs_texts=False,
            options="xskill.credit.group_baselines:Rloo",
            rules=OFFICIAL,
        ),
        CreditMethod(
            "gspo",
            "GRPO with the ratio of the whole sequence.",
            "xskill.credit.group_baselines:gspo",
            across_questions=False,
            needs_texts=False,
            options="xskill.credit.group_baselines:Gspo",
            rules=OFFICIAL,
        ),
        CreditMethod(
            "tree-grpo",
            "GRPO over the question plus GRPO over the tree.",
            "xskill.credit.group_baselines:tree_grpo",
            across_questions=False,
            needs_texts=False,
            options="xskill.credit.group_baselines:TreeGrpo",
            rules=OFFICIAL,
        ),
        CreditMethod(
            "at2po",
            "Node values by softmax over the entropies of the children.",
            "xskill.credit.tree_baselines:at2po",
            across_questions=False,
            needs_texts=False,
            options="xskill.credit.tree_baselines:At2po",
            rules=OFFICIAL,
        ),
        CreditMethod(
            "treepo",
            "Reward against the subgroups that share a prefix, whitened over the whole run.",
            "xskill.credit.tree_baselines:treepo",
            across_questions=True,
            needs_texts=False,
            options="xskill.credit.tree_baselines:Treepo",
            rules=OFFICIAL,
        ),
        CreditMethod(
            "treerl",
            "Global and local advantage of a node.",
            "xskill.credit.tree_baselines:treerl",
            across_questions=False,
            needs_texts=False,
            options="xskill.credit.tree_baselines:Treerl",
            rules=OFFICIAL,
        ),
        CreditMethod(
            "gigpo",
            "GRPO plus a comparison of turns that saw the same observation.",
            "xskill.credit.group_baselines:gigpo",
            across_questions=False,
            needs_texts=True,
            options="xskill.credit.group_baselines:Gigpo",
            rules=OFFICIAL,
        ),
    ],
    group="xskill.credit_methods",
)

BACKUPS = ChoiceTable(
    "--backup",
    Backup,
    [
        Backup("likelihood", "Softmax over the log-probabilities of the actions.", by_likelihood=True),
        Backup("mean", "All children alike."),
        Backup("leaf", "By the number of finished leaves below.", by_leaves=True),
    ],
)

TURN_CREDITS = ChoiceTable(
    "--turn-credit",
    Choice,
    [
        Choice("pointwise", "Value of the action.", "xskill.credit.backup:pointwise"),
        Choice("listwise", "Value of the action, less the mean of its alternatives.", "xskill.credit.backup:listwise"),
    ],
)

MAPS = ChoiceTable(
    "--map",
    Choice,
    [
        Choice("odds", "rho* = 1 + r c", "xskill.credit.targets:ODDS"),
        Choice("probability", "q = 1/2 + r c", "xskill.credit.targets:PROBABILITY"),
        Choice("logistic", "q = sigmoid(4 r c)", "xskill.credit.targets:LOGISTIC"),
    ],
)

RATIOS = ChoiceTable(
    "--ratio",
    Ratio,
    [
        Ratio("sum", "Sum over the tokens of the turn.", radius=0.2),
        Ratio("mean", "Mean over the tokens of the turn.", per_token=True, radius=0.005),
    ],
)

STDS = ChoiceTable(
    "--std", Deviation, [Deviation("population", "Divide by n."), Deviation("sample", "Divide by n - 1.", ddof=1)]
)

SHARED = ChoiceTable(
    "--shared", Copies, [Copies("weight", "Each of k weighs 1/k."), Copies("once", "The first weighs 1.", once=True)]
)
