"""The read-only commands, each with its result and its text.

The commands:
- `validate`: `validate` and `render`.
- `doctor`: check files, connection, rights and the lock.
- `access`: who besides the migrator may change the tables, for `doctor`.
- `status`: the state of every version, and the lock holder.
- `history`: the events that fit the filters, the outcomes, the changes of a column.
- `show`: all that is known of one version, with what its runs did to tables.
- `schema`: what a table consists of, now or at a point.
- `blame`: which migration made each part of a table.
- `drift`: the tables against their record.
- `compare/`: `compare` and `export-state`.
- `results`: the results of `validate`, `render`, `doctor` and `status`.

What several of them share:
- `table_search`: the tables of a history, and the one that the caller means.
- `points`: a version or a time in a history.
- `lineage`: the parts of a table, and since when each is what it is.
"""
