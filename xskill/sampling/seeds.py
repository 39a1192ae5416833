"""Seeds that depend on what they are for, never on when they are drawn.

So a question's episodes are the same for any number of workers, after a retry, and after a resumed run.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np


def seed_for(seed: int, *what: str | int) -> int:
    """A seed below 2**53 (exact in every JSON reader) from ``--seed`` and the name of what is drawn."""
    name = json.dumps([seed, *what], ensure_ascii=True).encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big") >> 11


def generator(seed: int, *what: str | int) -> np.random.Generator:
    """A generator of its own for what is named."""
    return np.random.default_rng(seed_for(seed, *what))
