"""History and lock through PyIceberg, without a JVM: the same tables and the same lock that the catalog's engine uses.

- `store`: the store, with the compare-and-set of the lock.
- `writes`: appends, commits and compaction.
- `probe`: try as another identity what a REST server lets it change.
- `orphaned`: the files of a history that the catalog does not list.
"""

from glacierbase.executors.pyiceberg.properties import can_open
from glacierbase.stores.iceberg.store import IcebergStore, open_store

__all__ = ["IcebergStore", "can_open", "open_store"]
