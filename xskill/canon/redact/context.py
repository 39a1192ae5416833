"""What only its context tells to be a secret: the name (``password=``, ``api_key:``) that claims it.

The value must be no code, path, stand-in, UUID or run of words. A name and its value meet in many spellings: in the
environment, options, headers, JSON within JSON, YAML, tags, addresses.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from xskill.canon.redact.keys import KEYS, SecretRule
from xskill.canon.redact.values import (
    argument,
    credentials,
    key_body,
    lettered_password,
    literal,
    machine_made,
    no_path,
    password,
    scheme_and_credentials,
    told_key,
    told_password,
    user_and_password,
    worded_password,
)

_VALUE = r"""[^\s"'`\\,;&<>(){}\[\]|]"""
_WORD = r"""[^\s"'`\\$<>|;&]"""
_QUOTE = r"""\\{0,15}["']?"""
_OPEN = r"""(?:[rbfu]?\\{0,15}["'`])?"""
_ASSIGN = _QUOTE + r"(?:\*\*)?\]?\s{0,4}(?:=>|:=|=|:)(?:\*\*)?\s{0,4}" + _OPEN
_IN_TAG = _QUOTE + r"\s?(?:>|&gt;|\\{1,8}u003e)(?=[^<>&\s\\]{4,400}(?:<|&lt;|\\{1,8}u003c)\\{0,15}/)"
_IN_PAIR = _QUOTE + r"\s{0,4},?(?:\\{1,8}n)?\s{0,20}\\{0,15}[\"']?value" + _ASSIGN
_CLAIM = f"(?:{_ASSIGN}|{_IN_TAG}|{_IN_PAIR})"
"""Between a name and its value: ``name = "``, ``<name>``, ``name: NAME, value: ``."""
_NEXT = r"(?:[ \t]{1,4}\\{0,15}[\"']?|\\{0,15}[\"'](?:[ \t]{1,4}|,\s{0,20})\\{0,15}[\"'])"
"""Between a name and its value when the one is the next word or item of a list after the other."""
_IS = rf"(?:{_NEXT}|\s{{1,4}}(?:is|was):?\s{{1,4}}[\"'`]?)"
_SESSION = r"""(?=[^\s;"'\\<]{0,500}\d)(?=[^\s;"'\\<]{0,500}[A-Za-z])[^\s;"'\\<]{16}"""
"""How the value of a cookie starts that tells who one is."""
_SCHEME = r"(?:bearer|basic|token|api-?key|digest|bot|ssws|jwt|oauth|genie-?key|key)\s{1,4}"
_NO_CODE_AFTER = r"(?![\w(\[{.])"
_PASSWORD_ANCHORS = ("assw", "PASS", "assphrase", "pwd", "Pwd", "PWD")
_PASSWORD_NAME = r"(?:passwor[dt]|passwd|passphrase|pwd)"
_PASSWORD_END = r"(?i)(?:asswor[dt]|asswd|pass(?:wor[dt]|wd|phrase)|assphrase|pwd)"
_PASS_ANCHORS = ("PASS", "pass=", "pass:", 'pass"', "pass\\", "pass'", "pass ", "pass>", 'Pass"', "Pass\\")
_PASS_NAME = (
    r"(?:(?<=[A-Za-z0-9][_-])(?i:pass)|(?<=[a-z])Pass|(?:db|sql|user|root|admin|smtp|mail|ftp|rpc|store|key)pass)"
)
_NO_SECRET_TOKEN = "".join(
    f"(?<!{word}{join})"
    for word in "page next forward backward start starting sync cursor resume continuation publickey".split()
    for join in ("", "[_-]")
)
"""Tokens that say where to read on, or whose key was used."""
_KEY_NAME = (
    r"(?:(?:api|access|auth|secret|private|client|session|refresh|bearer|bot|account|encryption|signing|app|service"
    r"|subscription|master|admin|deploy)[ _-]?(?:api[_-]?|access[ _-]?|auth[_-]?)?(?:key|token|secret)"
    rf"|{_NO_SECRET_TOKEN}token|secret|(?<!amz-)(?<!goog-)(?<!SHA256 )credentials?)"
)
_KEY_ANCHORS = (
    *("ecret", "ECRET", "token", "Token", "TOKEN", "redential"),
    *("_key", "-key", "pikey", "PI key", "pi key", "Key", "KEY"),
)
_KEY_END = r"(?i)(?:ecret(?:[ _-]?key)?|token|[_-]key|pikey|pi key|key|redentials?)"


FIELDS: list[tuple[str, str, Callable[[str], bool]]] = [
    ("password", r"(?i)(?:passwor[dt]|passwd|passphrase)$", literal),
    ("password", r"(?i)pwd$", no_path),
    ("authorization", r"(?i)authorization$", scheme_and_credentials),
    ("secret", rf"(?i){_KEY_NAME}$", machine_made),
]
"""Kind, pattern of a JSON field's name that claims its whole value, and which values."""

_CLAIMED: list[SecretRule] = [
    SecretRule("azure-storage-key", ("Key",), r"AccountKey=(?P<secret>[A-Za-z0-9+/]{40,}={0,2})", before=7),
    SecretRule(
        "azure-signature", ("sig=",), r"(?<![A-Za-z])sig=(?P<secret>(?:[\w+/-]|%[0-9A-Fa-f]{2}){20,200})", machine_made
    ),
    SecretRule(  # of a signed address (AWS, Google) or header
        "signature", ("redential",), r"redential=[^\"'<>\n]{1,1000}?Signature=(?P<secret>[0-9a-f]{64,1024})"
    ),
    SecretRule(
        "url-password",
        ("://",),
        r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@\"'<>\\?#]{0,100}:"
        r"(?P<secret>(?!x-oauth-basic)[^\s/@\"'<>\\]{1,200})@",
        literal,
        before=22,
    ),
    SecretRule(  # a token in the place of the user
        "url-password", ("://",), r"(?<!ssh)://(?P<secret>[\w.~%+-]{16,255})(?::[^\s/@\"'<>\\]{0,200})?@", key_body
    ),
    SecretRule(
        "authorization",
        ("uthorization", "UTHORIZATION"),
        rf"(?i)authorization{_QUOTE}(?:\s{{0,4}}[:=]\s{{0,4}}{_QUOTE}(?:{_SCHEME})?|\s{{0,4}},?\s{{0,4}}{_QUOTE}{_SCHEME})"
        r"(?!AWS4-HMAC)(?P<secret>[\w.~+/=-]{12,})",
        credentials,
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
        rf"(?i){_PASSWORD_NAME}{_CLAIM}(?<=[\"'])(?P<secret>[^\"'\\\s]{{4,400}})(?=\\*[\"'])",
        password,
        before=1,
        goes_on=_PASSWORD_END + _CLAIM,
    ),
    SecretRule(
        "password",
        _PASSWORD_ANCHORS,
        f"(?i){_PASSWORD_NAME}{_CLAIM}(?P<secret>{_VALUE}{{6,400}}){_NO_CODE_AFTER}",
        password,
        before=1,
        goes_on=_PASSWORD_END + _CLAIM,
    ),
    SecretRule(  # a shell variable, or a parameter of an address: a plain word is its value
        "password",
        ("PASS", "PWD", "assw", "pwd"),
        r"(?:(?<![a-z])(?:[A-Z0-9]{1,40}_){0,8}(?:PASS(?:WORD|WD|PHRASE)?|PWD)"
        r"|[?&;](?:[a-z]{1,20}_)?(?:passw(?:or)?d|pwd))="
        rf"(?P<secret>{_VALUE}{{4,200}}){_NO_CODE_AFTER}",
        worded_password,
        before=200,
    ),
    SecretRule(  # of an object: name and value are both in quotes
        "password",
        ("assw", "PASS", "assphrase"),
        r"""(?P<quote>\\{0,15}["'])[\w.-]{0,60}?(?i:passwor[dt]|passwd|passphrase)(?P=quote)\s{0,4}(?::|=>)\s{0,4}(?P=quote)"""
        r"""(?P<secret>[^"'\\\s]{4,200})(?P=quote)""",
        worded_password,
        before=70,
    ),
    SecretRule(  # a quoted shell variable: it may be several words
        "password",
        ("PASS",),
        r"PASS(?:WORD|WD|PHRASE)?=\\*[\"'](?P<secret>[^\"'\\\n]{3,200})",
        literal,
    ),
    SecretRule(
        "password",
        _PASS_ANCHORS,
        f"(?:{_PASS_NAME}{_CLAIM}|(?<![A-Za-z0-9_-])(?i:pass)(?:(?=\\\\*[\"']){_ASSIGN}|={_OPEN}|{_IN_TAG}))"
        f"(?P<secret>{_VALUE}{{6,400}}){_NO_CODE_AFTER}",
        lettered_password,
        before=5,
        goes_on=f"(?i)pass{_CLAIM}",
    ),
    SecretRule(
        "password",
        ("assw", "assphrase", "pass ", 'pass"', "pass\\"),
        rf"(?:--pass(?:word|wd|phrase)?{_NEXT}|sshpass\s{{1,4}}-p\s{{0,4}}{_QUOTE})(?P<secret>{_VALUE}{{4,200}})",
        lambda value: literal(value) and value[0] not in "-/",
        before=3,
    ),
    SecretRule(  # --db-password …
        "password", ("assw", "assphrase"), rf"-pass(?:word|wd|phrase){_NEXT}(?P<secret>{_VALUE}{{6,200}})", password, 2
    ),
    SecretRule(
        "password",
        ("assw", "assphrase"),
        rf"(?i){_PASSWORD_NAME}\s{{1,4}}(?:is|was|to):?\s{{1,4}}[\"'`]?(?P<secret>{_VALUE}{{8,100}})",
        told_password,
        before=1,
        goes_on=_PASSWORD_END + r"\s{1,4}(?:is|was|to)\b",
    ),
    SecretRule("password", ("pass:",), rf"-pass(?:in|out)?\s{{1,4}}pass:(?P<secret>{_WORD}{{3,200}})", literal, 13),
    SecretRule(
        "password",
        ("mysql",),
        r"mysql(?:dump|admin|import|check|show|sh|pump|slap)?\s[^\n|;&]{0,200}?(?<=\s)-p(?!ass|ort|rot)\\*[\"']?"
        rf"(?P<secret>{_WORD}{{4,100}})",
        lambda value: literal(value) and not re.fullmatch(r"\d+:\d+", value),
    ),
    SecretRule(
        "password",
        ("redis-cli",),
        rf"redis-cli\s[^\n|;&]{{0,200}}?(?<=\s)-a\s{{1,4}}\\*[\"']?(?P<secret>{_WORD}{{4,200}})",
        argument,
    ),
    SecretRule(
        "password",
        ("login ",),
        rf"login\s[^\n|;&]{{0,200}}?(?<=\s)-p[ =]{{1,4}}\\*[\"']?(?P<secret>{_WORD}{{4,200}})",
        argument,
    ),
    SecretRule(  # .netrc
        "password",
        ("login ",),
        r"login\s{1,4}[^\s\\]{1,100}(?:\s|\\+n){1,20}password\s{1,4}"
        rf"(?P<secret>{_VALUE}{{4,200}})",
        password,
    ),
    SecretRule(  # .pgpass
        "password",
        (":5432:",),
        r"(?<![\w.*-])[\w.*-]{1,100}:5432:[\w.*-]{1,63}:[\w.*-]{1,63}:(?P<secret>[^\s:\"'\\]{3,200})(?![:\w])",
        literal,
        before=100,
        goes_on=r":5432:[\w.*-]{1,63}:[\w.*-]{1,63}:",
    ),
    SecretRule(
        "secret", ("login ",), rf"login (?:--?[\w-]{{1,20}} )?(?:token=)?(?P<secret>{_VALUE}{{16,400}})", key_body
    ),
    SecretRule(
        "cookie",
        ("ookie",),
        rf"(?i)cookies?{_QUOTE}(?:\s{{0,4}}[:=]\s{{0,4}}|\s){_QUOTE}"
        rf"(?:[^=;\s\"'\\]{{1,60}}=(?!{_SESSION})[^;\s\"'\\]{{0,4000}};\s?){{0,40}}"
        r"[^=;\s\"'\\]{1,60}=(?P<secret>[^\s;\"'\\]{16,4000})",
        machine_made,
        before=1,
    ),
    SecretRule(
        "basic-auth",
        ("curl ",),
        rf"curl [^\n|;]{{0,300}}?(?<=\s)(?:-u|-U|--user|--proxy-user)[ =]?{_QUOTE}[^\s:\"'$\\]{{1,80}}:"
        r"(?P<secret>[^\s\"'$\\<>]{3,200})",
        literal,
    ),
    SecretRule(  # of Docker and npm
        "basic-auth",
        ('auth"', "auth\\"),
        rf"(?<![A-Za-z])auth{_QUOTE}\s{{0,4}}[:=]\s{{0,4}}{_QUOTE}(?P<secret>[A-Za-z0-9+/]{{6,400}}={{0,2}})",
        user_and_password,
    ),
    SecretRule(
        "secret",
        _KEY_ANCHORS,
        f"(?i){_KEY_NAME}{_CLAIM}(?P<secret>{_VALUE}{{16,400}}){_NO_CODE_AFTER}",
        machine_made,
        before=24,
        goes_on=_KEY_END + _CLAIM,
    ),
    SecretRule(  # --token …
        "secret",
        _KEY_ANCHORS,
        rf"(?i)(?<![\w-])--?[\w-]{{0,40}}?{_KEY_NAME}{_NEXT}(?P<secret>{_VALUE}{{16,400}}){_NO_CODE_AFTER}",
        machine_made,
        before=66,
        goes_on=f"{_KEY_END}{_NEXT}{_VALUE}{{16}}",
    ),
    SecretRule(  # the token is …
        "secret",
        _KEY_ANCHORS,
        f"(?i){_KEY_NAME}{_IS}(?P<secret>{_VALUE}{{16,400}}){_NO_CODE_AFTER}",
        told_key,
        before=24,
        goes_on=f"{_KEY_END}{_IS}{_VALUE}{{16}}",
    ),
]

SECRETS: list[SecretRule] = [*KEYS, *_CLAIMED]
"""Secrets, the specific kinds first; few enough anchors for a vectorised search (see ``Redactor``)."""
