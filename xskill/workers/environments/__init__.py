"""Environments that a worker can be."""
