"""The claim of TreeOPSD as a curve: ratios of turns under its loss and under fixed credits, the real TRL on a CPU.

    pip install torch trl && python -m bench tree_opsd_curve

Writes bench/tree_opsd_curve.svg: the mean distance of the turns' log ratios from log rho*, in units of the mean
|log rho*|, after each of 40 optimizer steps on the same credited rollouts.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import numpy as np

from xskill.integrations.tree_opsd_loss import Teacher

STEPS = 40
WIDTH, HEIGHT, LEFT, TOP = 640, 360, 60, 30
COLOURS = {"tree-opsd": "#0b7a75", "tree-pg": "#c1440e", "tree-pg, clip 0.2": "#d9a441"}


def curve(teacher: Teacher) -> np.ndarray:
    """[STEPS] distance from the targets after each step."""
    from tests.losses.tiny import run

    with tempfile.TemporaryDirectory() as folder:
        path, credit = run(folder, teacher, STEPS, 5e-4)
    goal = np.log1p(0.2 * credit)
    return np.abs(path - goal).mean(1) / np.abs(goal).mean()


def draw(curves: dict[str, np.ndarray]) -> str:
    """The curves as SVG, distance on a logarithmic axis."""
    low, high = np.log10(0.05), np.log10(50)

    def point(step: float, value: float) -> str:
        x = LEFT + (step - 1) / (STEPS - 1) * (WIDTH - LEFT - 150)
        y = TOP + (high - np.log10(value)) / (high - low) * (HEIGHT - TOP - 50)
        return f"{x:.1f},{y:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="16">distance of turn log ratios from log ρ*, in mean |log ρ*|</text>',
        f'<text x="{LEFT + 150}" y="{HEIGHT - 12}">optimizer step</text>',
    ]
    for value in (0.1, 1.0, 10.0):
        start, stop = point(1, value), point(STEPS, value)
        x, y = start.split(",")
        parts.append(f'<polyline points="{start} {stop}" stroke="#ddd" fill="none"/>')
        parts.append(f'<text x="{float(x) - 8}" y="{float(y) + 4}" text-anchor="end">{value:g}</text>')
    for step in (1, 10, 20, 30, 40):
        x, y = point(step, 0.05).split(",")
        parts.append(f'<text x="{x}" y="{float(y) + 16}" text-anchor="middle">{step}</text>')
    for name, values in curves.items():
        points = " ".join(point(step, value) for step, value in enumerate(values, 1))
        x, y = point(STEPS, values[-1]).split(",")
        parts.append(f'<polyline points="{points}" stroke="{COLOURS[name]}" stroke-width="2" fill="none"/>')
        parts.append(f'<text x="{float(x) + 6}" y="{float(y) + 4}" fill="{COLOURS[name]}">{name}</text>')
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    """Run, print the last distances, write the figure; without torch and TRL only say so."""
    if importlib.util.find_spec("trl") is None:
        print("needs torch and trl")
        return
    curves = {
        "tree-opsd": curve(Teacher(radius=0.2)),
        "tree-pg": curve(Teacher(kind="tree-pg")),
        "tree-pg, clip 0.2": curve(Teacher(kind="tree-pg", clip=0.2)),
    }
    for name, values in curves.items():
        print(f"{name:20s} after 20 steps {values[19]:6.2f}   after {STEPS} steps {values[-1]:6.2f}")
    Path(__file__).with_suffix(".svg").write_text(draw(curves))


if __name__ == "__main__":
    main()
