"""Write the generated parts of the documentation again: ``python docs/generate.py``.

Generated is what stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``: the references, out of the code.
With ``--check`` nothing is written, and the exit code is 1 when a page differs. With ``--outputs`` the commands of all
console blocks are run on ``sample_data``, and what they print is written below them.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS), str(ROOT)]

from generator import commands, contracts, formats, python  # noqa: E402
from generator.markdown import fill  # noqa: E402
from generator.transcripts import Session, exchanges, renewed  # noqa: E402

PARTS: dict[str, Callable[[], str]] = {
    "commands": commands.reference,
    "command table": commands.summary,
    "contracts": contracts.reference,
    "contract table": contracts.overview,
    "formats": formats.overview,
    "format notes": formats.notes,
    "python": python.reference,
}


def pages() -> list[Path]:
    """Every page."""
    return sorted(DOCS.rglob("*.md"))


def generated(page: str) -> str:
    """The page with its generated parts as the code gives them now."""
    return fill(page, lambda name: PARTS[name]())


def main() -> int:
    """Entry of the script; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when something would change")
    parser.add_argument(
        "--outputs", action="store_true", help="run the commands of the pages, and renew what they print"
    )
    parser.add_argument("pages", nargs="*", type=Path, help="only these pages")
    given = parser.parse_args()
    stale = 0
    for path in given.pages or pages():
        old = path.read_text()
        new = generated(old)
        if given.outputs and any(exchanges(new)):
            with tempfile.TemporaryDirectory() as folder:
                new = renewed(new, Session(Path(folder), ROOT))
        if new == old:
            continue
        stale += 1
        if given.check:
            sys.stdout.writelines(
                difflib.unified_diff(old.splitlines(True), new.splitlines(True), str(path), "now", n=1)
            )
        else:
            path.write_text(new)
            print(f"wrote {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
    return 1 if given.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
