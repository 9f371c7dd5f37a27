"""The read-only commands, each with its result and its text.

The commands:
- `validate`: `validate` and `render`.
- `doctor`: check files, connection, rights and the lock.
- `access`: who besides the migrator may change the tables, for `doctor`.
- `status`: the state of every version, and the lock holder.
- `history`: the events that match the filters, the outcomes, the changes of a column.
- `show`: the details of one version, with the changes that its runs recorded.
- `schema`: the schema of a table, now or at an earlier point.
- `blame`: which migration made each part of a table.
- `drift`: compare the tables with their records.
- `compare/`: `compare` and `export-state`.
- `results`: the results of `validate`, `render`, `doctor` and `status`.

Shared by several of them:
- `table_search`: the tables of a history, and the choice of one by its name.
- `points`: a version or a time in a history.
- `lineage`: the last change and the creation of each part of a table.
- `logged`: the statement in the engine's log that made a difference of a table.
"""
