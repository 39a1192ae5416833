"""What came in, what went out, and what did not: counted, told, and bounded."""
