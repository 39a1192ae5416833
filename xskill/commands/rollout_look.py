"""``xskill rollout build|show|check``: rollout trees as they are."""

from __future__ import annotations

from xskill.commands.options import AsJson, Files, Output, Quiet, Rejects, To


def build(
    files: Files = None,
    output: Output = None,
    to: To = None,
    as_json: AsJson = False,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill rollout build rollouts.jsonl --json

    Rebuild each question's tree by its shared prefixes, check parent links against it, and write one record a node:
    each shared turn once. With --json the summary goes to stdout, and nodes are written only with -o.
    """
    import msgspec

    from xskill.records import RolloutNode
    from xskill.rollouts.build import summary
    from xskill.rollouts.nodes import rollout_nodes
    from xskill.rollouts.read import read_rollouts
    from xskill.streams.run import Run
    from xskill.streams.text import write_text
    from xskill.streams.write import open_output

    with Run("rollout build", quiet=quiet, rejects=rejects) as run:
        rollouts, trie, originals = read_rollouts(files or [], run, keep=True)
        found = summary(rollouts, trie)
        if output is not None or not as_json:
            with open_output(output, to=to, kind=RolloutNode) as out:
                for node in rollout_nodes(rollouts, trie, originals):
                    out.write(node)
        if as_json:
            write_text(None, msgspec.json.encode(found).decode())
        run.set_summary(
            f"{found['questions']:,} questions, {found['turns']:,} turns in {found['nodes']:,} nodes, "
            f"cost {found['cost']:g} full rollouts a question"
        )
