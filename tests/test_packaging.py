"""What is shipped installs and runs where nothing of ours is: the wheel in an empty environment, the sdist alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("build")
pytest.importorskip("hatchling")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def run(*words: str | Path, cwd: Path, **more: str) -> str:
    """Run a command outside the project; gives what it printed."""
    done = subprocess.run(list(map(str, words)), cwd=cwd, env={**ENVIRONMENT, **more}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def test_the_wheel_holds_all_that_the_package_reads(built: tuple[Path, Path]) -> None:
    names = set(zipfile.ZipFile(built[1]).namelist())
    there = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "xskill").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert there <= names
    assert "xskill/py.typed" in names
    assert {Path(name).suffix for name in names} >= {".toml", ".js", ".css"}
    assert {name.split("/")[0].split("-")[0] for name in names} == {"xskill", "xskill_toolkit"}


def test_the_wheel_runs_in_an_empty_environment(built: tuple[Path, Path], tmp_path: Path, sample_data: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python, xskill = tmp_path / "venv" / "bin" / "python", tmp_path / "venv" / "bin" / "xskill"
    run(python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", built[1], cwd=tmp_path)
    pipeline = f"{xskill} canon {sample_data}/rollouts.jsonl.gz | {xskill} mine | {xskill} tree show --top 3"
    assert "X-Tree" in run("bash", "-c", f"set -o pipefail; {pipeline}", cwd=tmp_path)
    code = (
        "from xskill import canon, mine, tree\n"
        f"routines = mine.mine(canon.read({str(sample_data / 'rollouts.jsonl.gz')!r}))\n"
        "tree.save(routines, 'tree.jsonl')\n"
        "print(tree.__file__)"
    )
    assert run(python, "-c", code, cwd=tmp_path).startswith(str(tmp_path))
    run(xskill, "tree", "explore", "tree.jsonl", "-o", "tree.html", cwd=tmp_path)
    assert (tmp_path / "tree.html").stat().st_size > 10_000


def test_the_sdist_holds_tests_and_docs_and_passes_a_test_by_itself(built: tuple[Path, Path], tmp_path: Path) -> None:
    with tarfile.open(built[0]) as archive:
        archive.extractall(tmp_path, filter="data")
    (root,) = tmp_path.iterdir()
    for name in ("tests/test_records.py", "docs/index.md", "sample_data/README.md", "LICENSE", "Makefile", "README.md"):
        assert (root / name).is_file(), name
    where = run(sys.executable, "-c", "import xskill; print(xskill.__file__)", cwd=root, PYTHONPATH=str(root))
    assert where.startswith(str(root))
    words = ["-m", "pytest", "tests/test_records.py", "tests/test_face.py", "-q"]
    run(sys.executable, *words, cwd=root, PYTHONPATH=str(root))
