"""Numbers of any length keep their digits, verbs of any script are verbs, passwords may be plain words."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.canon.logs import canon, write_lines
from xskill.canon.actions.parse_text import read_text
from xskill.canon.reading.json_text import loads

BIG = [2**63, 2**64, 2**64 + 1, -(2**63) - 1, 340282366920938463463374607431768211455, 10**30]


@pytest.mark.parametrize("number", BIG)
@pytest.mark.parametrize("room", range(5))
def test_integers_keep_their_digits(number: int, room: int) -> None:
    value = {"a" * room: [number, 1.5, "ä"]}
    assert loads(msgspec.json.encode(value)) == value


@pytest.mark.parametrize("ending", [".jsonl", ".json"])
def test_of_ids_and_arguments(tmp_path: Path, ending: str) -> None:
    call = {"name": "get", "arguments": '{"id": 18446744073709551617, "of": {"n": [18446744073709551618]}}'}
    answer = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": call}]}
    record = {"id": 2**64 + 1, "question_id": 2**70 + 3, "messages": [{"role": "user", "content": "?"}, answer]}
    path = write_lines(tmp_path / f"log{ending}", record, *[record][: ending == ".jsonl"])
    episode = canon(path)[0]
    assert episode["id"] == "18446744073709551617"
    assert episode["question_id"] == str(2**70 + 3)
    assert episode["args"] == [["18446744073709551617", '{"n":[18446744073709551618]}']]
    assert "18446744073709551617" in episode["steps"][0]["action"]


@pytest.mark.parametrize(
    ("text", "verb", "what"),
    [
        ("открыть дверь", "открыть", "дверь"),
        ("öffne Schrank 2", "öffne", "schrank"),
        ("o\u0308ffne Schrank", "öffne", "schrank"),
        ("打开 冰箱", "打开", "冰箱"),
        ("等待", "等待", ""),
        ("ανοίγω πόρτα", "ανοίγω", "πόρτα"),
        ("दरवाज़ा खोलो", "दरवाज़ा", "खोलो"),
        ("take café", "take", "café"),
        ("我先看看冰箱里面有什么东西，然后再决定", "say", "text"),
        ("→ next", "say", "text"),
    ],
)
def test_verbs_of_any_script(text: str, verb: str, what: str) -> None:
    read = read_text(text)
    assert (read.verb, read.object) == (msgspec.json.decode(msgspec.json.encode(verb)), what)


W = "correcthorse"


@pytest.mark.parametrize(
    "text",
    [
        f"DB_PASSWORD={W}",
        f"export PGPASSWORD={W} && psql",
        f"MYSQL_PWD={W} mysql -u root",
        f"docker run -e POSTGRES_PASSWORD={W} db",
        f'{{"password": "{W}", "user": "olga"}}',
        f"{{'db_password': '{W}'}}",
        f'{{\\"password\\": \\"{W}\\"}}',
        f"https://x.org/login?user=olga&password={W}",
    ],
)
def test_a_password_may_be_a_word(tmp_path: Path, text: str) -> None:
    (episode,) = canon(write_lines(tmp_path / "x.jsonl", {"steps": [{"action": "look", "observation": text}]}))
    assert W not in str(episode)
    assert "<redacted:password>" in episode["steps"][0]["observation"]


@pytest.mark.parametrize(
    "text",
    [
        "the password field is empty",
        '{"password": "string", "type": "object"}',
        '{"password": "required"}',
        "PWD=/home/olga",
        "OLDPWD=/tmp DB_PASSWORD=$SECRET",
        "password=password",
        "PASSWORD=your_password_here",
        "PASS=12 FAIL=3",
        "TestPASS=true",
    ],
)
def test_talk_of_passwords_stays(tmp_path: Path, text: str) -> None:
    (episode,) = canon(write_lines(tmp_path / "x.jsonl", {"steps": [{"action": "look", "observation": text}]}))
    assert episode["steps"][0]["observation"] == text
