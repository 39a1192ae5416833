"""Rollout trees, grown: the worker protocol, its driver, and the two samplers."""
