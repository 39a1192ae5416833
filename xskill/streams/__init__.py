"""Bytes to records and back: opening, sniffing, decompressing, JSON lines, Parquet, atomic writing, rejects."""
