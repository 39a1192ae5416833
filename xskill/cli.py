"""The command ``xskill``: a table of subcommands, each imported only when it is called.

``xskill --help`` therefore costs little more than typer itself: it imports no numpy, polars, orjson or stage.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from xskill import __version__
from xskill.errors import EXIT_CANNOT_WRITE, EXIT_CLOSED_PIPE, EXIT_INTERRUPTED, EXIT_USAGE, XskillError

COMMANDS: dict[str, tuple[str, str]] = {
    "canon": ("xskill.commands.canon", "Turn raw agent logs into trajectories with canonical actions."),
    "mine": ("xskill.commands.mine", "Mine the X-Tree of routines that trajectories share."),
    "tree": ("xskill.commands.tree", "Look at a tree; tiles, instances, rewards and context cards of it."),
    "rollout": ("xskill.commands.rollout", "Sample rollout trees, build, show and check them."),
    "credit": ("xskill.commands.credit", "Credit the turns of rollout trees, our way or as a baseline."),
    "distill": ("xskill.commands.distill", "Turn episodes and rollouts into a SkillBank, evidence or edits."),
    "bank": ("xskill.commands.bank", "Show, change, retrieve from, export and evaluate a SkillBank."),
    "gate": ("xskill.commands.gate", "Decide whether a candidate bank may replace the current one."),
    "head": ("xskill.commands.head", "Pass the first records of a stream on."),
    "check": ("xskill.commands.check", "Validate records against their contracts."),
    "schema": ("xskill.commands.schema", "Print the JSON Schema of a contract."),
    "stats": ("xskill.commands.stats", "Count episodes, steps, outcomes, task types, lengths and tokens."),
    "filter": ("xskill.commands.filter", "Select records by an SQL expression over their columns."),
    "split": ("xskill.commands.split", "Assign train, evolve, validation and test by a hash of a field."),
    "worker": ("xskill.commands.worker", "Environments and models that `xskill rollout` can drive."),
}
"""Name → (module that holds ``command``, one-line help). ``command`` is a function or a ``typer.Typer``."""

EXAMPLE = "xskill canon logs/*.jsonl | xskill mine | xskill tree show"


class Commands(TyperGroup):
    """A group that builds a subcommand when it is asked for, and turns our errors into exit codes."""

    _only_listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, summary = COMMANDS[cmd_name]
        if self._only_listing:
            return TyperCommand(cmd_name, help=summary)
        return _build(cmd_name, module)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._only_listing = True
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except XskillError as error:
            _leave(error)
        except BrokenPipeError:
            from xskill.process.standard import abandon

            abandon()  # nobody reads any more
            raise typer.Exit(EXIT_CLOSED_PIPE) from None
        except KeyboardInterrupt:
            print("xskill: interrupted", file=sys.stderr)
            raise typer.Exit(EXIT_INTERRUPTED) from None


def _build(name: str, module: str) -> Any:
    command = importlib.import_module(module).command
    if not isinstance(command, typer.Typer):
        single = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=_HELP)
        single.command(name)(command)
        command = single
    built = typer.main.get_command(command)
    built.name = name
    for leaf in getattr(built, "commands", {"": built}).values():
        _check_files_first(leaf)
    return built


def _check_files_first(command: Any) -> None:
    from xskill.commands.files import check_files

    run = command.callback

    def checked(**values: Any) -> Any:
        check_files(command, values)
        return run(**values)

    command.callback = checked


def _leave(error: XskillError) -> None:
    from xskill.errors import TerminalInput
    from xskill.text.terminal import clean_line

    if isinstance(error, TerminalInput):
        names = [word for word in sys.argv[1:3] if not word.startswith("-")]
        app(args=[*names, "--help"], prog_name="xskill", standalone_mode=False)
        raise typer.Exit(EXIT_USAGE) from None
    print(f"xskill: {clean_line(str(error))}", file=sys.stderr)
    raise typer.Exit(error.exit_code) from None


_HELP = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    context_settings=_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # it would print local variables, and they hold text from logs
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"xskill {__version__}")
        raise typer.Exit


@app.callback(help=f"Example: {EXAMPLE}\n\nTurns logs of LLM agents into reusable skills and training signal.")
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


def _one_blas_thread() -> None:
    """Keep numpy's BLAS to one thread: it would start one a core, which spin, and nothing here needs them.

    ``os.environ`` stays as it is, since workers and other commands of the user inherit it.
    """
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        os.putenv("OPENBLAS_NUM_THREADS", "1")


def _collect_seldom() -> None:
    """Records hold no reference cycles, and looking for some at every 700 new objects took half the time of reading."""
    gc.set_threshold(100_000, 20, 50)


def main() -> None:
    """Entry of the console script."""
    _one_blas_thread()
    _collect_seldom()
    from xskill.process.signals import unwound
    from xskill.process.standard import reserve

    reserve()
    unwound(_run)


def _run() -> None:
    from xskill.process.standard import abandon

    try:
        try:
            app(prog_name="xskill")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        abandon()
        sys.exit(EXIT_CLOSED_PIPE)
    except OSError as error:  # of --help and --version, or on a disk that failed beneath a library
        abandon()
        with contextlib.suppress(OSError):
            print(f"xskill: cannot read or write{_place(error)}: {error.strerror or error}", file=sys.stderr)
        sys.exit(EXIT_CANNOT_WRITE)


def _place(error: OSError) -> str:
    return f" {error.filename}" if error.filename else ""


if __name__ == "__main__":
    main()
