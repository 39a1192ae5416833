"""What personal data looks like."""

from __future__ import annotations

from xskill.canon.redact_keys import SecretRule


def _luhn(value: str) -> bool:
    """Does the check digit of a card number hold?"""
    digits = [int(char) for char in reversed(value) if char.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


PERSONAL: list[SecretRule] = [
    SecretRule(
        "email",
        ("@",),
        r"(?<![A-Za-z0-9._%+-])(?!git@)[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])",
        before=64,
    ),
    SecretRule(
        "user",
        ("/home/", "/Users/", "\\Users\\"),
        r"(?:/home/|/Users/|\\{1,4}Users\\{1,4})(?!Shared\b|Public\b)(?P<secret>[^/\\\s\"'`:;,<>()|*$]{1,64})",
    ),
    SecretRule(
        "phone",
        (),
        r"(?<![\w.+/=-])(?:\+[1-9]\d{0,2}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]?\d{2,4}){1,4}"
        r"|\(\d{3}\) ?\d{3}[ .-]\d{4}|\d{3}[-.]\d{3}[-.]\d{4})(?![\w/=-]|\.\d)",
        lambda value: 8 <= sum(char.isdigit() for char in value) <= 15,
    ),
    SecretRule("card", (), r"(?<![\w.-])[3-6]\d{3}([ -])\d{4}\1\d{4}\1\d{4}(?![\w.-])", _luhn),
]
"""Personal data: e-mail addresses, names of home folders, phone and card numbers."""
