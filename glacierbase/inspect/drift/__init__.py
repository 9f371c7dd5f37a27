"""`drift`."""
