"""Raw logs to trajectories: readers, canonical actions, outcomes, redaction."""
