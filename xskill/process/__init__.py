"""Processes: workers beside oneself, forks, signals, and the standard streams."""
