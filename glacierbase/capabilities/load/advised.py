"""The table of an advice, as the history of a catalog records it, or as its files declare it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from glacierbase.capabilities.load.explain import ExplainResult
from glacierbase.capabilities.load.explained import ExplainedKeys
from glacierbase.capabilities.load.remedies import DEFAULT_COLUMN, FORMATS, SNOWFLAKE, AdvisedTable
from glacierbase.declared.render import table_name
from glacierbase.errors import ConfigurationError
from glacierbase.layout.facts import layout_format
from glacierbase.layout.template import SegmentKind

_UNKNOWN_FIELDS = "the fields before a bucket must be dropped, and added again after it"


def advised_table(
    read: Callable[[], Sequence[ExplainResult]],
    name: str,
    table_format: str | None,
    column: str | None,
    is_readable: bool,
) -> tuple[AdvisedTable, str | None]:
    """Return a table with what is known of its keys, and its catalog; None where no catalog has the table.

    Args:
        read: returns the keys of the table in each catalog that has it; `Project.layout_explain`.
        name, table_format: as the caller wrote them.
        column: the column that identifies a row; None for that of the table's bucket field, or else `id`.

    Raises:
        ConfigurationError: `UNKNOWN_TABLE`, `AMBIGUOUS_TABLE`, `CONFLICTING_OPTIONS`: the table has another format.
    """
    wanted = AdvisedTable(table_format or FORMATS[0], name, column or DEFAULT_COLUMN, is_readable)
    try:
        tables = [(keys, result.catalog) for result in read() for keys in result.templates]
    except ConfigurationError as error:
        if error.code != "UNKNOWN_TABLE" or table_format is None:
            raise
        return replace(wanted, partitioning=(), notes=(f"nothing is known of {name}", _UNKNOWN_FIELDS)), None
    if len(tables) > 1:
        candidates = sorted(f"{keys.table} of {catalog}" for keys, catalog in tables)
        what = f"{name} may be {' or '.join(candidates)}"
        raise ConfigurationError("AMBIGUOUS_TABLE", what, "add --catalog, or the qualified name", candidates=candidates)
    [(keys, catalog)] = tables
    table = _known(keys, wanted, table_format)
    bucketed = [field.source for field in table.partitioning or () if field.transform.startswith("bucket[")]
    return (replace(table, column=bucketed[0]) if bucketed and column is None else table), catalog


def _known(keys: ExplainedKeys, wanted: AdvisedTable, table_format: str | None) -> AdvisedTable:
    """Return the table with its name, its format and its keys.

    Args:
        table_format: as the caller wrote it, for a table whose format is not known.
    """
    known = layout_format(keys.format or "") or keys.format
    if known is None and table_format is None:
        what = f"the format of {keys.table} is not known: {keys.why}"
        raise ConfigurationError("UNKNOWN_TABLE", what, f"add --type {FORMATS[0]}", table=keys.table)
    if None not in (known, table_format) and known != table_format:
        what = f"--type {table_format}: {keys.table} has the format {known}"
        raise ConfigurationError("CONFLICTING_OPTIONS", what, "leave out --type")
    chosen = known or table_format or ""
    table = replace(wanted, format=chosen, name=keys.table if chosen == SNOWFLAKE else table_name(keys.table))
    if keys.template is None:
        return replace(table, partitioning=(), notes=(f"its keys: {keys.why}", _UNKNOWN_FIELDS))
    first = keys.template.first_varying
    fields = tuple(segment.field for segment in keys.segments if segment.field and segment.transform != "void")
    elsewhere = f"whether its partition fields are the same in other environments than {keys.environment}"
    return replace(
        table,
        version=keys.version,
        partitioning=fields,
        hashed_by=first.source if first and first.kind is SegmentKind.HASHED else None,
        facts=keys.notes,
        notes=(elsewhere,) if fields else (),
    )
