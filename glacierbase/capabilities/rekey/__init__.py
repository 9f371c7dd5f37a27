"""Give a live table other object keys, by ordinary migration files: one for each phase.

- `plan`: the command `rekey plan`, which writes the files.
- `iceberg`: the actions in them: rewrite the data files of a table by ranges of partitions, and validate that.
- `rows`: whether a rewrite kept all rows.
"""
