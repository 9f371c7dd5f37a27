"""The documentation, parsed and run."""
