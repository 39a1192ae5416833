"""The same records through every container."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.test_records import trajectories
from xskill.records import (
    CONTRACTS,
    BankHeader,
    CreditsHeader,
    Episode,
    Node,
    Record,
    Skill,
    Slot,
    Tile,
    Trajectory,
    TreeHeader,
)
from xskill.streams.parquet.columns import schema_of
from xskill.streams.read import read_records
from xskill.streams.run import Run
from xskill.streams.write import open_output

CONTAINERS = ("x.jsonl", "x.jsonl.gz", "x.jsonl.zst", "x.parquet")


def write(path: Path, records: list[Record], header: Record | None = None) -> None:
    with open_output(str(path), kind=type(records[0])) as out:
        if header is not None:
            out.header(header)
        for record in records:
            out.write(record)


def read(path: Path, kind: type) -> tuple[list, list[Record]]:
    headers: list[Record] = []
    with Run("test", quiet=True) as run:
        return list(read_records([str(path)], kind, run, headers=headers)), headers


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(trajectories(), min_size=1, max_size=4))
def test_every_container_gives_the_records_back(records: list[Trajectory], tmp_path: Path) -> None:
    for name in CONTAINERS:
        write(tmp_path / name, records, CreditsHeader(method="grpo"))
        assert read(tmp_path / name, Trajectory) == (records, [CreditsHeader(method="grpo")])


@pytest.mark.parametrize("name", CONTAINERS)
def test_tree_bank_and_derived_columns_survive(name: str, tmp_path: Path) -> None:
    node = Node(
        id="S0",
        children=("a", "b"),
        depth=1,
        length=2,
        expansion=["a", "b"],
        count=3,
        task_types=["t", None],
        slots=[Slot(step=0, index=0, variable="a", values=[("cup", 2), ("pan", 1)])],
    )
    write(tmp_path / name, [node], TreeHeader(n_nodes=1, config={"eta": 0.5}))
    assert read(tmp_path / name, Node) == ([node], [TreeHeader(n_nodes=1, config={"eta": 0.5})])
    skill = Skill(id="s", tier="task", title="t", principle="p", steps=["one"], evidence={"nodes": ["S0"]})
    write(tmp_path / name, [skill], BankHeader(version="v"))
    assert read(tmp_path / name, Skill) == ([skill], [BankHeader(version="v")])
    credited = Trajectory(
        id="c", actions=["a"], values=[0.5], credits=[None], tiles=[Tile(start=0, node="S0", length=2)], skipped="x"
    )
    write(tmp_path / name, [credited])
    assert read(tmp_path / name, Trajectory) == ([credited], [])


def test_parquet_reads_only_the_columns_of_an_episode(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write(path, [Trajectory(id="a", actions=["x"], success=False, task="long text")])
    assert read(path, Episode)[0] == [Episode(id="a", actions=["x"], success=False)]


def test_parquet_columns_are_fixed_whatever_the_records_hold(tmp_path: Path) -> None:
    plain, full = tmp_path / "plain.parquet", tmp_path / "full.parquet"
    write(plain, [Trajectory(id="a", actions=[])])
    write(full, [Trajectory(id="a", actions=["x"], extra={"late": {}}, reward=1.0, values=[None])])
    assert pl.read_parquet_schema(plain) == pl.read_parquet_schema(full) == schema_of(Trajectory)


def test_unknown_parquet_columns_go_to_extra(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"id": ["a"], "actions": [["x"]], "temperature": [0.7]}).write_parquet(path)
    assert read(path, Trajectory)[0] == [Trajectory(id="a", actions=["x"], extra={"temperature": 0.7})]


@pytest.mark.parametrize("kind", CONTRACTS.values())
def test_every_contract_has_columns(kind: type[Record]) -> None:
    assert pl.DataFrame(schema=schema_of(kind)).columns[0] == "schema"
