"""Keys that have a shape of their own: they go wherever they stand.

Patterns follow detect-secrets (Apache-2.0) and the vendors' descriptions of their keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from xskill.canon.redact.values import key_body


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
    goes_on: str = ""
    """What stands at the anchor of every match: one look, before all places where a match could start are tried."""

    @property
    def pattern(self) -> re.Pattern[str]:
        return compiled(self.source)


@cache
def compiled(source: str) -> re.Pattern[str]:
    """A pattern, when it is first needed."""
    return re.compile(source)


def _prefixed(kind: str, prefixes: str, body: str, anchors: str = "", before: int = 0) -> SecretRule:
    """A rule for keys that begin with one of ``prefixes``; ``anchors`` when fewer literals tell them all."""
    names = prefixes.split()
    pattern = rf"(?<![A-Za-z0-9_])(?:{'|'.join(map(re.escape, names))}){body}(?!\w)"
    return SecretRule(kind, tuple((anchors or prefixes).split()), pattern, before=before)


KEYS: list[SecretRule] = [
    _prefixed("aws-access-key", "AKIA ASIA", "[A-Z0-9]{16}", "KIA ASIA", 1),
    _prefixed("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", "[A-Za-z0-9]{36,255}"),
    _prefixed("github-token", "github_pat_", r"\w{22,255}", "pat_", 7),
    _prefixed("gitlab-token", "glpat-", r"[\w-]{20,}"),
    _prefixed("slack-token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxc-", "[A-Za-z0-9-]{10,}", "xox"),
    _prefixed("slack-token", "xoxd-", "[A-Za-z0-9%-]{10,}", "xox"),
    _prefixed("slack-token", "xapp-", r"\d-[A-Z0-9]{9,12}-\d{10,14}-[a-f0-9]{40,70}"),
    _prefixed("google-api-key", "AIza", r"[\w-]{35}", "Iza", 1),
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
    _prefixed("perplexity-key", "pplx-", "[A-Za-z0-9]{32,}", "plx", 1),
    _prefixed("langsmith-key", "lsv2_", "(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    _prefixed("databricks-token", "dapi", r"[a-f0-9]{32}(?:-\d)?"),
    _prefixed("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", "[a-f0-9]{64}", "_v1_", 3),
    _prefixed("shopify-token", "shpat_", "[a-fA-F0-9]{32}", "pat_", 2),
    _prefixed("vault-token", "hvs.", r"[\w-]{24,}"),
    _prefixed("linear-key", "lin_api_", "[A-Za-z0-9]{32,}"),
    _prefixed("grafana-token", "glsa_", "[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _prefixed("age-key", "AGE-SECRET-KEY-1", "[A-Z0-9]{50,60}", "KEY", 11),
    SecretRule(
        "private-key",
        ("KEY",),
        r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[A-Za-z0-9+/=:,.\s]|-(?!----BEGIN)|\\+[nr]){0,20000}?"
        r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?:[A-Za-z0-9+/=\s]|\\+[nr]){0,20000})",
        before=58,
        goes_on="KEY(?: BLOCK)?-----",
    ),
    SecretRule("anthropic-key", ("sk-",), r"(?<![\w-])sk-ant-[\w-]{20,}"),
    SecretRule("langfuse-key", ("sk-",), r"(?<![\w-])sk-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?!\w)"),
    SecretRule("openai-key", ("sk-",), r"(?<![\w-])sk-(?!ant-)(?:[a-z0-9]{2,10}-){0,2}[\w-]{20,}", key_body),
    SecretRule("jwt", ("eyJ",), r"(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    SecretRule(
        "slack-webhook",
        ("hooks.slack",),
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/_-]{20,})",
    ),
    SecretRule("telegram-token", (":AA",), r"(?<!\d)\d{8,10}:AA[\w-]{33}(?!\w)", before=10),
]
"""The specific kinds first."""
