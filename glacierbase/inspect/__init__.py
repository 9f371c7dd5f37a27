"""The read-only commands."""
