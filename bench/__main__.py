"""Run benchmarks by name: ``python -m bench [NAME ...]``."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path


def main() -> None:
    """Run the named benchmarks, or all of them."""
    known = sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if not m.name.startswith("_"))
    wanted = sys.argv[1:] or known
    for name in wanted:
        if name not in known:
            sys.exit(f"bench: no benchmark {name!r}; one of {', '.join(known)}")
    runnable = [module for name in wanted if hasattr(module := importlib.import_module(f"bench.{name}"), "main")]
    for module in runnable:
        print(f"\n== {module.__name__.removeprefix('bench.')}: {(module.__doc__ or '').splitlines()[0]}", flush=True)
        module.main()


if __name__ == "__main__":
    main()
