"""Optional packages of the shipped workers, imported when a worker starts."""

from __future__ import annotations

import importlib
from typing import Any

from xskill.errors import UsageError


def need(module: str, extra: str) -> Any:
    """Import a module of an extra.

    Raises:
        UsageError: it is not installed; the text says what to install.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(f"this worker needs {module!r} ({error}): pip install 'xskill-toolkit[{extra}]'") from None
