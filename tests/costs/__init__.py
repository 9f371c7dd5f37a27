"""Processor time of each test, from which its form follows: quick, lint, long or full."""
