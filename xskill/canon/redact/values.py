"""What a secret's value looks like: no code, path, stand-in, UUID or run of words."""

from __future__ import annotations

import re
from base64 import b64decode

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PATH = re.compile(
    r"^(?:\.{0,2}/|[A-Za-z]:\\|https?:|arn:)|\.(?:py|js|ts|json|ya?ml|toml|txt|md|pem|key|crt|env|html?|sh|go|rs|java)$",
    re.I,
)
_CODE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_WORD = re.compile(r"[A-Za-z_:-]+|[\d.,:-]+|None|null|true|false", re.I)
_STAND_IN = re.compile(
    r"redacted|(?<![a-z])example|placeholder|change_?me|your[_-]|\*{3,}|x{4,}|\.{3}|\$\{|%\(|\{\{|<", re.I
)
_OF_PASSWORDS = frozenset(
    "string str text varchar char bytes object any type value field word words input password passwd passphrase pwd "
    "pass secret required optional hidden none null nil undefined true false yes no bool boolean integer int number "
    "empty missing invalid incorrect correct wrong valid unknown default disabled enabled prompt ask env environment "
    "vault keyring file stdin masked encrypted hashed hash plain plaintext omitted removed censored deleted unset "
    "new old current confirm reset forgot change update username user email token key login "
    "passwort contraseña description label name title error message test_password".split()
)
"""Words beside ``password`` that say what kind of thing it is, or that there is none."""
_METHOD = re.compile(r"sha|md5|base|utf|[bs]crypt|argon|pbkdf|aes|rsa|oauth|\d+[- ]?(?:char|digit|letter)", re.I)


def stand_in(value: str) -> bool:
    """A variable, a template or a made-up value in the place of a secret."""
    return value[0] in "$%*~@{" or _STAND_IN.search(value) is not None


def literal(value: str) -> bool:
    """Anything but a stand-in: what only a password can be in the place of."""
    return not stand_in(value)


def no_path(value: str) -> bool:
    """Neither a stand-in nor a path: of ``pwd``, which is also the working folder."""
    return not stand_in(value) and not _PATH.search(value)


def argument(value: str) -> bool:
    """A literal that is no further option, path, port or pair of ports (``docker run -p 80:80``)."""
    return literal(value) and value[0] not in "-/" and not re.fullmatch(r"\d{1,5}(?::\d{1,5})?", value)


def machine_made(value: str) -> bool:
    """Letters mixed with digits within a piece, eight different characters; no UUID, path, code or words."""
    return (
        len(set(value)) >= 8
        and not stand_in(value)
        and _mixed(value)
        and not _UUID.fullmatch(value)
        and not _PATH.search(value)
        and not _CODE.fullmatch(value)
    )


def _mixed(value: str) -> bool:
    return any(
        any(c.isdigit() for c in piece) and any(c.isalpha() for c in piece) for piece in re.split(r"[_.:-]", value)
    )


def password(value: str) -> bool:
    """More than one word or number, and not a path, a piece of code or a stand-in."""
    return (
        len(set(value)) >= 4
        and not stand_in(value)
        and not _WORD.fullmatch(value)
        and not _PATH.search(value)
        and not _CODE.fullmatch(value)
    )


def worded_password(value: str) -> bool:
    """What stands where only a value can, and may be a word: no stand-in, path, code, or talk of one."""
    return (
        len(set(value)) >= 3
        and literal(value)
        and not _PATH.search(value)
        and not _CODE.fullmatch(value)
        and value.strip(".:-_").lower() not in _OF_PASSWORDS
        and not re.fullmatch(r"[\d.,:-]+", value)
    )


def lettered_password(value: str) -> bool:
    """A password with a letter, and a digit or a sign: ``pass=12/15`` and ``pass: all`` count tests."""
    return password(value) and any(c.isalpha() for c in value) and re.search(r"[^A-Za-z_./:-]", value) is not None


def told_password(value: str) -> bool:
    """A password in a sentence (``the password is …``): letters mixed with digits, and no name of a method."""
    return len(value) >= 8 and password(value) and _mixed(value) and not _METHOD.match(value)


def key_body(value: str) -> bool:
    """Holds 16 letters and digits in a row, both of them: CSS classes like ``sk-estimator-id-1`` do not."""
    return any(machine_made(run) for run in re.findall(r"[A-Za-z0-9]{16,}", value))


def told_key(value: str) -> bool:
    """A key in a sentence or a list, and not the name of another: ``["P384PrivateKey", "P384PublicKey"]``."""
    return key_body(value) and re.search(r"(?:key|token|secret)s?$", value, re.I) is None


def credentials(value: str) -> bool:
    """What an ``Authorization`` header holds."""
    return not stand_in(value) and any(char.isdigit() or char in "+/=" for char in value)


def scheme_and_credentials(value: str) -> bool:
    """The whole of an ``Authorization`` header: a scheme, and credentials that are not made up."""
    scheme, _, rest = value.partition(" ")
    return (
        re.fullmatch(r"[A-Za-z][\w-]{2,20}", scheme) is not None
        and len(rest) >= 6
        and " " not in rest
        and literal(rest)
    )


def user_and_password(value: str) -> bool:
    """Base64 of ``user:password``."""
    try:
        text = b64decode(value, validate=True).decode()
    except ValueError:
        return False
    return text.isprintable() and ":" in text[1:-1]
