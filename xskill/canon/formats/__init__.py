"""The formats, in the order in which they are tried: the most specific key first."""

from __future__ import annotations

from xskill.canon.formats import (
    anthropic_log,
    atif,
    atif_viewer,
    claude_code,
    codex,
    copilot,
    gemini,
    harbor,
    inspect_log,
    mini_swe,
    openai_chat,
    openai_chat_log,
    openai_responses_log,
    openhands,
    own,
    react_text,
    steps,
    swe_agent,
    tau2_bench,
    tau_bench,
    tau_few_shot,
    terminal_bench,
)
from xskill.canon.formats.table import Format

FORMATS: tuple[Format, ...] = (
    own.FORMAT,
    atif.FORMAT,
    mini_swe.FORMAT,
    tau2_bench.FORMAT,
    inspect_log.FORMAT,
    inspect_log.ARCHIVE,
    swe_agent.FORMAT,
    terminal_bench.FORMAT,
    tau_bench.FORMAT,
    tau_few_shot.FORMAT,
    openhands.FORMAT,
    claude_code.FORMAT,
    codex.FORMAT,
    gemini.FORMAT,
    copilot.FORMAT,
    anthropic_log.FORMAT,
    openai_responses_log.FORMAT,
    openai_chat_log.FORMAT,
    atif_viewer.FORMAT,
    steps.FORMAT,
    openai_chat.FORMAT,
    react_text.FORMAT,
    harbor.FORMAT,
    terminal_bench.FOLDER,
    claude_code.FOLDER,
)
"""Every format; detection takes the first whose test holds."""

BY_NAME: dict[str, Format] = {fmt.name: fmt for fmt in FORMATS}
