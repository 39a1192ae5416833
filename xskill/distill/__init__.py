"""Experience to skills: evidence, routines, lessons, edits."""
