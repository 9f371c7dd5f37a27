"""SET and UNSET TBLPROPERTIES."""

from __future__ import annotations

from glacierbase.executors.iceberg.ddl.commit import Transaction
from glacierbase.sql.statement import Property


def set_property(transaction: Transaction, part: Property) -> None:
    """Set one property."""
    transaction.set_properties({part.key: part.value})


def unset_property(transaction: Transaction, part: Property) -> None:
    """Remove one property; one that is not set is ignored."""
    if part.key in transaction.table_metadata.properties:
        transaction.remove_properties(part.key)
