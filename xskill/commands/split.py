"""``xskill split``: parts of a corpus that stay what they are when it grows."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from xskill.commands.options import Files, Output, Quiet, Rejects, Seed, To


def command(
    files: Files = None,
    by: Annotated[
        str, typer.Option(metavar="FIELD", help="Records with the same value stay together: a field, or extra.NAME.")
    ] = "question_id",
    parts: Annotated[
        str, typer.Option(metavar="NAME=SHARE,...", help="Parts and their shares, which sum to 1.")
    ] = "train=0.7,evolve=0.1,validation=0.1,test=0.1",
    keep: Annotated[bool, typer.Option("--keep", help="Leave records alone that already carry a split.")] = False,
    directory: Annotated[
        Optional[str], typer.Option("--into", metavar="DIR", help="Write one file a part, DIR/PART.jsonl, instead.")
    ] = None,
    seed: Seed = 0,
    output: Output = None,
    to: To = None,
    rejects: Rejects = None,
    quiet: Quiet = False,
) -> None:
    """Example: xskill split --by question_id episodes.jsonl > split.jsonl

    Set `split` on every trajectory by a seeded hash of a field: adding episodes moves none. An episode without that
    field goes by its own id; a branch goes where its parent is, and is written after it.
    """
    import itertools
    import os
    from contextlib import ExitStack

    from xskill.errors import CannotWrite, UsageError
    from xskill.records import Trajectory
    from xskill.streams.read import read_records
    from xskill.streams.run import Run
    from xskill.streams.write import container_of, open_output
    from xskill.verbs.partition import Partition, parse_parts

    if directory is not None and output is not None:
        raise UsageError("--into DIR writes one file a part, -o FILE all of them to one: give one of the two")
    partition = Partition(by, parse_parts(parts), seed, keep=keep)
    paths = {} if directory is None else {n: f"{directory}/{n}.{container_of(None, to)}" for n in partition.names}
    if rejects is not None and os.path.realpath(rejects) in map(os.path.realpath, paths.values()):
        raise UsageError(f"--rejects {rejects} is a file that --into writes; name another one")
    if directory is not None:
        try:
            os.makedirs(directory, exist_ok=True)
        except OSError as error:
            raise CannotWrite(f"{directory}: cannot make the folder: {error.strerror}") from None
    with Run("split", quiet=quiet, rejects=rejects) as run, ExitStack() as stack:
        if paths:
            outs = {n: stack.enter_context(open_output(path, kind=Trajectory)) for n, path in paths.items()}
        else:
            out = stack.enter_context(open_output(output, to=to, kind=Trajectory))
            outs = dict.fromkeys(partition.names, out)
        records = read_records(files or [], Trajectory, run)
        placed = (one for record in records for one in partition.place(record, run.place))
        for record in itertools.chain(placed, partition.rest()):
            outs[record.split or ""].write(record)
        for bad in partition.cyclic():
            run.kept -= 1
            run.bad(bad)
        run.check_input()
        if partition.replaced:
            run.note(f"{partition.replaced:,} records had a split of their own, replaced (--keep leaves them)")
        if run.kept and not partition.keyed and by != "question_id":
            run.note(f"no record has {by}: each went by its id or its parent's")
        run.set_summary(", ".join(f"{name} {partition.counts[name]:,}" for name in partition.names))
