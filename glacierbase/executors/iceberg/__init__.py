"""Iceberg without a JVM: catalogs through PyIceberg, for history and lock, for the shapes of tables, and for plain DDL.

Catalogs:
- `opened`, `properties`: open a catalog; translate Spark's configuration for PyIceberg.
- `guard`, `rest`, `sql`, `glue`, `hive`: the catalogs, which load no code that a server or a table names.
- `errors`: exceptions of PyIceberg as engine errors.

Tables:
- `shape`, `versions`: the shapes and the versions of users' tables.
- `values`: the values of a column of a user's table.
"""
