"""The tables of a project: what is the schema of one, who changed it, do the environments agree.

The commands:
- `schema`: the schema of a table, now or at an earlier point.
- `blame`: which migration made each part of a table.
- `compare/`: `compare` and `export-state`.
- `drift`: compare the tables with their records.
- `logged`: the statement in the engine's log that made a difference of a table.
- `report/`: the HTML page.

Files from differences:
- `drift_files`: adopt, revert or ignore the differences of tables.
- `match`, `wanted`, `pending_tables`: `new --to-match`: write the statements that lead to wanted tables; read what is wanted; the
  tables once the pending files have run.
"""
