"""``python -m xskill`` is the command ``xskill``."""

from xskill.cli import main

main()
