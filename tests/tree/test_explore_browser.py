"""The explorer in a real headless Chromium."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.tree.pages import hostile, large, tilings
from xskill.records import Trajectory
from xskill.tree.explorer.page import page
from xskill.tree.xtree import XTree

pytestmark = pytest.mark.browser


class Page:
    """One opened file, and what a user does on it."""

    def __init__(self, browser: Any, folder: Path, tree: XTree, episodes: list[Trajectory]) -> None:
        path = folder / "page.html"
        path.write_text(page(tree, episodes), encoding="utf-8")
        self.browser = browser
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get("about:blank")
        browser.get(path.as_uri())

    def js(self, script: str) -> Any:
        return self.browser.execute_script(script)

    def type(self, name: str, text: str) -> None:
        self.js(f"const b = document.getElementById({name!r}); b.value = {text!r}; b.dispatchEvent(new Event('input'))")

    def click(self, selector: str) -> None:
        self.browser.find_element("css selector", selector).click()

    def wait_for(self, selector: str) -> None:
        """What comes with the next frame is there once this returns."""
        for _ in range(600):
            if self.browser.find_elements("css selector", selector):
                return
            time.sleep(0.1)
        raise AssertionError(f"{selector} never came")

    def text(self, selector: str) -> str:
        return str(self.browser.find_element("css selector", selector).text)

    def ids(self) -> list[str]:
        return list(self.js("return [...document.querySelectorAll('#rows tr[data-id]')].map((row) => row.dataset.id)"))

    def complaints(self) -> list[Any]:
        return list(self.browser.get_log("browser"))

    def keys(self, selector: str, *keys: str) -> None:
        self.browser.find_element("css selector", selector).send_keys(*keys)


@pytest.fixture(scope="module")
def big() -> tuple[XTree, list[Trajectory]]:
    return large()


def test_a_large_tree_is_fluent(browser: Any, tmp_path: Path, big: tuple[XTree, list[Trajectory]]) -> None:
    started = time.perf_counter()
    opened = Page(browser, tmp_path, *big)
    assert opened.text("#found").endswith("of 2,000 nodes")
    assert time.perf_counter() - started < 10
    timed = """
        const begun = performance.now();
        {}
        return performance.now() - begun;
    """
    search = "const s = document.getElementById('search'); s.value = 'verb3<'; s.dispatchEvent(new Event('input'));"
    assert opened.js(timed.format(search)) < 500
    opened.type("search", "")
    opened.click("#tab-episodes")
    slide = "const m = document.getElementById('merges'); m.value = 700; m.dispatchEvent(new Event('input'));"
    assert opened.js(timed.format(slide)) < 500
    assert opened.complaints() == []


def test_search_filters_and_sorting(browser: Any, tmp_path: Path, big: tuple[XTree, list[Trajectory]]) -> None:
    tree = big[0]
    opened = Page(browser, tmp_path, *big)
    by_weight = sorted(tree.nodes, key=lambda node: -(node.tiles_success or 0) * node.length)
    assert opened.ids()[:5] == [node.id for node in by_weight[:5]]
    assert len(opened.ids()) < 100  # only what is in sight is in the page
    opened.type("search", "VERB3< verb7<")
    holds = [n for n in tree.nodes if {"verb3", "verb7"} <= {t.split("<")[0] for t in n.expansion} and n.tiles_success]
    assert opened.text("#found").startswith(f"{len(holds):,} of")
    opened.click("#reset")
    opened.type("type", "find")
    opened.type("success", "60")
    opened.type("q", "0.5")
    opened.type("depth", "3")
    wanted = [
        node
        for node in tree.nodes
        if node.tiles_success
        and "find" in (node.task_types or [])
        and (node.episodes_success or 0) / (node.episodes or 1) >= 0.6
        and (node.q_value or 0) <= 0.5
        and node.depth >= 3
    ]
    assert abs(int(opened.text("#found").split(" ")[0].replace(",", "")) - len(wanted)) <= 1  # rates are rounded
    opened.click("#reset")
    opened.js("[...document.querySelectorAll('#head button')].find((b) => b.textContent.startsWith('length')).click()")
    assert opened.ids()[0] == next(node.id for node in tree.nodes if node.length == 8 and node.tiles_success)
    assert opened.complaints() == []


def test_the_card_shows_a_node_and_its_occurrences(
    browser: Any, tmp_path: Path, big: tuple[XTree, list[Trajectory]]
) -> None:
    opened = Page(browser, tmp_path, *big)
    chosen = opened.ids()[0]
    opened.click(f"#rows tr[data-id='{chosen}']")
    card = opened.text("#card")
    assert card.startswith(chosen)
    assert "apple 1 5, egg 2 3" in card
    assert opened.js("return location.hash") == f"#{chosen}"
    first = opened.js("return document.querySelector('#card .example li.in code')?.textContent")
    node = next(node for node in big[0].nodes if node.id == chosen)
    if first is not None:
        assert first.startswith(f"{node.expansion[0]} thing")
        opened.click("#card .example button")
        assert opened.js("return !document.getElementById('episodes').hidden")
        assert opened.js("return document.querySelectorAll('.episode.target').length") == 1


def test_the_slider_replays_the_merges(browser: Any, tmp_path: Path) -> None:
    tree, episodes = large(30, 6)
    opened = Page(browser, tmp_path, tree, episodes)
    opened.click("#tab-episodes")
    opened.wait_for("#streams .chip")
    steps = sum(len(episode.actions) for episode in episodes)
    for k, tiles in enumerate(tilings(tree, episodes)):
        opened.type("merges", str(k))
        assert f"{steps:,} steps, {tiles:,} tiles" in opened.text("#merged")
        time.sleep(0.01)
        assert opened.js("return document.querySelectorAll('#streams .chip').length") == tiles
    assert opened.js("return document.querySelectorAll('#streams > div').length") == 2  # failures beside successes
    opened.type("merges", "0")
    assert opened.js("return document.querySelectorAll('#streams button.chip').length") == 0
    assert opened.complaints() == []


def test_keyboard_and_theme(browser: Any, tmp_path: Path, big: tuple[XTree, list[Trajectory]]) -> None:
    opened = Page(browser, tmp_path, *big)
    down, up, escape = "\ue015", "\ue013", "\ue00c"
    opened.keys("#scroll", down, down, down, up)
    ids = opened.ids()
    assert opened.text("#card h2") == ids[1]
    opened.keys("body", "/")
    assert opened.js("return document.activeElement.id") == "search"
    opened.keys("#search", escape)
    theme = opened.js("return document.documentElement.dataset.theme")
    opened.keys("body", "d")
    assert opened.js("return document.documentElement.dataset.theme") != theme
    opened.keys("body", "2")
    assert opened.js("return document.getElementById('routines').hidden") is True
    opened.keys("body", "1")
    opened.keys("#icicle", "\ue014")
    assert opened.complaints() == []


def test_printing_shows_all_rows(browser: Any, tmp_path: Path) -> None:
    opened = Page(browser, tmp_path, *large(150, 4))
    before = len(opened.ids())
    opened.js("window.dispatchEvent(new Event('beforeprint'))")
    assert len(opened.ids()) == int(opened.text("#found").split(" ")[0]) > 2 * before
    opened.js("window.dispatchEvent(new Event('afterprint'))")
    assert len(opened.ids()) < 2 * before


def test_hostile_text_stays_inert_and_nothing_is_fetched(browser: Any, tmp_path: Path) -> None:
    opened = Page(browser, tmp_path, *hostile())
    opened.click("#rows tr[data-id]")
    opened.click("#tab-episodes")
    opened.wait_for("#streams .chip")
    opened.js("document.querySelector('#streams .chip').click()")
    assert "</script><script>" in opened.text("#card")
    assert opened.js("return window.pwned === undefined")
    assert opened.js("return document.querySelectorAll('img, script[src], iframe').length") == 0
    assert opened.complaints() == []
    asked = [
        entry["message"]
        for entry in browser.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert all("file:///" in message or "about:blank" in message for message in asked)
