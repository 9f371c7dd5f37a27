"""Processor time of each test, by which the quick, the long and the full form are cut."""
