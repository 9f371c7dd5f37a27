"""The capabilities: what glacierbase can do beside the path of a migration. The core works without this room.

A capability imports the core, and no other capability. `project.commands` names their functions, which are imported when they are
called.

- `tables/`: `schema`, `blame`, `compare`, `drift`, `report`: the schema of a table, who changed it, whether environments agree.
- `review/`: `lint` with its rules, and `review` on a throw-away copy.
- `adopt/`: tables that exist before glacierbase, and projects of other tools.
- `authoring/`: write the files of a project.
- `access/`: `access`: the rights by which only the migrator changes tables.
- `load/`: `layout …`: the load on the object keys of a table.
- `rekey/`: `rekey plan`, and the actions in its files: other object keys for a live table.
- `sharding/`: dynamic write sharding on DynamoDB.
"""
