"""Trajectories to an X-Tree: coding, merging, statistics, slots."""
