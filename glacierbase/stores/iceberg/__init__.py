"""History and lock through PyIceberg, without a JVM: the same tables and the same lock that the catalog's engine uses."""

from glacierbase.stores.iceberg.properties import can_open
from glacierbase.stores.iceberg.store import IcebergStore, open_store

__all__ = ["IcebergStore", "can_open", "open_store"]
