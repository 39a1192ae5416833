"""Read any text command as verb, object and phrases, without knowing its environment."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from xskill.canon.actions.classes import token_part, without_id

_PARTICLES = frozenset(
    [
        "up",
        "down",
        "on",
        "off",
        "in",
        "out",
        "to",
        "at",
        "into",
        "over",
        "under",
        "around",
        "about",
        "back",
        "from",
        "away",
        "with",
        "for",
    ]
)
_PREPOSITIONS = re.compile(
    r"\s+(?:in/on|into|onto|inside|in|on|to|from|with|using|at|under|over|for|by|as|containing|and)\s+", re.I
)
FUNCTION_WORDS = _PARTICLES | {"in/on", "onto", "inside", "using", "by"}
"""Words that join the parts of a command rather than name a thing."""
_ARTICLE = re.compile(r"(?:the|a|an|some)\s+", re.I)
_WORD = re.compile(r"[^\W\d_](?:[\w'/&.-]|[^\x00-\xbf\u2000-\u206f\u3000-\u303f\uff00-\uff20])*$")
"""Letters of any script, with the marks that belong to them."""
_TRAILING_NUMBER = re.compile(r"([^\W\d_]+)\d+$")
_SENTENCE = re.compile(r"[\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]|[\u3040-\u30ff\u3400-\u9fff]{13}")
"""What no verb holds in a script that puts no spaces between words."""

MAX_OBJECT_WORDS = 4
"""A longer first phrase is free text, not the name of an object."""


@dataclass(frozen=True, slots=True)
class TextAction:
    """``verb`` with its particle, ``object`` without ids (empty for none), and the phrases as they stand."""

    verb: str
    object: str
    phrases: tuple[str, ...]


def read_text(text: str) -> TextAction:
    """Verb = first word and a particle after it; phrases = the rest, split at prepositions; object = the first phrase.

    A first phrase that is no short name (quoted, numeric, long) gives the object ``text``; a bare number is ``choose``.

    >>> read_text("pick up the mug 2 from countertop 1")
    TextAction(verb='pick up', object='mug', phrases=('mug 2', 'countertop 1'))
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    words = text.strip().split(None, 2)
    if not words:
        return TextAction("nothing", "", ())
    if re.fullmatch(r"[-+]?[\d.]+", words[0]) and len(words) == 1:
        return TextAction("choose", "", (words[0],))
    rest = text.strip()[len(words[0]) :].strip()
    number = _TRAILING_NUMBER.match(words[0])
    phrases: list[str] = []
    if number:
        phrases.append(words[0][len(number.group(1)) :])
        verb = number.group(1)
    else:
        verb = words[0].rstrip(":,.!?;\u3002\uff01\uff0c\uff1a\uff1b\uff1f")
    if not verb[:1].isalpha() or _SENTENCE.search(verb):
        return TextAction("say", "text", (text.strip(),))
    if len(words) > 1 and words[1].lower() in _PARTICLES:
        verb = f"{verb} {words[1]}"
        rest = rest[len(words[1]) :].strip()
    if not rest:
        return TextAction(token_part(verb), "", tuple(phrases))
    if rest[0] in "'\"`" or "\n" in rest:
        return TextAction(token_part(verb), "text", (*phrases, rest))
    pieces = [_ARTICLE.sub("", piece, count=1).strip() for piece in _PREPOSITIONS.split(rest)]
    pieces = [piece for piece in pieces if piece]
    if not pieces:
        return TextAction(token_part(verb), "text", (*phrases, rest))
    name = without_id(pieces[0]).split()
    if len(name) > MAX_OBJECT_WORDS or not all(_WORD.match(word) for word in name):
        return TextAction(token_part(verb), "text", (*phrases, rest))
    return TextAction(token_part(verb), token_part(" ".join(name)), (*phrases, *pieces))
