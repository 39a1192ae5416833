"""The table of choices: its own entries, those of other packages, and what goes wrong with them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from xskill.choices import Choice, ChoiceTable
from xskill.errors import BadPlugIn, UsageError

GROUP = "xskill.test_fruits"


def table() -> ChoiceTable[Choice]:
    return ChoiceTable(
        "--fruit", Choice, [Choice("apple", "Round.", "math:pi"), Choice("pear", "Not.", 7)], group=GROUP
    )


def install(folder: Path, distribution: str, entries: str, module: str, text: str) -> None:
    """What ``pip install`` would leave behind."""
    (folder / f"{module}.py").write_text(text)
    info = folder / f"{distribution.replace('-', '_')}-1.0.dist-info"  # the name ends at the first "-"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{entries}\n")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_built_in_names_keep_their_order_and_load_when_used() -> None:
    fruits = table()
    assert fruits.names == ("apple", "pear")
    assert [entry.help for entry in fruits] == ["Round.", "Not."]
    assert fruits["apple"].load() == pytest.approx(3.14159, abs=1e-5)
    assert fruits["pear"].load() == 7


def test_an_unknown_name_lists_all_and_suggests_the_nearest(packages: Path) -> None:
    install(packages, "orchard", "plum = plums:never_loaded", "plums", "raise OSError('not imported to be listed')")
    with pytest.raises(UsageError, match=r"^--fruit appel: expected one of apple, pear, plum; did you mean apple\?$"):
        table()["appel"]
    with pytest.raises(UsageError, match=r"^--fruit xyz: expected one of apple, pear, plum$"):
        table()["xyz"]


def test_an_entry_of_another_package(packages: Path) -> None:
    text = "from xskill.choices import Choice\nCHERRY = Choice('cherry', 'Red.', 3)\n"
    install(packages, "orchard-kit", "cherry = cherries:CHERRY", "cherries", text)
    fruits = table()
    assert fruits.all_names() == ("apple", "pear", "cherry")
    assert fruits["cherry"].load() == 3
    assert fruits.outside() == (fruits["cherry"],)
    assert "cherry" not in fruits


def test_built_in_names_search_no_package() -> None:
    sys.modules.pop("importlib.metadata", None)
    assert table()["apple"].name == "apple"
    assert "importlib.metadata" not in sys.modules


@pytest.mark.parametrize(
    ("entries", "text", "error"),
    [
        ("fig = broken_a:FIG", "import no_such_module_at_all\n", "adds --fruit fig, but fails: ModuleNotFoundError"),
        ("fig = broken_a:FIG", "FIG = 3\n", "but broken_a:FIG is no xskill.choices.Choice of that name"),
        ("fig = broken_a:FIG", "OTHER = 3\n", "adds --fruit fig, but fails: AttributeError"),
        ("pear = broken_a:PEAR", "", "the installed package bad-kit adds --fruit pear, a name that xskill has itself"),
    ],
)
def test_a_package_that_cannot_be_used_is_named(
    packages: Path, monkeypatch: pytest.MonkeyPatch, entries: str, text: str, error: str
) -> None:
    monkeypatch.delitem(sys.modules, "broken_a", raising=False)
    install(packages, "bad-kit", entries, "broken_a", text)
    with pytest.raises(BadPlugIn, match=error) as caught:
        table()["fig"]
    assert "the installed package bad-kit" in str(caught.value)


def test_two_packages_that_add_the_same_name(packages: Path) -> None:
    for name in ("one", "two"):
        install(packages, f"kit-{name}", f"fig = figs_{name}:FIG", f"figs_{name}", "")
    with pytest.raises(BadPlugIn, match="the installed package kit-two and the installed package kit-one both add"):
        table()["fig"]


def test_a_row_is_frozen_and_takes_its_fields_only() -> None:
    class Sized(Choice):
        size: int = 1

    assert repr(Sized("a", "A.", size=2)) == "Sized(name='a', help='A.', implementation=None, size=2)"
    assert Sized("a", "A.").size == 1
    with pytest.raises(AttributeError, match="Sized is frozen"):
        Sized("a", "A.").size = 3  # type: ignore[misc]
    for values, named in ((("a",), {}), (("a", "b"), {"colour": 1}), (("a", "b", "c", 1, 2), {})):
        with pytest.raises(TypeError, match="Sized: lacks"):
            Sized(*values, **named)  # type: ignore[arg-type]
