"""What a secret looks like: kinds, the literals that must be there first, patterns, and what is none after all.

Patterns follow detect-secrets (Apache-2.0) and the vendors' descriptions of their keys. A key with a
prefix of its own needs no context; anything else needs a name (``password=``, ``api_key:``) that claims
it, and a value that is no code, path, stand-in, UUID or run of words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class SecretRule:
    """A match's group ``secret`` (or the whole match) is replaced, the rest of it stays."""

    kind: str
    anchors: tuple[str, ...]
    """Literals of which every match holds one; none = it is tried on every text."""
    source: str
    """Regular expression; compiled when its anchor first turns up. ``(?i)`` in front makes it case-blind."""
    accept: Callable[[str], bool] = bool
    """Is this value really one?"""
    before: int = 0
    """How many characters before its anchor a match can start."""

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.source)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)


_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PATH = re.compile(
    r"^(?:\.{0,2}/|[A-Za-z]:\\|https?:)|\.(?:py|js|ts|json|ya?ml|toml|txt|md|pem|key|crt|env|html?|sh|go|rs|java)$",
    re.I,
)
_CODE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_WORD = re.compile(r"[A-Za-z_:-]+|[\d.,:-]+|None|null|true|false", re.I)
_STAND_IN = re.compile(
    r"redacted|(?<![a-z])example|placeholder|change_?me|your[_-]|\*{3,}|x{4,}|\.{3}|\$\{|%\(|\{\{|<", re.I
)


def _stand_in(value: str) -> bool:
    """A variable, a template or a made-up value in the place of a secret."""
    return value[0] in "$%*~@{" or _STAND_IN.search(value) is not None


def machine_made(value: str) -> bool:
    """Letters mixed with digits within a piece, eight different characters; no UUID, path, code or words."""
    return (
        len(set(value)) >= 8
        and not _stand_in(value)
        and any(
            any(c.isdigit() for c in piece) and any(c.isalpha() for c in piece) for piece in re.split(r"[_.:-]", value)
        )
        and not _UUID.fullmatch(value)
        and not _PATH.search(value)
        and not _CODE.fullmatch(value)
    )


def _password(value: str) -> bool:
    """More than one word or number, and not a path, a piece of code or a stand-in."""
    return (
        len(set(value)) >= 4
        and not _stand_in(value)
        and not _WORD.fullmatch(value)
        and not _PATH.search(value)
        and not _CODE.fullmatch(value)
    )


def _key_body(value: str) -> bool:
    """Holds 16 letters and digits in a row, both of them: CSS classes like ``sk-estimator-id-1`` do not."""
    return any(machine_made(run) for run in re.findall(r"[A-Za-z0-9]{16,}", value))


def _header(value: str) -> bool:
    return not _stand_in(value) and any(char.isdigit() or char in "+/=" for char in value)


_VALUE = r"""[^\s"'`\\,;&<>(){}\[\]|]"""
_QUOTE = r"""\\*["']?"""
_ASSIGN = _QUOTE + r"\]?\s{0,4}(?:=>|:=|=|:)\s{0,4}(?:[rbfu]?\\*[\"'])?"
_NO_CODE_AFTER = r"(?![\w(\[{.])"
_PASSWORD_ANCHORS = ("assw", "PASS", "assphrase", "pwd", "PWD")
_PASSWORD_NAME = r"(?:password|passwd|passphrase|pwd)"
_KEY_NAME = (
    r"(?:(?:api|access|auth|secret|private|client|session|refresh|bearer|bot|account|encryption|signing|app|service)[_-]?"
    r"(?:api[_-]?|access[_-]?|auth[_-]?)?(?:key|token|secret)|(?<![A-Za-z_-])token|secret)"
)


def _prefixed(kind: str, prefixes: str, body: str, anchors: str = "", before: int = 0) -> SecretRule:
    """A rule for keys that begin with one of ``prefixes``; ``anchors`` when fewer literals tell them all."""
    names = prefixes.split()
    pattern = rf"(?<![A-Za-z0-9_])(?:{'|'.join(map(re.escape, names))}){body}(?!\w)"
    return SecretRule(kind, tuple((anchors or prefixes).split()), pattern, before=before)


FIELDS: list[tuple[str, str, Callable[[str], bool]]] = [
    ("password", rf"(?i){_PASSWORD_NAME}$", lambda value: not _stand_in(value)),
    ("secret", rf"(?i){_KEY_NAME}$", machine_made),
]
"""Kind, pattern of a JSON field's name that claims its whole value, and which values."""

_PREFIXED: list[SecretRule] = [
    _prefixed("aws-access-key", "AKIA ASIA", "[A-Z0-9]{16}"),
    _prefixed("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", "[A-Za-z0-9]{36,255}"),
    _prefixed("github-token", "github_pat_", r"\w{22,255}"),
    _prefixed("gitlab-token", "glpat-", r"[\w-]{20,}"),
    _prefixed("slack-token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe-", "[A-Za-z0-9-]{10,}", "xox"),
    _prefixed("google-api-key", "AIza", r"[\w-]{35}"),
    _prefixed("google-oauth-token", "ya29.", r"[\w-]{20,}"),
    _prefixed("google-oauth-secret", "GOCSPX-", r"[\w-]{20,}"),
    _prefixed(
        "stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", "[A-Za-z0-9]{16,}", "k_live_ k_test_ whsec_", 1
    ),
    _prefixed("huggingface-token", "hf_", "[A-Za-z0-9]{30,}"),
    _prefixed("npm-token", "npm_", "[A-Za-z0-9]{36}"),
    _prefixed("pypi-token", "pypi-AgE", r"[\w-]{50,}"),
    _prefixed("sendgrid-key", "SG.", r"[\w-]{16,32}\.[\w-]{16,64}"),
    _prefixed("groq-key", "gsk_", "[A-Za-z0-9]{40,}"),
    _prefixed("xai-key", "xai-", "[A-Za-z0-9]{40,}"),
    _prefixed("replicate-token", "r8_", "[A-Za-z0-9]{36,}"),
    _prefixed("perplexity-key", "pplx-", "[A-Za-z0-9]{32,}"),
    _prefixed("langsmith-key", "lsv2_", "(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    _prefixed("databricks-token", "dapi", r"[a-f0-9]{32}(?:-\d)?"),
    _prefixed("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", "[a-f0-9]{64}", "_v1_", 3),
    _prefixed("shopify-token", "shpat_", "[a-fA-F0-9]{32}"),
    _prefixed("vault-token", "hvs.", r"[\w-]{24,}"),
    _prefixed("linear-key", "lin_api_", "[A-Za-z0-9]{32,}"),
    _prefixed("grafana-token", "glsa_", "[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _prefixed("age-key", "AGE-SECRET-KEY-1", "[A-Z0-9]{50,60}", "-KEY", 10),
]

_CLAIMED: list[SecretRule] = [
    SecretRule(
        "private-key",
        ("-----BEGIN ",),
        r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[A-Za-z0-9+/=:,.\s-]|\\+[nr]){0,20000}?-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:[A-Za-z0-9+/=\s]|\\+[nr]){0,20000})",
    ),
    SecretRule("anthropic-key", ("sk-",), r"(?<![\w-])sk-ant-[\w-]{20,}"),
    SecretRule("openai-key", ("sk-",), r"(?<![\w-])sk-(?!ant-)(?:[a-z0-9]{2,10}-){0,2}[\w-]{20,}", _key_body),
    SecretRule("jwt", ("eyJ",), r"(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    SecretRule(
        "slack-webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/_-]{20,})",
    ),
    SecretRule("telegram-token", (":AA",), r"(?<!\d)\d{8,10}:AA[\w-]{33}(?!\w)", before=10),
    SecretRule("azure-storage-key", ("AccountKey=",), r"AccountKey=(?P<secret>[A-Za-z0-9+/]{40,}={0,2})"),
    SecretRule(
        "url-password",
        ("://",),
        r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@\"'<>\\?#]{0,100}:"
        r"(?P<secret>[^\s/@\"'<>\\]{1,200})@",
        lambda value: not _stand_in(value),
        before=22,
    ),
    SecretRule(
        "authorization",
        ("uthorization", "UTHORIZATION"),
        rf"(?i)authorization{_QUOTE}\s{{0,4}}[:=]\s{{0,4}}{_QUOTE}"
        r"(?:(?:bearer|basic|token|apikey|digest)\s{1,4})?(?P<secret>[\w.~+/=-]{12,})",
        _header,
        before=1,
    ),
    SecretRule(
        "bearer-token",
        ("earer ",),
        r"(?i)\bbearer\s{1,4}(?P<secret>[\w.~+/=-]{20,})",
        machine_made,
        before=1,
    ),
    SecretRule(  # in quotes any characters
        "password",
        _PASSWORD_ANCHORS,
        rf"(?i){_PASSWORD_NAME}{_ASSIGN}(?<=[\"'])(?P<secret>[^\"'\\\s]{{4,400}})(?=\\*[\"'])",
        _password,
        before=1,
    ),
    SecretRule(
        "password",
        _PASSWORD_ANCHORS,
        f"(?i){_PASSWORD_NAME}{_ASSIGN}(?P<secret>{_VALUE}{{6,400}}){_NO_CODE_AFTER}",
        _password,
        before=1,
    ),
    SecretRule(  # a quoted shell variable: it may be several words
        "password",
        ("PASS",),
        r"PASS(?:WORD|WD|PHRASE)?=\\*[\"'](?P<secret>[^\"'\\\n]{3,200})",
        lambda value: not _stand_in(value),
    ),
    SecretRule(
        "password",
        ("--pass", "sshpass"),
        rf"(?:--pass(?:word|wd|phrase)?\s{{1,4}}[\"']?|sshpass\s{{1,4}}-p\s{{0,4}}[\"']?)(?P<secret>{_VALUE}{{4,200}})",
        lambda value: not _stand_in(value) and value[0] not in "-/",
    ),
    SecretRule(
        "cookie",
        ("ookie:", 'ookie"', "ookie\\"),
        rf"(?i)cookie{_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE}[^=;\s\"']{{1,60}}=(?P<secret>[^\s;\"'\\]{{16,4000}})",
        machine_made,
        before=1,
    ),
    SecretRule(
        "basic-auth",
        ("curl ",),
        r"curl [^\n|;]{0,300}?(?<=\s)(?:-u|--user)[ =]?[\"']?[^\s:\"'$]{1,80}:(?P<secret>[^\s\"'$\\<>]{3,200})",
        lambda value: not _stand_in(value),
    ),
    SecretRule(
        "secret",
        tuple("ecret ECRET token Token TOKEN _key _KEY -key -KEY pikey piKey PIKEY ssKey eKey".split()),
        f"(?i){_KEY_NAME}{_ASSIGN}(?P<secret>{_VALUE}{{16,400}}){_NO_CODE_AFTER}",
        machine_made,
        before=24,
    ),
]

SECRETS: list[SecretRule] = [*_PREFIXED, *_CLAIMED]
"""Secrets, the specific kinds first; few enough anchors for a vectorised search (see ``Redactor``)."""


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
