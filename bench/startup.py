"""Start-up: xskill --help against a two-command typer app, xskill head against the bare imports."""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from bench.measure import XSKILL, machine, run

RUNS = 15
TWO_COMMANDS = """
import typer
app = typer.Typer()
@app.command()
def one(n: int = 1): "First."
@app.command()
def two(s: str = ""): "Second."
app()
"""


def compare(name: str, command: list[str], base: list[str], bar: float) -> None:
    """Print the medians of alternating runs and of their ratios."""
    pairs = [(run(command).seconds, run(base).seconds) for _ in range(RUNS)]
    ours, theirs = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"{name:<22}  {ours * 1000:7.0f}  {theirs * 1000:7.0f}  {ratio:6.2f}  {bar:6.1f}", flush=True)


def main() -> None:
    """Print the table."""
    print(f"machine: {machine()}")
    print(f"{'command':<22}  {'ms':>7}  {'base ms':>7}  {'ratio':>6}  {'bar':>6}")
    with tempfile.TemporaryDirectory() as folder:
        app, small = Path(folder) / "two.py", Path(folder) / "small.jsonl"
        app.write_text(TWO_COMMANDS)
        small.write_text('{"schema":"xskill.trajectory/1","id":"a","actions":["x"]}\n')
        compare("xskill --help", [*XSKILL, "--help"], [sys.executable, str(app), "--help"], 1.3)
        bare = [sys.executable, "-c", "import typer, rich"]
        compare("xskill head -n 1", [*XSKILL, "head", "-n", "1", str(small)], bare, 1.5)


if __name__ == "__main__":
    main()
