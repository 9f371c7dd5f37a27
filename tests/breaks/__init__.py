"""Breaks of the code that a test must notice: `listed` has them, `python -m tests.breaks [PATTERN]` runs them."""
