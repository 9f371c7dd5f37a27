"""`compare` and `export-state`.

- `compare`: the command: compare the versions of several states.
- `tables`: compare their tables, and find out why they differ.
- `exporting`: read the state of one catalog in one environment.
- `state`: that state.
- `state_files`: write states to a file, and read them again.
- `results`: the result of `compare`.
"""
