"""Forms in which ``credit`` and ``distill`` write (``--as``), with what the commands must know of each."""

from __future__ import annotations

from typing import Any

from xskill.choices import Choice, ChoiceTable, resolve


class CreditForm(Choice):
    """A form of credited trajectories; the implementation makes a row of one."""

    columns: str | None = None
    """Where the columns of the rows in Parquet are; None: JSON lines only."""
    tokens: str | None = None
    """Where the test is, whether a row holds tokens; None: it always does."""

    def lacks_tokens(self, row: dict[str, Any]) -> bool:
        """Whether the row should have held tokens, and the trajectory had none."""
        return self.tokens is not None and not resolve(self.tokens)(row)


CREDIT = ChoiceTable(
    "--as",
    CreditForm,
    [
        CreditForm(
            "verl",
            "rows for a trainer",
            "xskill.integrations.credit_rows:verl_row",
            columns="xskill.integrations.credit_rows:VERL_COLUMNS",
        ),
        CreditForm(
            "verifiers",
            "traces for verifiers",
            "xskill.integrations.credit_traces:verifiers_trace",
            tokens="xskill.integrations.credit_traces:has_tokens",
        ),
    ],
)


class DistillForm(Choice):
    """What ``distill`` writes."""

    of_skills: bool = True
    """It is made of skills, or of changes to them; else of the branches of the input alone."""
    edits_a_bank: bool = False
    """It says how a bank would change, which must be given."""


DISTILL = ChoiceTable(
    "--as",
    DistillForm,
    [
        DistillForm("bank", "the skills; with --bank, the bank after its edits"),
        DistillForm("edits", "the edits of --bank", edits_a_bank=True),
        DistillForm("evidence", "comparisons of branches", of_skills=False),
    ],
)
