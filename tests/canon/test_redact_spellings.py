"""Redaction: the spellings in which a name and its secret meet in logs, and their innocent neighbours.

All secrets are made up.
"""

from __future__ import annotations

import base64
import hashlib
import uuid
from typing import Any

import orjson
import pytest

from xskill.canon.redact.redactor import Redactor

V = "q7Rt9ZkLm2Xw8VbN4cJpQ"
"""A key that only its context tells."""
P = "tr0ub4dor&x"[:9] + "-x"
"""A password, short and typed by hand."""
BASIC = base64.b64encode(b"ann:" + P.encode()).decode()
HEX = hashlib.sha256(b"x").hexdigest()

KEY_NAMES = [
    *("api_key", "API_KEY", "Api_Key", "apikey", "apiKey", "ApiKey", "APIKey", "APIKEY", "api-key", "API-Key"),
    *("x-api-key", "X-API-Key", "X-Api-Key", "X-API-KEY", "X_Api_Key", "OPENAI_API_KEY", "Ocp-Apim-Subscription-Key"),
    *("access_key", "AccessKey", "SharedAccessKey", "secretAccessKey", "SecretAccessKey", "AWS_SECRET_ACCESS_KEY"),
    *("secret_key", "SECRET_KEY", "secretKey", "client_secret", "clientSecret", "CLIENT-SECRET", "WEBHOOK_SECRET"),
    *("encryptionKey", "appKey", "authKey", "signing-key", "RAILS_MASTER_KEY", "private_key", "PrivateKey"),
    *("token", "Token", "TOKEN", "GITHUB_TOKEN", "DISCORD_TOKEN", "HF_TOKEN", "hf_token", "npm_config__authToken"),
    *("X-Vault-Token", "X-Auth-Token", "PRIVATE-TOKEN", "private_token", "access_token", "accessToken", "refreshToken"),
    *("id_token", "botToken", "sessionToken", "AWS_SESSION_TOKEN", "x-amz-security-token", "credential", "credentials"),
]
PASSWORD_NAMES = [
    *("password", "Password", "PASSWORD", "passwd", "PASSWD", "passphrase", "pwd", "Pwd", "MYSQL_PWD", "Passwort"),
    *("db_password", "DB_PASSWORD", "dbPassword", "DbPassword", "PGPASSWORD", "user-password", "SSH_PASSPHRASE"),
    *("DB_PASS", "SMTP_PASS"),
]
PASS_NAMES = ["db_pass", "smtp-pass", "dbpass"]
ASSIGNED = [
    *("{}={}", "{}: {}", "{} = {}", "{}='{}'", '{}: "{}"', '"{}": "{}"', '"{}":"{}"', "'{}': '{}'", "{} => {}"),
    *("export {}={}", "-e {}={} image", "-H '{}: {}'", "https://x.org/a?b=1&{}={}&c=2", "<{0}>{1}</{0}>"),
    *(
        '\\"{}\\": \\"{}\\"',
        '\\\\\\"{}\\\\\\":\\\\\\"{}\\\\\\"',
        "env['{}'] = '{}'",
        "  {}: {}\n",
        "{}: `{}`",
        "**{}:** {}",
    ),
    *(
        "- name: {}\n  value: {}",
        '{{"name": "{}", "value": "{}"}}',
        '<add key="{}" value="{}"/>',
        "&lt;{0}&gt;{1}&lt;/{0}&gt;",
    ),
]

COMMANDS = [
    f"mycli --token {V}",
    f"mycli --token={V}",
    f"mycli --token '{V}' --x",
    f'mycli --hf-token "{V}"',
    f"mycli --api-key {V}",
    f"mycli --api-key={V}",
    f"mycli -token {V}",
    f"mycli --client-secret {V}",
    f'["mycli", "--token", "{V}"]',
    f"['mycli', '--api-key', '{V}']",
    f"mycli --password {P}",
    f'["mycli", "--password", "{P}"]',
    f"mycli --db-password {P}",
    f"mycli --master-user-password '{P}'",
    f"keytool -storepass={P}",
    f"openssl rsa -passin pass:{P} -in k.pem",
    f"mysql -p{P} -u root",
    f"mysql -u root -p'{P}' db",
    f"/usr/bin/mysqldump -h db -p{P} x > out",
    f"redis-cli -h cache -a {P} ping",
    f"sshpass -p {P} ssh h",
    f"docker login -u ann -p {P} registry.org",
    f"az login --service-principal -u x -p {P}",
    f"wandb login {V}{V}",
    f"wandb login --relogin {V}",
    f"vault login token={V}",
    f"ngrok config add-authtoken {V}",
    f"curl -u ann:{P} https://x.org",
    f"curl -uann:{P} https://x.org",
    f"curl -s --user 'ann:{P}' https://x.org",
    f"curl --proxy-user ann:{P} https://x.org",
    f"curl -H 'Authorization: Bearer {V}' https://x.org",
    f"curl -H 'Authorization: Basic {BASIC}' https://x.org",
    f"curl -H 'authorization: token {V}'",
    f"curl -H 'Proxy-Authorization: Basic {BASIC}'",
    f"Authorization: Api-Key {V}",
    f"Authorization: Bot {V}",
    f"AUTHORIZATION: {V}",
    f"headers = {{'Authorization': 'Bearer {V}'}}",
    f"headers = [('Authorization', 'Basic {BASIC}')]",
    f"Set-Cookie: sid={V}; Path=/",
    f"set-cookie: theme=dark; lang=en; sid={V}; HttpOnly",
    f"COOKIE: sid={V}".replace("COOKIE", "Cookie"),
    f"curl --cookie 'a=b; sid={V}'",
    f"document.cookie = 'sid={V}'",
    f"machine github.com login ann password {P}",
    f"machine github.com\n  login ann\n  password {P}\n",
    f"printf 'machine h\\nlogin ann\\npassword {P}\\n' > ~/.netrc",
    f"db.x.org:5432:shop:ann:{P}",
    f"echo '*:5432:*:ann:{P}' >> ~/.pgpass",
    f"git clone https://{V}@github.com/x/y",
    f"git clone https://{V}:x-oauth-basic@github.com/x/y",
    f"git clone https://x-access-token:{V}@github.com/x/y",
    f"postgres://ann:{P}@db/x",
    f"mongodb+srv://ann:{P}@c.org/x?retryWrites=true",
    f"redis://:{P}@cache:6379/0",
    f"Server=db;User Id=sa;Password={P};Encrypt=yes",
    f"Data Source=db;UID=sa;Pwd={P}",
    f"jdbc:postgresql://db/x?user=ann&password={P}",
    f"Endpoint=sb://x.org/;SharedAccessKeyName=Root;SharedAccessKey={V}{V}=",
    f"https://x.blob.core.windows.net/c?sv=2022-11-02&se=2030-01-01&sr=c&sp=rl&sig={V}{V}%3D",
    f"https://x.org/c?sr=c&amp;sig={V}%2B{V}%3D",
    f"https://b.s3.amazonaws.com/k?X-Amz-Credential=AKI&X-Amz-Date=2&X-Amz-Signature={HEX}",
    f"Authorization: AWS4-HMAC-SHA256 Credential=AKI/2030/s3, SignedHeaders=host, Signature={HEX}",
    f"https://s.org/o?X-Goog-Credential=a%40b&X-Goog-Signature={HEX}{HEX}",
    f'{{"auths": {{"x.org": {{"auth": "{BASIC}"}}}}}}',
    f'setenv("API_KEY", "{V}")',
    f"headers.set('X-API-Key', '{V}')",
    f"Your API key is {V}",
    f"API key: {V}",
    f"the api key: `{V}`",
    f"Secret Access Key: {V}",
    f"the token is: {V}",
    f"my password is {P}",
    f"I changed the password to '{P}'",
    f"?user=ann&pass={P}",
    f"{{'user': 'ann', 'pass': '{P}'}}",
    f'{{"user": "ann", "pass": "{P}"}}',
    f"<pass>{P}</pass>",
    f"mycli --pass {P}",
    f'["mycli", "--pass", "{P}"]',
    "sk-lf-" + str(uuid.UUID(hex=HEX[:32])),
    "xapp-1-A0123456789-1234567890123-" + HEX,
    "xoxd-" + V + "%2F" + V,
]
"""Each holds one secret: V, P, BASIC, HEX or the whole."""

STRUCTURED: list[Any] = [
    {"headers": {"Authorization": f"Basic {BASIC}"}},
    {"headers": {"Authorization": "Bearer abc-def-ghi-jkl-mno-pqr"}},
    {"headers": {"authorization": [f"Bearer {V}"]}},
    {"Authorization": V},
    {"headers": {"Cookie": f"session={V}"}},
    {"headers": {"set-cookie": [f"a=b; sid={V}; Path=/"]}},
    {"headers": [["X-API-Key", V], ["Accept", "*/*"]]},
    {"headers": [["Authorization", f"Basic {BASIC}"]]},
    {"headers": [{"name": "Authorization", "value": f"Bearer {V}"}]},
    {"headers": [{"key": "X-Api-Key", "value": V}]},
    {"env": {"DB_PASS": P}},
    {"env": {"GITHUB_TOKEN": V}},
    {"env": [f"API_KEY={V}"]},
    {"env": [{"name": "API_KEY", "value": V}]},
    {"env": [{"Name": "DB_PASSWORD", "Value": "two words"}]},
    {"auth": {"username": "ann", "pass": P}},
    {"auths": {"x.org": {"auth": BASIC}}},
    {"credential": V},
    {"credentials": {"user": "ann", "pass": P}},
    {"passphrase": "many small words"},
    {"argv": ["mycli", "--token", V]},
    {"argv": ["mycli", "--password", "two words"]},
    {"argv": ["mycli", f"--api-key={V}"]},
    {"argv": ["curl", "-s", "-u", f"ann:{P}", "https://x.org"]},
    {"argv": ["mysql", "-u", "root", f"-p{P}"]},
    {"argv": ["redis-cli", "-a", P]},
    {"argv": ["sshpass", "-p", P, "ssh", "h"]},
    {"body": orjson.dumps({"client_secret": V}).decode()},
    {"body": orjson.dumps({"in": orjson.dumps({"access_token": V}).decode()}).decode()},
    {f"https://ann:{P}@x.org": {"a": 1}},
]

INNOCENT = [
    "the token: please",
    "max_tokens=100 --max-tokens 100 n_tokens=1234567890abcdef12",
    "mycli --token-limit 50 --token-file /run/secrets/token1 --tokenizer bert-base-uncased-v2-large",
    "next_page_token=CAUQAA1bcdefgh2345 nextToken: eyJ1bGxhYm9h1234567890 --starting-token abCDeFGhiJKlmnOPq1",
    'publicKeyToken="1fc8b3b9a1e18e3b" continuation_token: 7a8b9c0d1e2f3a4b5c6d',
    f"commit {hashlib.sha1(b'a').hexdigest()} sha256:{HEX} etag: {HEX}",
    f"request_id: {uuid.UUID(hex=HEX[:32])} token: {uuid.UUID(hex=HEX[:32])}",
    "password policy: 8 characters, password is required, password was changed, password to the account",
    "the password is SHA256-hashed and the password is base64-encoded",
    "author: Ann1, Authorization: see the API, authority=x, authorization, token, x-amz-content-sha256",
    'HEADERS = ("authorization", "x-amz-content-sha256", "x-amz-date")',
    "cookie banner, Cookie: accepted=yes; lang=en, cookie = baker(17)",
    "PASS: test_a2 PASS tests/test_x.py::test_pass[1-2] pass=12/15 pass: 83% n_pass = 12 first_pass: True",
    "PASS: 12 FAIL: 3 | test_pass: ok | passed=10 | low_pass = filter2(x) | bypass=12 | compass: 12N",
    '{"pass": "3/5", "passed": "12 of 13", "pass": true, "pass_rate": "0.75a"}',
    "pwd=/home/ann/x1 OLDPWD=/tmp/a1 PWD=/root/b2",
    "git@github.com:o/r.git ssh://0123456789abcdef0123@ssh.x.org https://github.com/o/r@v1.2.3-rc4",
    "docker run -p 8080:80 mysql:8 && ssh -l login -p 2222 h; mysql -P 3306 -p -h db",
    "docker run --name mysql -p3306:3306 -d mysql",
    "log in on the login page -please",
    "to login with password authentication, login and password must match",
    "x.py:5432:12: error; 127.0.0.1:5432:5432",
    "design=q7Rt9ZkLm2Xw8VbN4cJpQ config=q7Rt9ZkLm2Xw8VbN4cJpQ",
    '"auth": "required", "auth": {"user": 1}, "auth": "b2F1dGgy"',
    'credentials: "same-origin", credentials: "include", GOOGLE_APPLICATION_CREDENTIALS=/etc/key2.json',
    'encryptionKey: "arn:aws:kms:us-west-2:123456789012:alias/aws/s3"',
    '["MLKEM768X25519PrivateKey", "MLKEM768X25519PublicKey"]',
    "ArrowKey: left, primaryKey=order_2024_items_id, sortKey: user#2024#order_v2, KeyError: 'token1'",
    "token = get_token(16) + suffix; secret = load2(path); api_key = config.api_key_v2",
    "export TOKEN=$(cat token2) API_KEY=${KEY2:-none} GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
    "<token>word</token> <password>required</password> if (token>limit2) return a</b>",
    "--password $PW1 --token $TOKEN1 --api-key <your-api-key-1> --token ***",
]

INNOCENT_VALUES: list[Any] = [
    {"pwd": "/home/ann/project1", "cwd": "/tmp/a1"},
    {"pass": "3/5", "passed": "12 of 13", "result": {"pass": "true"}},
    {"authorization": "required", "auth": "OAuth2 in the header"},
    {"token": "word", "max_tokens": "1234567890abcdef", "nextToken": V},
    {"fields": ["username", "password", "last_login2", "token"]},
    {"pair": ["password", "user_id2"]},
    {"name": "token", "value": "please"},
    {"argv": ["pytest", "-k", "password", "--token-limit", "50"]},
    {"argv": ["git", "log", "-p", "src/a1.py"]},
    {"cookies": "accepted", "cookie": "theme=dark"},
    {"credentials": "same-origin"},
]


def left(text: str) -> str:
    """The text redacted, after making sure that what is left holds no secret either in JSON, in JSON in JSON and as a
    field, and that a line of JSON with it is looked at."""
    redactor = Redactor()
    once = redactor.text(text)
    for nested in (orjson.dumps({"a": text}).decode(), orjson.dumps({"b": orjson.dumps([text]).decode()}).decode()):
        assert redactor.suspects(nested.encode())
        kept = Redactor().text(nested)
        assert not any(secret in kept for secret in (V, P, BASIC, HEX)), kept
        orjson.loads(kept)
    assert redactor.value({"a": [text]}) == {"a": [once]}
    assert Redactor().text(once) == once
    return once


@pytest.mark.parametrize("name", KEY_NAMES)
def test_a_name_claims_a_key_in_all_spellings(name: str) -> None:
    for form in ASSIGNED:
        assert left(form.format(name, V)) == form.format(name, "<redacted:secret>"), form


@pytest.mark.parametrize("name", PASSWORD_NAMES)
def test_a_name_claims_a_password_in_all_spellings(name: str) -> None:
    for form in ASSIGNED:
        assert left(form.format(name, P)) == form.format(name, "<redacted:password>"), form


@pytest.mark.parametrize("name", PASS_NAMES)
def test_a_short_name_claims_a_password_beside_it(name: str) -> None:
    for form in ASSIGNED:
        if "&lt;" not in form and not form.startswith("- name"):
            assert left(form.format(name, P)) == form.format(name, "<redacted:password>"), form


@pytest.mark.parametrize("text", COMMANDS)
def test_options_headers_addresses_and_files(text: str) -> None:
    once = left(text)
    assert once.count("<redacted:") == 1
    assert not any(secret in once for secret in (V, P, BASIC, HEX))


@pytest.mark.parametrize("value", STRUCTURED, ids=lambda value: str(value)[:60])
def test_a_structured_value_is_redacted_like_its_text(value: Any) -> None:
    redactor = Redactor()
    once = redactor.value(value)
    shown = orjson.dumps(once).decode()
    assert shown.count("<redacted:") == sum(redactor.counts.values()) == 1
    assert not any(secret in shown for secret in (V, P, BASIC, "abc-def", "words"))
    assert redactor.suspects(orjson.dumps(value))
    assert redactor.value(once) == once


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_neighbours_stay(text: str) -> None:
    assert Redactor().text(text) == text
    assert Redactor().value({"a": [text, text]}) == {"a": [text, text]}


@pytest.mark.parametrize("value", INNOCENT_VALUES, ids=lambda value: str(value)[:60])
def test_innocent_values_stay(value: Any) -> None:
    assert Redactor().value(value) == value


def test_names_of_fields_are_redacted_and_stay_apart() -> None:
    key, other = "AKI" + "AQ7W3E5R8T2Y6U4I9", "AKI" + "AQ7W3E5R8T2Y6U4I8"
    value = {key: 1, other: {"a": 2}}
    assert Redactor().value(value) == {"<redacted:aws-access-key>": 1, "<redacted:aws-access-key> 1": {"a": 2}}


def test_names_are_told_whatever_their_number() -> None:
    redactor = Redactor()
    names = [f"n{number}_token" for number in range(10_050)]
    assert redactor.value(dict.fromkeys(names, V)) == dict.fromkeys(names, "<redacted:secret>")
    long = "a" * 300 + "_token"
    assert redactor.value({long: V}) == {long: "<redacted:secret>"}
