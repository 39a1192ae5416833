"""Benchmarks: each module prints one table; ``python -m bench NAME`` runs one, without a name all of them."""
