"""Policies that act in an environment."""
