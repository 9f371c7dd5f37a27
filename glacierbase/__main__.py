"""`python -m glacierbase`."""

from glacierbase.cli import main

main()
