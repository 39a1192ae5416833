"""Parquet, in and out: fixed columns, bounded memory, and a child process for files that nobody vouches for."""
