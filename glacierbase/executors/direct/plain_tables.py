"""Which CREATE TABLE and which statements on namespaces run without an engine. Imports no PyIceberg.

What Spark refuses needs Spark too, which says why.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from glacierbase.executors.direct.plain_types import why_no_plain_type
from glacierbase.formats import OF_SPARK
from glacierbase.formats.iceberg import METRICS_OF_COLUMN
from glacierbase.model.transforms import IDENTITY, IcebergTransform, by_function, given_name
from glacierbase.sql.statement import ColumnClause, Options, ParsedStatement, PartitionClause, Property, Transform
from glacierbase.sql.types import TypeTree, type_tree

# Properties by which Iceberg loads code or encrypts, that PyIceberg ignores, or that only Iceberg's own catalogs write.
_NOT_PLAIN = re.compile(
    r"(?s)(write\.)?py-.*|.*\.py-.*|write\.location-provider\..*|write\.metadata\.compression-codec|encryption\..*|engine\..*"
    r"|option\..*"
)
# PyIceberg reads these when it commits.
_BOOLEANS = frozenset(
    {
        "write.metadata.delete-after-commit.enabled",
        "write.object-storage.enabled",
        "write.object-storage.partitioned-paths",
    }
)
# Iceberg reads these when it commits; a table on which it cannot read them accepts no further change by Spark.
_NUMERIC = frozenset(
    {
        "commit.retry.num-retries", "commit.retry.min-wait-ms", "commit.retry.max-wait-ms", "commit.retry.total-timeout-ms",
        "commit.num-status-checks", "commit.status-check.num-retries", "commit.status-check.min-wait-ms",
        "commit.status-check.max-wait-ms", "commit.status-check.total-timeout-ms", "write.metadata.previous-versions-max",
    }
)  # fmt: skip
FORMAT_VERSIONS = ("1", "2", "3")
# Spark completes and normalises other locations.
_WHOLE_LOCATION = re.compile(r"([a-z][a-z0-9]*://[\w.-]+|file:)(/(?!\.\.?(/|$))[\w.=@+-]+)+", re.ASCII)
_SUCH_LOCATION = "a location that the engine completes"

# Transforms whose columns Spark finds in any case; those of the others have the exact case.
_ANY_CASE = frozenset({"", "bucket", "years", "months", "days", "hours"})
_MOST_WIDTH = 2**31 - 1

# The fields of a table with their types, by the path in lower case; the path as declared.
_Path = tuple[str, ...]
Fields = dict[_Path, tuple[_Path, TypeTree]]


def why_no_plain_table(statement: ParsedStatement) -> str | None:
    """Return why a CREATE TABLE or a REPLACE TABLE needs Spark, as a clause; None for one that runs without it."""
    return next(_reasons(statement), None)


def why_no_plain_rename(statement: ParsedStatement) -> str | None:
    """Return why a rename of a table needs Spark, as a clause; None for one that runs without it."""
    return "RENAME with PARTITION" if statement.options.partition else None


def why_no_plain_namespace(statement: ParsedStatement) -> str | None:
    """Return why a statement on a namespace needs Spark, as a clause; None for one that runs without it."""
    options, properties = statement.options, [part for part in statement.parts if isinstance(part, Property)]
    if options.or_replace or options.temporary or (options.if_exists and statement.operation != "drop_namespace"):
        return "an option that the engine refuses"
    return next(itertools.chain(_location_reasons(options), _property_reasons(properties)), None)


def why_no_plain_property(part: Property) -> str | None:
    """Return why a property that a table gets needs Spark, as a clause; None for one that does not."""
    key, value = part.key, part.value
    if value is None:
        return f"{key} has no value"
    if key == "format-version" and value not in FORMAT_VERSIONS:
        return f"the format version {value}"
    if why := why_unreadable(key, value):
        return why
    return f"PyIceberg ignores {key}, or would load code" if _NOT_PLAIN.fullmatch(key) else None


def why_unreadable(key: str, value: str) -> str | None:
    """Return why a commit to a table fails on the value of a property, as a clause; None where it does not."""
    if key in _NUMERIC and not re.fullmatch(r"[0-9]{1,9}", value):
        return f"the value of {key} is no number"
    return (
        f"the value of {key} is neither true nor false" if key in _BOOLEANS and value not in ("true", "false") else None
    )


def columns_of(statement: ParsedStatement) -> list[ColumnClause]:
    """Return the columns that a statement declares, in the order that they have in the table."""
    return [part for part in statement.parts if isinstance(part, ColumnClause)]


def fields_of(columns: Iterable[ColumnClause]) -> Fields:
    """Return the columns and the fields of their structs."""
    paths = _all_paths(columns, inside=("struct",))
    return {tuple(name.lower() for name in path): (path, tree) for path, tree in paths}


def source_of(transform: Transform, fields: Fields) -> tuple[tuple[str, ...], TypeTree] | None:
    """Return the only field that a transform names, with its type, as Spark finds it; None where there is none."""
    if len(transform.columns) != 1:
        return None
    path = tuple(transform.columns[0].split("."))
    known = fields.get(tuple(name.lower() for name in path))
    is_any_case = transform.function in _ANY_CASE and transform.text.startswith(transform.function)
    return known if known and (is_any_case or known[0] == path) else None


def _reasons(statement: ParsedStatement) -> Iterator[str]:
    options = statement.options
    if options.temporary or options.external or options.or_alter:
        yield "a table that is temporary, external or altered"
    if options.using not in (None, "iceberg"):
        yield f"the format {options.using}"
    if options.or_replace and options.if_not_exists:
        yield "OR REPLACE with IF NOT EXISTS"
    if statement.query or statement.sources:
        yield "a table that a query fills"
    yield from _location_reasons(options)
    yield from _property_reasons([part for part in statement.parts if isinstance(part, Property)])
    columns = columns_of(statement)
    reasons = list(_column_reasons(columns))
    yield from reasons
    clauses = [part for part in statement.parts if isinstance(part, PartitionClause)]
    if not reasons and clauses:
        yield from _partition_reasons(clauses, columns)


def _location_reasons(options: Options) -> Iterator[str]:
    if options.location is not None and not _WHOLE_LOCATION.fullmatch(options.location):
        yield _SUCH_LOCATION


def _property_reasons(properties: Sequence[Property]) -> Iterator[str]:
    for part in properties:
        if part.key in OF_SPARK or part.key.startswith(METRICS_OF_COLUMN):  # Iceberg checks the column.
            yield f"the property {part.key}"
        if why := why_no_plain_property(part):
            yield why
    keys = [part.key for part in properties]
    if len(set(keys)) < len(keys):
        yield "a property that is set twice"


def _column_reasons(columns: Sequence[ColumnClause]) -> Iterator[str]:
    for column in columns:
        if column.default is not None or column.generated is not None:
            yield "a default or a generated column"
        if len(column.path) != 1 or column.position or column.primary_key:
            yield f"an option of the column {'.'.join(column.path)}"
        if why := why_no_plain_type(column.type):
            yield why
            return
    names = [".".join(path).casefold() for path, _ in _all_paths(columns)]
    if len(set(names)) < len(names):
        yield "two columns of one name"


def _all_paths(
    columns: Iterable[ColumnClause], inside: Sequence[str] = ("struct", "array", "map")
) -> Iterator[tuple[_Path, TypeTree]]:
    """Yield the columns and all fields inside, also those of elements, keys and values.

    Args:
        inside: the types whose fields are yielded.
    """
    left: list[tuple[_Path, TypeTree]] = [((column.path[0],), type_tree(column.type or "")) for column in columns]
    while left:
        path, tree = left.pop()
        yield path, tree
        if tree.name in inside:
            left += [((*path, field.name), field.type) for field in tree.fields]


def _partition_reasons(clauses: Sequence[PartitionClause], columns: Sequence[ColumnClause]) -> Iterator[str]:
    typed = {column.place for column in columns} & {clause.place for clause in clauses}
    if typed and len(typed) < len(clauses):
        yield "PARTITIONED BY with columns and declarations of columns"
    fields = fields_of(columns)
    kinds, names = set[tuple[str, tuple[str, ...]]](), {".".join(path).casefold() for path, _ in _all_paths(columns)}
    for clause in clauses:
        source, kind = source_of(clause.transform, fields), by_function(clause.transform.function)
        if source is None or kind is None or not _is_plain(clause.transform, kind, source[1]):
            yield f"the partition field {clause.transform.text}"
            return
        name = given_name(".".join(source[0]), kind.name, with_width=False).casefold()
        of_time = "time" if kind.is_time else kind.name
        if (of_time, source[0]) in kinds or (kind != IDENTITY and name in names):
            yield f"the partition field {clause.transform.text} beside another one"
        kinds.add((of_time, source[0]))
        if kind != IDENTITY:
            names.add(name)


def _is_plain(transform: Transform, kind: IcebergTransform, source: TypeTree) -> bool:
    widths = transform.widths
    if not kind.has_width:
        is_width_plain = not widths
    else:
        first_is_width = kind.name != "bucket" or transform.arguments[0].isdigit()
        is_width_plain = first_is_width and len(widths) == 1 and 0 < int(widths[0]) <= _MOST_WIDTH
    is_source_plain = not source.fields if kind.accepts is None else source.name in kind.accepts
    is_name_plain = transform.text.lower().startswith(transform.function)
    return is_name_plain and is_width_plain and is_source_plain
