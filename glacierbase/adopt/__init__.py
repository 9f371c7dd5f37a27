"""Bring what exists already under version control: `import`. The core does not import this room.

Tables that exist:
- `listing`: the tables and views of an engine, and which of them are managed.
- `tables`: the command.
- `table_results`: its result.
"""
