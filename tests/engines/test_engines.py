"""Engines change the time and nothing else."""

from __future__ import annotations

import importlib.util
import os
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from tests.command import xskill
from tests.mine.corpora import random_episodes
from xskill.engines import Engine, open_engine
from xskill.errors import BadData
from xskill.records import Episode, encode

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")


@pytest.fixture(params=["local", pytest.param("ray", marks=needs_ray)])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with open_engine(request.param, 2) as opened:
        yield opened


def power(base: int, number: int) -> int:
    return int(base**number)


def refuse(number: int) -> int:
    if number == 3:
        raise BadData("three is too many")
    return number


def where(number: int) -> int:
    return os.getpid()


def test_results_come_by_number(engine: Engine) -> None:
    for n in (0, 1, 2, 5, 64):
        assert engine.map(partial(power, 3), n) == [3**number for number in range(n)]


def test_the_work_is_shared_out() -> None:
    with open_engine("local", 2) as engine:
        assert len(set(engine.map(where, 4)) - {os.getpid()}) == 2
    with open_engine("local", None) as engine:
        assert set(engine.map(where, 4)) == {os.getpid()}


def test_an_error_is_the_one_that_the_task_raised(engine: Engine) -> None:
    with pytest.raises(BadData) as raised:
        engine.map(refuse, 4)
    assert str(raised.value) == "three is too many"


@pytest.mark.parametrize("choice", [["-j2"], pytest.param(["--engine", "ray", "-j2"], marks=needs_ray)])
def test_mine_gives_the_same_bytes(choice: list[str], tmp_path: Path) -> None:
    episodes = tmp_path / "episodes.jsonl"
    records = [episode for seed in range(4) for episode in random_episodes(random.Random(seed))]
    lines = (encode(msgspec.structs.replace(episode, id=f"{n}")) for n, episode in enumerate(records))
    episodes.write_bytes(b"\n".join(lines))
    asked = ("mine", "-q", episodes, "--permutations", "5", "--bootstrap", "5")
    done = xskill(*asked, *choice)
    assert done.stdout == xskill(*asked).stdout
    assert done.stderr == b""
    sweep = tmp_path / "sweep.jsonl"
    xskill("mine", "-q", episodes, "--sweep", sweep)
    alone = sweep.read_bytes()
    xskill("mine", "-q", episodes, "--sweep", sweep, *choice)
    assert sweep.read_bytes() == alone


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_ray_is_an_extra(tmp_path: Path) -> None:
    episodes = tmp_path / "episodes.jsonl"
    episodes.write_bytes(encode(Episode(id="e", actions=["a", "b"], success=True)))
    done = xskill("mine", episodes, "--engine", "ray", "--bootstrap", "1", check=2)
    assert b"pip install 'xskill-toolkit[ray]'" in done.stderr
