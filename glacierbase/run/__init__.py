"""A run on this machine: its identity, processes, clock, waits, and the safe use of git and files."""
