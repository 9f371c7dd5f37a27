"""Iceberg without a JVM: catalogs and tables through PyIceberg, for history and lock, for shapes of tables, and for plain DDL.

Catalogs:
- `opened`, `properties`: open a catalog; translate Spark's configuration for PyIceberg.
- `guard`, `rest`, `sql`, `glue`, `hive`: the catalogs, which load no code that a server or a table names.
- `file_access`, `object_stores`: the files of tables; which of them obstore reads and writes, and which PyIceberg's file IO.
- `errors`: exceptions of PyIceberg as engine errors.

Tables:
- `shape`, `versions`: the shapes and the versions of users' tables.
- `metadata`: metadata with types that PyIceberg does not know, and with parts that its copies share.
- `preserved`: whether a commit of PyIceberg would lose a part of a table's metadata.
- `values`, `arrow`: the values of a column of a user's table; the columns of an Arrow or Parquet file.
"""
