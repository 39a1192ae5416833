"""Forms in which ``tree show``, ``tree instances`` and ``tree context`` write.

Light, so that the commands show the names in their help.
"""

from __future__ import annotations

from xskill.choices import Choice, ChoiceTable


class ShowForm(Choice):
    """A form of a tree. The implementation gives the text of a summary; of the whole tree, a value for JSON."""

    whole_tree: bool = False
    """It writes all nodes as they are: nothing can be chosen."""


CARDS = ChoiceTable("--as", Choice, [Choice("jsonl", "id, context, n_tokens"), Choice("text", "cards alone")])

TRAINERS = ChoiceTable(
    "--as",
    Choice,
    [Choice(name, "", f"xskill.tree.trainer_rows:{name.upper()}") for name in ("verl", "trl", "skyrl")],
)

SHOW = ChoiceTable(
    "--as",
    ShowForm,
    [
        ShowForm("xtree", "the authors' form", "xskill.tree.released:to_released", whole_tree=True),
        ShowForm("dot", "for Graphviz", "xskill.tree.graphs:dot"),
        ShowForm("mermaid", "a diagram in Markdown", "xskill.tree.graphs:mermaid"),
        ShowForm("markdown", "a table", "xskill.tree.graphs:markdown"),
    ],
)
