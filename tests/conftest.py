"""Fixtures that all areas share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real headless Chromium."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1440,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield made
    made.quit()
