"""Damaged logs: whatever is in them, there are trajectories and bad records, never a crash."""

from __future__ import annotations

import copy
import functools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.canon.logs import LOGS
from tests.canon.test_atif_round_trip import FULL, atif
from xskill.canon.accounts.totals import Totals
from xskill.canon.assemble import Assembler, to_json
from xskill.canon.canon_options import CanonOptions
from xskill.canon.detect import detect_value, open_log
from xskill.canon.formats.format import Format
from xskill.canon.formats.table import FORMATS
from xskill.canon.pipeline import open_items
from xskill.canon.reading.episode import Place
from xskill.canon.reading.json_text import parse
from xskill.errors import BadRecord, XskillError
from xskill.records import Trajectory, decode
from xskill.streams.source import open_inputs

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(
        ["assistant", "user", "tool_use", '{"a": 1}', '{"a": "\\ud83d"}', "[NaN]", "Action: look", "a(b"]
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
SLOW_TO_BEGIN = settings(suppress_health_check=list(HealthCheck), deadline=None)


@functools.cache
def _real() -> list[tuple[Format, list[Any]]]:
    """Records of the test data, by file: those small enough to be changed a thousand times."""
    found = []
    for path in sorted(LOGS.rglob("*.*")):
        if not path.is_file():
            continue
        try:
            for source in open_inputs([str(path)], lambda _: None):
                if source.container == "text":
                    found.append(_values(source))
        except XskillError:
            continue
    return [(fmt, values) for fmt, values in found if values and fmt.unit in ("record", "stream")]


def _values(source: Any) -> tuple[Format, list[Any]]:
    log = open_log(source)
    if log.mode == "whole":
        return log.format, []
    if log.mode == "values":
        read = [record for record in log.values if not isinstance(record, BadRecord)]
        values = [value for _, value, _ in read]
    else:
        values = [parse(raw)[0] for _, raw in log.lines if raw.strip() and raw[-1:] in b"]}"][:30]
    return log.format, [value for value in values if len(json.dumps(value)) < 30_000][:30]


def _read(fmt: Format, values: list[Any]) -> None:
    """Read without the net that turns surprises into bad records."""
    assembler = Assembler(CanonOptions(profile="generic"))
    place = Place("stem", "file")
    given_: Any = values[0] if fmt.unit == "record" else iter(enumerate(values, 1))
    try:
        for episode in fmt.read(given_, place):
            if isinstance(episode, Trajectory) or assembler.complete(episode, fmt.name, place):
                decode(to_json(episode), Trajectory)
    except BadRecord:
        pass


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """The value with up to three of its parts gone, doubled, or replaced."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        inner = value
        parent: Any = None
        key: Any = None
        while isinstance(inner, (dict, list)) and inner and (parent is None or draw(st.integers(0, 5))):
            parent = inner
            key = (
                draw(st.sampled_from(sorted(inner)))
                if isinstance(inner, dict)
                else draw(st.integers(0, len(inner) - 1))
            )
            inner = inner[key]
        if parent is None:
            return draw(JSON)
        how = draw(st.integers(0, 4))
        if how == 0:
            del parent[key]
        elif how == 1:
            parent[key] = [inner]
        elif how == 2 and isinstance(inner, str):
            parent[key] = inner[: draw(st.integers(0, len(inner)))]
        else:
            parent[key] = draw(JSON)
    return parse(json.dumps(value).encode())[0]


@SLOW_TO_BEGIN
@given(st.data())
def test_changed_records(data: st.DataObject) -> None:
    fmt, values = data.draw(st.sampled_from(_real()))
    if fmt.unit == "record":
        values = [data.draw(st.sampled_from(values).flatmap(changed))]
    else:
        values = list(values)
        for index in data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=3)):
            values[index] = data.draw(changed(values[index]))
    detect_value(values[0])
    _read(fmt, values)


@SLOW_TO_BEGIN
@given(changed(atif(FULL)))
def test_changed_documents_of_our_own(document: Any) -> None:
    _read(FORMATS["atif"], [document])


@SLOW_TO_BEGIN
@given(st.data())
def test_any_json_for_any_reader(data: st.DataObject) -> None:
    fmt = data.draw(
        st.sampled_from([fmt for fmt in FORMATS if fmt.unit in ("record", "stream") and fmt.name != "xskill"])
    )
    values = data.draw(st.lists(JSON, min_size=1, max_size=3))
    detect_value(values[0])
    _read(fmt, values)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("noise") / "log"


NOISE = [b'"', b"{", b"]", b",", b"NaN", b"1e999", b"\\ud800", b"\\", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\n", b"\r\n",
         b"[" * 2000, b"9" * 400, b'"steps":', b"Action: ", b"> ", b"\xe2\x80\xa8"]  # fmt: skip


@SLOW_TO_BEGIN
@given(st.data())
def test_noise_in_files(noisy: Path, data: st.DataObject) -> None:
    """Also of text logs, archives and compressed files, read as their own format or as another one."""
    path = data.draw(st.sampled_from([path for path in sorted(LOGS.rglob("*.*")) if 0 < path.stat().st_size < 40_000]))
    raw = bytearray(path.read_bytes()) if path.is_file() else bytearray(b"[]")
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw)))
        raw[start : start + data.draw(st.sampled_from([0, 1, 20, 2000]))] = data.draw(st.sampled_from(NOISE))
    noisy.write_bytes(raw)
    name = data.draw(st.none() | st.sampled_from([fmt.name for fmt in FORMATS]))
    try:
        with open_items([str(noisy)], CanonOptions(name), Totals(), note=lambda _: None) as items:
            for item in items:
                if isinstance(item, bytes):
                    decode(item, Trajectory)
                elif isinstance(item, BadRecord):
                    assert not item.reason.startswith("not what"), item
    except XskillError:
        pass


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("mlflow", {"info": {}}),
        ("langfuse", {"trace": []}),
        ("tau2-bench", []),
        ("inspect", [1]),
        ("agentgym", "x"),
        ("scienceworld-history", {"0": None}),
        ("swe-agent", {"attempts": [1]}),
        ("webvoyager", [{"role": {}, "content": 1}]),
    ],
)
def test_what_once_went_wrong(name: str, record: Any) -> None:
    _read(FORMATS[name], [record])


@pytest.mark.parametrize("record", [{"type": [], "payload": {}}, {"kind": {}, "source": 1}, {"type": {}, "tokens": 1}])
def test_detection_of_kinds_that_are_no_names(record: Any) -> None:
    assert detect_value(record) is None
