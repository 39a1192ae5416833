"""Fixtures that all areas share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent


settings.register_profile("xskill", deadline=None)  # a busy machine is no failure
settings.load_profile("xskill")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with data that cannot be part of the project; a test that needs it is skipped without it."""
    folder = Path(os.environ.get("XSKILL_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip("needs the shared data folder (XSKILL_SHARED)")
    return folder


@pytest.fixture(scope="session")
def vectors() -> Path:
    """Worked numbers of the methods."""
    return ROOT / "tests" / "data" / "vectors"


@pytest.fixture(scope="session")
def sample_data() -> Path:
    """The logs that ship with the project."""
    return ROOT / "sample_data"
