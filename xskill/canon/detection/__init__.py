"""What decides which format a log has, beyond its first record."""
