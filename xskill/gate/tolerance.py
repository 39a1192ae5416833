"""When two measured values are equal."""

from __future__ import annotations

TOLERANCE = 1e-12
"""Numbers closer than this are equal, everywhere in the gate."""
