"""Give a live table, or the objects of a data set, other object keys, by ordinary migration files: one for each phase.

- `plan`, `phases`: the command `rekey plan`, which writes the files; the files for objects.
- `approval`: the command `rekey approve`.
- `actions`: the actions in the files.
- `iceberg`: rewrite the data files of a table by ranges of partitions, and validate that.
- `rows`: whether a rewrite kept all rows.
- `objects`: check that writers write twice, copy and validate objects.
- `keys`: the templates of their keys.
- `inventory`: list both sides, and join them by the engine.
- `tasks`: what its tasks do with objects.
- `cutover`: switch readers.
- `cleaning`: delete the objects with old keys.
- `journal`: what was done.
"""
