"""A bank is named by what its skills say."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from xskill.bank.skillbank import make_bank, read_bank, write_bank
from xskill.errors import BadData, BadRecord, NoInput
from xskill.records import BankHeader, Skill, encode
from xskill.streams.run import Run

A = Skill(id="a", tier="general", title="Look first", principle="Look before you move.")
B = Skill(id="b", tier="mistake", title="Loop", principle="Do not repeat a move that changed nothing.")


def test_version_is_the_hash_of_the_lines():
    expected = hashlib.sha256(encode(A) + b"\n" + encode(B) + b"\n").hexdigest()[:16]
    assert make_bank([A, B]).version == expected


def test_version_covers_skills_not_decisions():
    plain = make_bank([A, B])
    assert make_bank([A, B], parent="x", decision={"decision": "accept"}).version == plain.version
    assert make_bank([A]).version != plain.version
    assert make_bank([A, msgspec.structs.replace(B, principle="Stop.")]).version != plain.version


@pytest.mark.parametrize("name", ["bank.jsonl", "bank.jsonl.gz", "bank.parquet"])
def test_round_trip(tmp_path, name):
    bank = make_bank([A, B], parent="p", decision={"decision": "accept"}, extra={"note": 1})
    write_bank(str(tmp_path / name), bank)
    assert read_bank(str(tmp_path / name)) == bank


def test_empty_bank_is_a_header(tmp_path):
    write_bank(str(tmp_path / "b"), make_bank([]))
    assert read_bank(str(tmp_path / "b")) == make_bank([])
    (tmp_path / "nothing").write_text("")
    with pytest.raises(NoInput):
        read_bank(str(tmp_path / "nothing"))


def test_a_bank_changed_by_hand_is_a_new_version(tmp_path, capsys):
    file = tmp_path / "b"
    write_bank(str(file), make_bank([A, B]))
    file.write_text(file.read_text().replace("Look before", "Look well before"))
    found = read_bank(str(file), Run("test"))
    assert found.header == BankHeader(version=found.version, parent=make_bank([A, B]).version)
    assert found.version == make_bank(found.skills).version != make_bank([A, B]).version
    assert "changed by hand" in capsys.readouterr().err


def test_skills_without_a_header_are_a_bank(tmp_path):
    file = tmp_path / "b"
    file.write_bytes(encode(A) + b"\n")
    assert read_bank(str(file)) == make_bank([A])


def test_what_is_no_bank(tmp_path):
    with pytest.raises(BadData, match="two skills with the id 'a'"):
        make_bank([A, A])
    file = tmp_path / "b"
    write_bank(str(file), make_bank([A]))
    file.write_text(file.read_text() * 2)
    with pytest.raises(BadData):
        read_bank(str(file))
    file.write_text('{"schema":"xskill.skill/1","id":"a","tier":"great","title":"t","principle":"p"}\n')
    with pytest.raises(BadRecord, match="tier"):
        read_bank(str(file))
