"""The options that a shopping task asks for, read from its words; they decide the role of an option (WebShop)."""

from __future__ import annotations

import re

_OPTION = re.compile(
    r"(?:\bwith|,? and) (?P<name>[a-z][a-z /]{0,40}?): (?P<value>.+?)"
    r"(?=,? and [a-z][a-z /]{0,40}?: |,? and price\b|[,.]?\s*$)"
)
_LONGEST = 2000


def goal_options(instruction: str | None) -> dict[str, str] | None:
    """Option name → value, None when the instruction names none.

    >>> goal_options("find me shoes with color: grey, and size: 8.5, and price lower than 30.00 dollars")
    {'color': 'grey', 'size': '8.5'}
    """
    if not instruction or ": " not in instruction or len(instruction) > _LONGEST:
        return None
    return {option["name"]: option["value"] for option in _OPTION.finditer(instruction)} or None
