"""A document held whole → its records: one JSON value, or several that follow one another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xskill.canon.formats.format import Format
from xskill.canon.reading.json_text import parse, parse_many
from xskill.errors import BadRecord

NumberedValue = tuple[int, Any, int]
"""Number of a record, the record, and how many NaN and infinities in it were read as null."""


def read_document(raw: bytes, fmt: Format) -> Iterator[NumberedValue | BadRecord]:
    """The records of a document, or of several that follow one another: ``(number, value, nulled numbers)``.

    A list that is not itself one record is a list of records.
    """
    number = 0
    for value, nulled in document_values(raw):
        if isinstance(value, BadRecord):
            yield value
            return
        if isinstance(value, list) and not (fmt.whole and fmt.detect(value)):
            for item in value:
                number += 1
                yield number, item, nulled
                nulled = 0
        else:
            number += 1
            yield number, value, nulled


def document_values(raw: bytes) -> Iterator[tuple[Any, int]]:
    """The JSON values of a document; a :class:`BadRecord` stands for the rest that cannot be parsed."""
    try:
        yield parse(raw)
        return
    except BadRecord as error:
        first = error
    count = 0
    try:
        for value, nulled in parse_many(raw):
            count += 1
            yield value, nulled
    except BadRecord as error:
        yield (error if count else first), 0
