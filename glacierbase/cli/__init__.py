"""The command line. Until a command runs, only `click` is imported, so that `--help` is fast."""

from glacierbase.cli.program import main as main
