"""Bring what exists already under version control: `import`. The core does not import this room.

Tables that exist:
- `listing`: the tables and views of an engine, and which of them are managed.
- `tables`: the command: list them, write a file for each, record the files as applied.
- `table_file`: the file of one table.
- `view_files`: the files of views.
- `table_results`: the result.
"""
