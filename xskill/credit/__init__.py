"""Turn-level credit: advantages, back-up, the bounded teacher, and the baselines."""
