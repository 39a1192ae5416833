"""``--success-if``: a small expression over a trajectory's numbers, parsed here and never evaluated as code.

Grammar::

    or    := and ("or" and)*          comparison := value (op value)?
    and   := not ("and" not)*         value      := number | "text" | true | false | null | name.path | ( or )
    not   := "not" not | comparison   op         := >= > <= < == = !=

A comparison with a missing value is unknown (None), and unknown stays unknown: ``not None`` is None,
``None and False`` is False, ``None or True`` is True.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from xskill.errors import UsageError

Lookup = Callable[[str], Any]
Test = Callable[[Lookup], Any]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<text>\"[^\"]*\"|'[^']*')"
    r"|(?P<op>>=|<=|==|!=|=|>|<|\(|\))|(?P<word>[A-Za-z_][\w.\-]*))"
)
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt,
    "==": operator.eq, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None}
_MAX_DEPTH = 50


def compile_test(text: str) -> Callable[[Lookup], bool | None]:
    """Compile an expression; the result maps a lookup (name → value or None) to true, false or unknown.

    Raises:
        UsageError: the expression does not parse.
    """
    parser = _Parser(text)
    test = parser.either(0)
    if parser.peek() is not None:
        raise parser.error()

    def run(lookup: Lookup) -> bool | None:
        value = test(lookup)
        return None if value is None else bool(value)

    return run


def names_in(text: str) -> list[str]:
    """The fields that an expression names, sorted; every one is looked up in each run."""
    names: set[str] = set()
    compile_test(text)(names.add)
    return sorted(names)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            if match is None:
                raise UsageError(f"--success-if {text!r}: cannot read it from {text[position:].strip()!r} on")
            assert match.lastgroup is not None
            self.tokens.append((match.lastgroup, match.group(match.lastgroup)))
            position = match.end()
        self.at = 0

    def peek(self) -> str | None:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else None

    def error(self) -> UsageError:
        token = self.peek()
        where = f"unexpected {token!r}" if token is not None else "it ends too early"
        return UsageError(f"--success-if {self.text!r}: {where}; an example: reward >= 0.5 and not extra.timeout")

    def word(self, *words: str) -> str | None:
        token = self.peek()
        if token is not None and token.lower() in words and self.tokens[self.at][0] in ("word", "op"):
            self.at += 1
            return token
        return None

    def either(self, depth: int) -> Test:
        if depth > _MAX_DEPTH:
            raise UsageError(f"--success-if {self.text[:60]!r}…: nested too deeply")
        terms = [self.both(depth)]
        while self.word("or"):
            terms.append(self.both(depth))
        return terms[0] if len(terms) == 1 else lambda get: _either([term(get) for term in terms])

    def both(self, depth: int) -> Test:
        terms = [self.negation(depth)]
        while self.word("and"):
            terms.append(self.negation(depth))
        return terms[0] if len(terms) == 1 else lambda get: _both([term(get) for term in terms])

    def negation(self, depth: int) -> Test:
        odd = False
        while self.word("not"):
            odd = not odd
        test = self.comparison(depth)
        if not odd:
            return test
        return lambda get: None if (value := test(get)) is None else not value

    def comparison(self, depth: int) -> Test:
        left = self.value(depth)
        sign = self.word(*_OPERATORS)
        if sign is None:
            return left
        right = self.value(depth)
        compare = _OPERATORS[sign]
        return lambda get: _compare(compare, left(get), right(get))

    def value(self, depth: int) -> Test:
        if self.at >= len(self.tokens):
            raise self.error()
        kind, text = self.tokens[self.at]
        if self.word("("):
            inner = self.either(depth + 1)
            if not self.word(")"):
                raise self.error()
            return inner
        if kind == "op" or text.lower() in ("and", "or", "not"):
            raise self.error()
        self.at += 1
        if kind == "number":
            number = float(text)
            return lambda get: number
        if kind == "text":
            return lambda get: text[1:-1]
        if text.lower() in _CONSTANTS:
            constant = _CONSTANTS[text.lower()]
            return lambda get: constant
        return lambda get: get(text)


def _compare(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    try:
        return bool(compare(left, right))
    except TypeError:
        return None


def _either(values: list[Any]) -> bool | None:
    if any(values):
        return True
    return None if None in values else False


def _both(values: list[Any]) -> bool | None:
    if any(value is not None and not value for value in values):
        return False
    return None if None in values else True
