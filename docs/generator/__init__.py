"""What of the documentation is written by a program: one module a kind of page part, and none of it needs MkDocs."""
