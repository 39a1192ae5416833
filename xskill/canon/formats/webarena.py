"""WebArena ``render_N.html``: one page block for every step, with what the agent saw and did.

The verdict is in the run's ``merge_log.txt``. The role of the element that an action names is read from the
accessibility tree of the page on which it was taken.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.episode import Place, RawEpisode, RawStep

_CONFIG = re.compile(r"<pre>(.*?)</pre>", re.S)
_KEY = re.compile(r"^(task_id|intent|start_url|sites): (.*)$", re.M)
_URL = re.compile(r"<h3 class='url'>.*?URL: ([^<]*)</a>", re.S)
_SEEN = re.compile(r"<div class='state_obv'><pre>(.*?)</pre>", re.S)
_BEFORE = re.compile(r"<div class='prev_action'[^>]*>(.*?)</div>", re.S)
_SAID = re.compile(r"<div class='raw_parsed_prediction'[^>]*><pre>(.*?)</pre>", re.S)
_DID = re.compile(r"<div class='parsed_action'[^>]*><pre>(.*?)</pre>", re.S)
_WHERE = re.compile(r"^(.*?) where \[\d+\] is (\w+)", re.S)
_ELEMENT = re.compile(r"^\w+ ?\[(\d+)\]")
_STOP = re.compile(r"stop ?\[(.*)\]\s*$", re.S)
_SITES = re.compile(r"'([^']+)'")


def detect(head: Any) -> bool:
    return isinstance(head, str) and "class='state_obv'" in head and ("parsed_action" in head or "prev_action" in head)


def read(lines: Iterable[str], place: Place) -> Iterator[RawEpisode]:
    text = "\n".join(lines)
    config = _CONFIG.search(text)
    settings = dict(_KEY.findall(html.unescape(config.group(1)))) if config else {}
    pages = text.split("<h2>New Page</h2>")[1:]
    steps: list[RawStep] = []
    seen: str | None = None
    first: str | None = None
    for page in pages:
        url, observed = _group(_URL, page), _group(_SEEN, page)
        before = _group(_BEFORE, page)
        if before and before != "None" and len(steps) == 0:
            steps.append(_step(before, None, None))  # the page on which it was taken is not in the file
        if steps and steps[-1].observation is None:
            steps[-1].observation = observed
        seen, first = observed, first if first is not None or steps else observed
        did = _group(_DID, page)
        if did:
            steps.append(_step(did, seen, _group(_SAID, page)))
            if url:
                steps[-1].extra = {"url": url}
    last = steps[-1].action if steps else None
    stop = _STOP.match(last or "")
    sites = _SITES.findall(settings.get("sites", ""))
    yield RawEpisode(
        steps=steps,
        id=place.stem,
        question_id=settings.get("task_id"),
        task=settings.get("intent"),
        env="webarena",
        initial_observation=first,
        claim=stop.group(1) if stop else None,
        extra={key: value for key, value in (("sites", sites), ("start_url", settings.get("start_url"))) if value},
        record=1,
    )


def _step(action: str, page: str | None, said: str | None) -> RawStep:
    """An action; its element's role comes from the page, or from the description that follows it."""
    described = _WHERE.match(action)
    if described:
        return RawStep(described.group(1).strip(), role=described.group(2), thought=said)
    element = _ELEMENT.match(action)
    role = None
    if element and page:
        node = re.search(rf"\[{element.group(1)}\] (\w+)", page)
        role = node.group(1) if node else None
    return RawStep(action.strip(), role=role, thought=said)


def _group(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return html.unescape(match.group(1)).strip() if match else None


FORMAT = Format("webarena", "WebArena render_N.html pages", "text", detect, read)
