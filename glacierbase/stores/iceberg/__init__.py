"""History and lock through PyIceberg, without a JVM: the same tables and the same lock that the catalog's engine uses.

- `store`: the store, with the compare-and-set of the lock.
- `writes`: appends, commits and compaction.
- `probe`: try as another identity what a REST server lets it change.
- `opened`, `properties`: open a catalog; translate Spark's configuration for PyIceberg.
- `guard`, `rest`, `sql`, `glue`, `hive`: the catalogs, which load no code that a server or a table names.
- `errors`: exceptions of PyIceberg as engine errors.
- `orphaned`: the files of a history that the catalog does not list.
- `shape`, `versions`: the shapes and the versions of users' tables.
- `values`: the values of a column of a user's table.
"""

from glacierbase.stores.iceberg.properties import can_open
from glacierbase.stores.iceberg.store import IcebergStore, open_store

__all__ = ["IcebergStore", "can_open", "open_store"]
