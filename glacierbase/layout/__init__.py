"""The object keys of a table's files: from a table's declaration to the template of its keys. Pure: nothing is read or contacted.

Key layouts decide which part of an object store a load reaches. Stores partition keys by their first characters; the order of
partition fields is the order of the key.

- `columns`: what names and types of columns, and transforms, imply about the values in a key.
- `providers`: what one partition of an object store carries, by provider.
- `template`: the template of a key, segment by segment, and what decides each segment.
- `facts`: the facts that a template follows from, of a recorded shape and of statements.
- `folders`: Delta, Hudi, files without a table format, and patterns of raw keys.
- `iceberg`: Iceberg's layouts.
- `keys`: keys from ids, in Python.
- `expressions`: the same as SQL, which the key macros of migration files render.
- `murmur`: the hash in Iceberg's keys.
- `partitions`: how the values of partition fields vary, and their text in a key.
- `templates`: the template of a table, by its format.
- `versions`: comparing versions of formats.
"""
