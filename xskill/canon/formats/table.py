"""The table of formats: the order in which they are tried, each imported when its turn comes.

Our own records come first. Then follow formats with a key or a shape of their own, the most specific first; then those
of other packages (entry points of the group ``xskill.formats``); last those that claim much, as any list of ``steps``
or ``messages``.

A module in this folder that is named in neither list below takes part all the same: it is tried right before the
formats that claim much. Only a format whose logs an earlier one would take has to be given its place here.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache

from xskill.canon.formats.format import Format
from xskill.choices import ChoiceTable, may_offer
from xskill.errors import UsageError

GROUP = "xskill.formats"
"""Entry-point group of the formats of other packages; an entry point names a :class:`Format`."""

_SPECIFIC = (
    "xskill_records", "atif", "mini_swe", "otlp", "tau2_bench", "inspect_log", "inspect_log:ARCHIVE", "langfuse",
    "mlflow", "swe_agent", "terminal_bench", "tau_bench", "tau_few_shot", "openhands", "openhands_v0", "browser_use",
    "smolagents", "harbor_traces", "terminus_episodes", "qwen_code", "claude_code", "codex", "claude_stream",
    "codex_exec", "opencode", "goose", "pi", "kimi", "gemini", "copilot", "cline", "cline_ui", "anthropic_log",
    "openai_responses_log", "openai_chat_log", "otlp:CONSOLE", "phoenix", "openai_agents", "langsmith", "cua_result",
    "search_journal", "agentbench", "osworld", "verl_dump", "lm_eval_samples", "promptfoo", "react_notebook",
    "browsergym", "gobrowse", "browsergym:SUMMARY", "screenagent", "rstar", "skillrl_memories", "mind2web_result",
    "reflexion", "agentgym", "lats_jsonl", "scienceworld_history", "webvoyager", "sharegpt", "tot_dfs",
    "tree_of_thoughts", "atif_viewer", "gemini_contents",
)  # fmt: skip
"""Modules, most specific format first; ``module:NAME`` where it is not ``FORMAT``."""

_GENERIC = (
    "steps", "prompt_completion", "openai_chat", "lats_log", "webarena", "aider", "react_text", "harbor",
    "mlflow:FOLDER", "terminal_bench:FOLDER", "claude_code:FOLDER", "opencode:FOLDER", "osworld:FOLDER",
    "gobrowse:FOLDER", "browsergym:FOLDER", "screenagent:FOLDER",
)  # fmt: skip
"""Formats that claim much, and those of texts and folders."""

_PARTS = frozenset({"format", "table", "atif_export", "atif_turns", "claude_forest", "steps_typed"})
"""Modules of this folder that hold no format."""


class FormatTable:
    """All formats, in the order in which they are tried."""

    def __iter__(self) -> Iterator[Format]:
        yield from map(_load, _SPECIFIC)
        yield from _unlisted()
        yield from _outside()
        yield from map(_load, _GENERIC)

    def __getitem__(self, name: str) -> Format:
        """The format of a name.

        Raises:
            UsageError: no such format.
            BadPlugIn: another package offers a format that cannot be used.
        """
        for fmt in self:
            if fmt.name == name:
                return fmt
        raise UsageError(f"--from {name}: no such format; `xskill canon --list-formats` lists them")

    def of_values(self) -> Iterator[Format]:
        """Those that read JSON values, one by one or all of a file."""
        return (fmt for fmt in self if fmt.unit in ("record", "stream"))

    def of_text(self) -> Iterator[Format]:
        """Those that read lines of text."""
        return (fmt for fmt in self if fmt.unit == "text")

    def of_folders(self) -> Iterator[Format]:
        """Those that read a folder."""
        return (fmt for fmt in self if fmt.unit == "folder")

    def of_archives(self) -> Iterator[Format]:
        """Those that read a ZIP archive."""
        return (fmt for fmt in self if fmt.unit == "archive")


FORMATS = FormatTable()


@cache
def _load(reference: str) -> Format:
    module, _, name = reference.partition(":")
    fmt: Format = getattr(importlib.import_module(f"{__package__}.{module}"), name or "FORMAT")
    return fmt


@cache
def _unlisted() -> Sequence[Format]:
    """Formats of modules in this folder that the lists above do not name."""
    listed = {reference.partition(":")[0] for reference in (*_SPECIFIC, *_GENERIC)} | _PARTS
    try:
        names = sorted(name.removesuffix(".py") for name in os.listdir(os.path.dirname(__file__)))
    except OSError:  # the package lies in a ZIP file
        return ()
    modules = [name for name in names if name.isidentifier() and name not in listed and not name.startswith("_")]
    return [
        fmt
        for module in modules
        for fmt in vars(importlib.import_module(f"{__package__}.{module}")).values()
        if isinstance(fmt, Format)
    ]


@cache
def _outside() -> Sequence[Format]:
    """Formats of other packages.

    Raises:
        BadPlugIn: one that cannot be used, or whose name is taken.
    """
    if not any(may_offer(folder, GROUP) for folder in dict.fromkeys(sys.path)):
        return ()
    built_in = [*map(_load, _SPECIFIC), *_unlisted(), *map(_load, _GENERIC)]
    return ChoiceTable("--from", Format, built_in, group=GROUP).outside()
