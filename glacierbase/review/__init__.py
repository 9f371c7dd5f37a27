"""Review migrations before they run: `lint` checks the statements, and `review` runs them on a throw-away copy. Neither contacts a catalog."""
