"""WRITE ORDERED BY, UNORDERED and DISTRIBUTED BY PARTITION."""

from __future__ import annotations

from pyiceberg.table.sorting import INITIAL_SORT_ORDER_ID, NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.table.update import AddSortOrderUpdate, SetDefaultSortOrderUpdate

from glacierbase.declared.clauses import clause_changes
from glacierbase.executors.direct.ddl.commit import Transaction, invalid
from glacierbase.executors.direct.ddl.properties import replace_properties
from glacierbase.executors.direct.ddl.transforms import bound
from glacierbase.formats.iceberg import DISTRIBUTION
from glacierbase.model.changes import OrderSet
from glacierbase.sql.statement import ParsedStatement, WriteOrder


def set_writes(transaction: Transaction, statement: ParsedStatement) -> None:
    """Set the sort order and the distribution of writes. LOCALLY ORDERED alone keeps the distribution."""
    [change], schema = clause_changes(statement), transaction.table_metadata.schema()
    assert isinstance(change, OrderSet)
    clauses = (field for part in statement.parts if isinstance(part, WriteOrder) for field in part.fields)
    fields = (
        SortField(
            *bound(schema, clause.transform, case_sensitive=False),
            SortDirection(field.direction),
            NullOrder(f"nulls-{field.nulls}"),
        )
        for clause, field in zip(clauses, change.fields or (), strict=True)
    )
    set_sort_order(transaction, tuple(fields))
    if change.distribution:
        replace_properties(transaction, {**transaction.table_metadata.properties, DISTRIBUTION: change.distribution})


def set_sort_order(transaction: Transaction, fields: tuple[SortField, ...]) -> None:
    """Make these fields the sort order; an equal former order is used again.

    Raises:
        StatementRefused: a field is nested.
    """
    metadata = transaction.table_metadata
    for field in fields:
        if not (type_ := metadata.schema().find_type(field.source_id)).is_primitive:
            raise invalid(f"Cannot sort by non-primitive source field: {type_}")
    order_id = _order_id(metadata.sort_orders, fields)
    if metadata.sort_order_by_id(order_id) is None:
        transaction.change(AddSortOrderUpdate(sort_order=SortOrder(*fields, order_id=order_id)))
    if order_id != metadata.default_sort_order_id:
        transaction.change(SetDefaultSortOrderUpdate(sort_order_id=order_id))


def _order_id(orders: list[SortOrder], fields: tuple[SortField, ...]) -> int:
    """Return the id of the order with these fields; 0 is that of no order."""
    if not fields:
        return 0
    equal: int | None = next((order.order_id for order in orders if tuple(order.fields) == fields), None)
    return equal or max([INITIAL_SORT_ORDER_ID, *(order.order_id + 1 for order in orders)])
