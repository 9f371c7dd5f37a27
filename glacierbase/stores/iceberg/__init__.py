"""History and lock through PyIceberg, with no JVM: the same two tables that the catalog's engine sees, and the same lock."""

from glacierbase.stores.iceberg.properties import can_open
from glacierbase.stores.iceberg.store import IcebergStore, open_store

__all__ = ["IcebergStore", "can_open", "open_store"]
