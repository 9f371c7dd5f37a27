"""What the history says of migrations: `history` and `show`."""
