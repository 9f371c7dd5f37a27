"""The tables of a project: what is the schema of one, who changed it, do the environments agree.

The commands:
- `schema`: the schema of a table, now or at an earlier point.
- `blame`: which migration made each part of a table.
- `compare/`: `compare` and `export-state`.
- `drift`: compare the tables with their records, and find what made a difference in the engine's log.
- `report/`: the HTML page.

Files from differences:
- `drift_files`: adopt, revert or ignore the differences of tables.
- `match`, `wanted`: `new --to-match`: write the statements that lead to wanted tables from those once the pending files have run;
  read what is wanted.
"""
