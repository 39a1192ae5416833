"""Rollout trees: building, checking, growing."""
