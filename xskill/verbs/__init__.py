"""What works on any stream of ours: check, select, partition, count."""
