"""`python -m glacierbase`."""

from glacierbase.cli import run

run()
