"""The commands that review migrations before they run: `lint` and its rules. Nothing is contacted, and no file is executed."""
