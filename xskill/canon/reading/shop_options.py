"""WebShop: the options that a task asks for, by the names that its instruction or the item's page gives them.

An instruction of the data set names them (``with color: grey, and size: 8.5``). One in free words does not, but the
page lists the values of each option (``color [grey][white]``): of those that the agent clicked, one that the
instruction speaks of is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from xskill.canon.reading.episode import RawStep

_OPTION = re.compile(
    r"(?:\bwith|,? and) (?P<name>[a-z][a-z /]{0,40}?): (?P<value>.+?)"
    r"(?=,? and [a-z][a-z /]{0,40}?: |,? and price\b|[,.]?\s*$)"
)
_LONGEST = 2000
_CLICK = re.compile(r"\s*click\[(.+)\]\s*\Z", re.S)
_BRACKETS = re.compile(r"^[ \t]*([A-Za-z][\w /&-]{0,40}?):?[ \t]*((?:\[[^\[\]\n]+\]){1,})[ \t]*$", re.M)
_VALUE = re.compile(r"\[([^\[\]\n]+)\]")
_SEPARATOR = " [SEP] "
_NAMES = frozenset({
    "color", "size", "style", "flavor", "flavor name", "scent", "scent name", "fit type", "pattern name", "material",
    "item shape", "shape", "pattern", "length", "width", "count", "unit count", "edition", "configuration", "team name",
    "special size", "special size type", "size name", "color name", "style name", "material type",
})  # fmt: skip
"""Names of options on pages that part everything alike (``size [SEP] small [SEP] large``)."""
_AFTER = re.compile(r"price: |rating: |\$", re.I)


def goal_options(instruction: str | None) -> dict[str, str] | None:
    """Option name → value, None when the instruction names none.

    >>> goal_options("find me shoes with color: grey, and size: 8.5, and price lower than 30.00 dollars")
    {'color': 'grey', 'size': '8.5'}
    """
    if not instruction or ": " not in instruction or len(instruction) > _LONGEST:
        return None
    return {option["name"]: option["value"] for option in _OPTION.finditer(instruction)} or None


def asked_options(instruction: str | None, steps: Iterable[RawStep]) -> dict[str, str] | None:
    """The same, with those that the pages name and the instruction speaks of in free words."""
    options = goal_options(instruction) or {}
    if not instruction or len(instruction) > _LONGEST:
        return options or None
    asked = instruction.casefold()
    listed: dict[str, str] = {}
    for step in steps:
        click = _CLICK.match(step.action or "")
        value = click.group(1).casefold() if click else ""
        name = listed.get(value)
        if name is not None and name not in options and re.search(rf"(?<![\w-]){re.escape(value)}(?![\w-])", asked):
            options[name] = value
        if step.observation and "[" in step.observation:
            page = dict(_listed(step.observation))
            listed = page or listed
    return options or None


def _listed(page: str) -> Iterator[tuple[str, str]]:
    """Value → name of its option, of all that an item's page lists."""
    for option in _BRACKETS.finditer(page):
        for value in _VALUE.findall(option.group(2)):
            yield value.casefold(), option.group(1).strip().lower()
    if _SEPARATOR in page:
        name: str | None = None
        for part in page.split(_SEPARATOR):
            text = part.strip().casefold()
            if text in _NAMES:
                name = text
            elif _AFTER.match(text):
                return
            elif name is not None:
                yield text, name
