"""A run on this machine: who runs, its clock, its waits, and the safe use of git and files."""
