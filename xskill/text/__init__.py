"""Text that a model or a terminal reads, made harmless."""
