"""The sentences around the numbers of ``tree show``, the same in colour and in plain text."""

from __future__ import annotations

from collections.abc import Mapping

from xskill.text.terminal import clean_line
from xskill.tree.numbers import count, interval, p_value, percent, plural, share
from xskill.tree.summary import Routine, Summary
from xskill.tree.xtree import XTree


def heading(tree: XTree) -> str:
    """``X-Tree of alfworld``, with the corpus' name where it has one."""
    names = [name for name in (tree.header.environment, tree.header.corpus.name) if name]
    kind = "X-Tree of failures" if tree.header.outcome == "failure" else "X-Tree"
    return clean_line(" · ".join([kind, *names]))


def facts(summary: Summary) -> str:
    """What the tree was mined from and how large it is."""
    corpus, header = summary.corpus, summary.tree.header
    parts = []
    if corpus.episodes is not None:
        parts.append(f"{count(corpus.episodes)} episodes")
    if header.corpus.successful_only:
        parts.append("mined from successes only")
    if corpus.base_rate is not None:
        parts.append(f"{percent(corpus.base_rate)} succeed")
    parts.append(f"{count(len(summary.tree.nodes))} nodes, {count(summary.n_roots)} used as routines")
    if corpus.compression is not None:
        parts.append(f"{corpus.compression:.1f}× shorter")
    return " · ".join(parts)


def hint(summary: Summary) -> list[str]:
    """What is shown, how to see more, and what the bar means."""
    lines = []
    rows = [row for group in summary.groups for row in group.routines]
    if summary.wanted.compare:
        n, m = count(summary.corpus.n_success), count(summary.corpus.n_failure)
        lines.append(f"share of the {n} successes and of the {m} failures that hold it; difference in points")
    elif any(row.rate is not None for row in rows):
        whose = "its episodes" if rows[0].node.episodes is not None else "its occurrences"
        legend = f"● success of {whose}, ━ 95% interval"
        if summary.corpus.base_rate is not None:
            legend += f", │ all episodes ({percent(summary.corpus.base_rate)})"
        within = summary.tree.header.config.get("stratify")
        if isinstance(within, str) and within != "none" and any(row.lift is not None for row in rows):
            legend += f", lift within each {within}"
        lines.append(legend)
    if summary.shown < summary.total:
        more = f"{count(summary.shown)} of {count(summary.total)} routines"
        lines.append(f"{more} · --top 0 all · --node {rows[0].node.id} one in full · --wide all numbers")
    return [clean_line(line) for line in lines]


def wide_facts(row: Routine) -> list[str]:
    """Every number of a node that the columns leave out."""
    node = row.node
    texts = [f"depth {node.depth}", f"length {node.length}", f"count {count(node.count)}"]
    if node.frequency is not None:
        texts.append(f"frequency {count(node.frequency)}")
    if node.score is not None:
        texts.append(f"score {node.score:,.6g}")
    if node.success is not None:
        texts.append(f"success at merge {percent(node.success)}")
    if node.episodes_known is not None:
        texts.append(f"{count(node.episodes_success)} of {count(node.episodes_known)} episodes succeed")
    if row.rate is not None:
        texts.append(f"interval {interval(row.low, row.high)}")
    if node.tiles is not None:
        texts.append(f"tiles {count(node.tiles)}, in successes {count(node.tiles_success)}")
    if node.task_types:
        texts.append(plural(len(node.task_types), "task type"))
    for name, value in (("p", node.p_value), ("q", node.q_value), ("adjusted p", node.p_adjusted)):
        if value is not None:
            texts.append(f"{name} {p_value(value)}")
    if node.stability is not None:
        texts.append(f"stability {share(node.stability)}")
    return texts


def notes(row: Routine, summary: Summary, above: Mapping[str, list[str]]) -> list[list[str]]:
    """What stands below a routine: each note in parts, between which it may be folded.

    ``above`` gives the parents of each node.
    """
    wanted, node = summary.wanted, row.node
    lines = []
    if wanted.wide:
        lines.append(wide_facts(row))
    if wanted.example and node.example:
        lines.append(["e.g. " + clean_line(node.example[0]), *map(clean_line, node.example[1:])])
    if wanted.parents and (whole := above.get(node.id)):
        lines.append(["part of " + clean_line(whole[0]), *map(clean_line, whole[1:])])
    return lines
