"""Losses for trainers, as numpy references and in torch."""
