"""`python -m glacierbase`."""

from glacierbase.cli.commands import main

main()
