"""`compare` and `export-state`."""
