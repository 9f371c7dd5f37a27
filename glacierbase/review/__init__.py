"""Review migrations before they run: `lint` checks the statements, `review` runs them on a copy. No catalog is contacted."""
