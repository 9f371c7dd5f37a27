"""Throw-away copies of a catalog, in which `review` replays files.

- `memory`, `memory_copy`: Iceberg tables in memory, without files and without an engine; the copy on them.
- `isolated`, `session_catalog`: the copy on Spark, and the tables of Spark's own catalog in it.
"""
