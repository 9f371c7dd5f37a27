"""SET and UNSET TBLPROPERTIES, SET LOCATION, COMMENT ON TABLE."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyiceberg.schema import Schema
from pyiceberg.table.update import (
    RemovePropertiesUpdate,
    SetLocationUpdate,
    SetPropertiesUpdate,
    UpgradeFormatVersionUpdate,
)

from glacierbase.errors import StatementRefused
from glacierbase.executors.direct.ddl.commit import Transaction, illegal, invalid
from glacierbase.formats import OF_SPARK
from glacierbase.formats.iceberg import FORMAT_VERSION, ICEBERG, METRICS_OF_COLUMN
from glacierbase.sql.statement import ParsedStatement, Property

_CLAUSES = {"sort-order": "WRITE ORDERED BY", "identifier-fields": "SET IDENTIFIER FIELDS"}


def set_properties(transaction: Transaction, statement: ParsedStatement) -> None:
    """Set properties. A format version is an upgrade of the table."""
    changed = dict(_properties(statement))
    for key, clause in _CLAUSES.items():
        if any(key == name.lower() for name in changed):
            raise StatementRefused(
                "UnsupportedOperationException", f"'{key}' is a reserved table property: use ALTER TABLE … {clause}"
            )
    replace_properties(transaction, {**transaction.table_metadata.properties, **changed})
    if FORMAT_VERSION in changed:
        _upgrade(transaction, int(changed[FORMAT_VERSION]))


def unset_properties(transaction: Transaction, statement: ParsedStatement) -> None:
    """Remove properties; those that are not set are ignored, also without IF EXISTS."""
    removed = {key for key, _ in _properties(statement)}
    kept = {key: value for key, value in transaction.table_metadata.properties.items() if key not in removed}
    replace_properties(transaction, kept)


def comment_on(transaction: Transaction, statement: ParsedStatement) -> None:
    """Set the comment of the table; NULL is an empty one."""
    comment = {"comment": statement.options.comment or ""}
    replace_properties(transaction, {**transaction.table_metadata.properties, **comment})


def set_location(transaction: Transaction, statement: ParsedStatement) -> None:
    """Set where the table's next files are written; its files stay where they are."""
    location = statement.options.location
    if not location:
        raise illegal("path must not be null or empty")
    if location != transaction.table_metadata.location:
        transaction.change(SetLocationUpdate(location=location.rstrip("/")))


def replace_properties(transaction: Transaction, wanted: Mapping[str, str]) -> None:
    """Change the properties to those that are wanted, as far as they are stored.

    Raises:
        StatementRefused: metrics of a column that does not exist.
    """
    _check_metrics(wanted, transaction.table_metadata.schema())
    stored_properties(transaction, wanted)


def stored_properties(transaction: Transaction, wanted: Mapping[str, str]) -> None:
    """Change the properties to those that are wanted, without a check."""
    properties = transaction.table_metadata.properties
    stored = {key: value for key, value in wanted.items() if key not in ICEBERG.not_stored}
    if changed := {key: value for key, value in stored.items() if properties.get(key) != value}:
        transaction.change(SetPropertiesUpdate(updates=changed))
    if removed := [key for key in properties if key not in stored]:
        transaction.change(RemovePropertiesUpdate(removals=removed))


def _properties(statement: ParsedStatement) -> Iterable[tuple[str, str]]:
    """Yield the properties of SET or UNSET.

    Raises:
        StatementRefused: Spark's error for a property that it reserves.
    """
    for part in statement.parts:
        assert isinstance(part, Property)
        if part.key in OF_SPARK:
            raise StatementRefused(
                "UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY",
                f"{part.key} is a reserved table property, {OF_SPARK[part.key]}",
            )
        yield part.key, part.value or ""


def _upgrade(transaction: Transaction, version: int) -> None:
    current = transaction.table_metadata.format_version
    if version < current:
        raise illegal(f"Cannot downgrade v{current} table to v{version}")
    if version > current:
        transaction.change(UpgradeFormatVersionUpdate(format_version=version))


def _check_metrics(properties: Mapping[str, str], schema: Schema) -> None:
    for key in properties:
        if key.startswith(METRICS_OF_COLUMN):
            name = key.removeprefix(METRICS_OF_COLUMN)
            if name not in schema.column_names:
                raise invalid(f"Invalid metrics config, could not find column {name} from table prop {key}")
