"""The formats, in the order in which they are tried: the most specific key first."""

from __future__ import annotations

from xskill.canon.formats import openai_chat, own, react_text, steps, swe_agent, tau_bench
from xskill.canon.formats.table import Format

FORMATS: tuple[Format, ...] = (
    own.FORMAT,
    swe_agent.FORMAT,
    tau_bench.FORMAT,
    steps.FORMAT,
    openai_chat.FORMAT,
    react_text.FORMAT,
)
"""Every format; detection takes the first whose test holds."""

BY_NAME: dict[str, Format] = {fmt.name: fmt for fmt in FORMATS}
