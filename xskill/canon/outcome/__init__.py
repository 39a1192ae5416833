"""What says whether an episode succeeded, beyond its own record."""
