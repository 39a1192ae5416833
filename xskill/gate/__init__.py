"""The validation gate: policies and paired statistics."""
