"""`compare` and `export-state`.

- `compare`: the command: compare the versions of several states.
- `tables`: compare their tables, and find out why they differ.
- `exporting`: read the state of one catalog in one environment.
- `origins`: the changes of the parts of its tables.
- `state`: that state, and the files that hold states.
- `results`: the result of `compare`.
"""
