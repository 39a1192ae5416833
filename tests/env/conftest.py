"""Real simulators; a test that needs one is skipped without its package."""

from __future__ import annotations

import importlib.util
import shutil
import tarfile
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def scienceworld() -> None:
    """ScienceWorld and the Java that it runs on."""
    if importlib.util.find_spec("scienceworld") is None or shutil.which("java") is None:
        pytest.skip("needs the [scienceworld] extra, and Java")


@pytest.fixture(scope="session")
def textworld() -> None:
    """TextWorld."""
    if importlib.util.find_spec("textworld") is None:
        pytest.skip("needs the [textworld] extra")


@pytest.fixture(scope="session")
def alfworld_games(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with ALFWorld games; they stay outside the project."""
    if importlib.util.find_spec("alfworld") is None:
        pytest.skip("needs the [alfworld] extra")
    archive = shared / "envdata" / "alfworld_games.tar.xz"
    if not archive.is_file():
        pytest.skip("needs the games in the shared data folder")
    folder = tmp_path_factory.mktemp("games")
    with tarfile.open(archive) as games:
        games.extractall(folder, filter="data")
    return folder
