"""The command with its output as text; any exit code is expected."""

from __future__ import annotations

from tests import command

within = command.in_text(command.within)
