"""The page of ``rollout show`` in a real headless Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.rollouts.test_show import hostile, records, show

pytestmark = pytest.mark.browser


def opened(browser: Any, tmp_path: Path, data: list[Any]) -> None:
    page = tmp_path / "page.html"
    page.write_text(show(tmp_path, "--as", "html", data=data), encoding="utf-8")
    browser.get_log("browser")
    browser.get(page.as_uri())


def test_the_page_leads_from_a_decisive_turn_to_its_place_and_unfolds(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, records())
    first = browser.find_element("css selector", "ol a")
    assert first.text == "turn left"
    first.click()
    turn = browser.find_element("css selector", "details:target")
    assert turn.find_element("css selector", ".name").text == "turn left"
    assert not turn.find_element("css selector", "pre").is_displayed()
    turn.find_element("css selector", "summary").click()
    assert [text.text for text in turn.find_elements("css selector", "pre")] == ["turn left", "you see"]
    assert browser.get_log("browser") == []


def test_hostile_text_stays_text(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, hostile())
    count = "return document.querySelectorAll('script, img, iframe, object, a:not([href^=\"#\"])').length"
    assert browser.execute_script(count) == 0
    assert "<script>alert(1)</script>\\x1b[2J" in browser.find_element("css selector", "body").text
    assert browser.get_log("browser") == []
