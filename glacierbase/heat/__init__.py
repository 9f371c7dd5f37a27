"""`layout explain`, `advise`, `profile`, `simulate` and `ls`: the load on object keys. The core does not import this room.

The room `layout` makes the templates of keys. numpy, matplotlib and boto3, the extra `layout`, are imported when they are needed.

- `explain`: the templates of a table, and of the tables of a migration.
- `declared`: the templates of the tables that migrations declare, in a sandbox.
- `extra`: import what the extra `layout` installs.
"""
