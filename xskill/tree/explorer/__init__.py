"""``tree explore``: a tree, and episodes beside it, as one HTML file that needs nothing else."""
