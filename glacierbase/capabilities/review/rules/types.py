"""TY: changes that the engine refuses, as far as the statement and the ones before it show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from glacierbase.capabilities.review.family import Family
from glacierbase.capabilities.review.rule import File, RuleFinding, Step, of
from glacierbase.model.text import counted
from glacierbase.sql.cursor import UnsupportedClause
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.operations import CREATES_TABLE
from glacierbase.sql.statement import (
    AlterColumn,
    ColumnClause,
    Constraint,
    Fields,
    Part,
    PartitionClause,
    Property,
    RenameColumn,
)
from glacierbase.sql.types import type_tree

RULES = Family(__file__)
# The types to which another type can be promoted; `timestamp` and `timestamp_ntz` from `date`, in format version 3.
_PROMOTED = re.compile(r"bigint|long|double|(?:decimal|dec|numeric)\b.*|timestamp(?:_ntz|_ltz)?")
_NESTED = re.compile(r"(?:struct|map|array)\s*<")
_SHORT = ("tinyint", "smallint")  # Iceberg stores an int.
_TYPE = re.compile(r"(?is)\s*(\w+)\s*(?:\(([^)]*)\))?\s*(.*)")
_SIMPLE = frozenset(
    {
        "boolean", "tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long", "float", "real", "double",
        "date", "timestamp", "timestamp_ntz", "timestamp_ltz", "string", "binary", "void", "variant", "interval",
    }
)  # fmt: skip
_DECIMALS, _CHARS = ("decimal", "dec", "numeric"), ("char", "character", "varchar")
_OTHERS = ("time", "geometry", "geography", "array", "map", "struct")
# What Spark has instead of the types of other engines.
_INSTEAD = {
    **dict.fromkeys(("text", "varchar2", "nvarchar", "nvarchar2", "nchar", "clob"), "string"),
    **dict.fromkeys(("uuid", "json", "jsonb", "xml", "enum"), "string"),
    **dict.fromkeys(("number", "money"), "decimal(p,s)"), **dict.fromkeys(("datetime", "datetime2", "timestamptz"), "timestamp"),
    **dict.fromkeys(("int8", "serial", "bigserial", "unsigned", "int64", "uint64"), "bigint"),
    **dict.fromkeys(("int2", "int4", "int16", "int32", "mediumint"), "int"),
    **dict.fromkeys(("blob", "bytea", "varbinary", "bytes"), "binary"), **dict.fromkeys(("float8", "float64"), "double"),
    "float4": "float", "bool": "boolean", "bit": "boolean", "timestampntz": "timestamp_ntz", "object": "variant",
}  # fmt: skip
_MOST_DIGITS = 38
_NEEDS_VERSION_3 = re.compile(r"(?i)\b(variant|void)\b")
# Columns of Iceberg's metadata in each table. https://iceberg.apache.org/spec/#reserved-field-ids
_RESERVED = {
    "iceberg": ("_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"),
    "hudi": (
        "_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path",
        "_hoodie_file_name", "_hoodie_is_deleted",
    ),
    "delta": ("_change_type", "_commit_version", "_commit_timestamp"),
}  # fmt: skip
_IF_NOT_EXISTS = re.compile(r"(?is)\s*ALTER\s+TABLE\s+\S+\s+ADD\s+COLUMNS?\s+(?:\(\s*)?IF\s+NOT\s+EXISTS\b")


@RULES.check("TY101", "alter_column_type")
def forbidden_promotion(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find types to which no column of another type can be promoted."""
    for part in _not_accepted(step, file, "alter_column_type"):
        if (text := _type_text(part)) and not _PROMOTED.fullmatch(text) and not _NESTED.match(text):
            yield RuleFinding(f"ALTER COLUMN {part.column} TYPE {part.type}", step, part.place)


@RULES.check("TY105", "alter_column_nullability")
def set_not_null(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find columns that are to refuse nulls from now on."""
    for part in _not_accepted(step, file, "alter_column_nullability"):
        if part.nullable is False:
            yield RuleFinding(f"ALTER COLUMN {part.column} SET NOT NULL", step, part.place)


def _not_accepted(step: Step, file: File, operation: str) -> Iterator[AlterColumn]:
    """Yield the clauses that the engine refuses, or may refuse: what changes nothing is accepted."""
    known, refused = file.known(step), [part for part, _ in file.refusals(step)]
    is_known = known is not None and known.columns is not None
    return (part for part in of(step, AlterColumn, operation) if part in refused or not is_known)


RULES.clause(
    "TY103", "add_column", ColumnClause, "ADD COLUMN {clause.column} NOT NULL", where=lambda clause: not clause.nullable
)
RULES.clause(
    "TY104", "add_column", ColumnClause, "ADD COLUMN {clause.column} DEFAULT {clause.default}",
    where=lambda clause: clause.default is not None and clause.nullable,
)  # fmt: skip
RULES.clause(
    "TY107", "alter_column_type", AlterColumn, "ALTER COLUMN {clause.column} TYPE {clause.type}",
    where=lambda clause: _NESTED.match(_type_text(clause)),
)  # fmt: skip


def _type_text(clause: AlterColumn) -> str:
    return (clause.type or "").strip().lower()


def _refused(step: Step, file: File, kind: type[Part], *kinds: str) -> Iterator[RuleFinding]:
    """Yield the clauses that the engine refuses for the table before them, by the kinds of causes."""
    for part, refused in file.refusals(step):
        if isinstance(part, kind) and refused.kind in kinds:
            yield RuleFinding(refused.reason, step, part.place)


@RULES.check("TY102", "alter_column_type")
def promotion_from_another_type(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find types to which this column cannot be promoted, although columns of other types can."""
    for part, refused in file.refusals(step):
        if isinstance(part, AlterColumn) and refused.kind == "type" and _PROMOTED.fullmatch(_type_text(part)):
            yield RuleFinding(refused.reason, step, part.place)


@RULES.check("TY106", "set_identifier_fields", "drop_identifier_fields", "alter_column_nullability")
def identifier_field_may_be_null(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find identifier fields that the engine refuses, and identifier fields that lose NOT NULL."""
    yield from _refused(step, file, Fields, "required", "type", "no identifier")
    for part, refused in file.refusals(step):
        if isinstance(part, AlterColumn) and part.nullable and refused.kind == "required":
            yield RuleFinding(refused.reason, step, part.place)


# A number without a scale is a whole number in all engines: NUMBER(38, 0), DECIMAL(10, 0). Few digits are meant to be whole.
_WHOLE = re.compile(r"(?i)(?:number|numeric|decimal|dec)\s*(?:\(\s*(?:[6-9]|\d{2})\s*\))?")
_MONEY = frozenset(
    {
        "price", "prices", "amount", "amt", "cost", "costs", "fee", "fees", "revenue", "salary", "wage", "tax", "vat", "discount",
        "rate", "ratio", "percent", "percentage", "pct", "margin", "balance", "commission", "turnover", "payment", "refund",
    }
)  # fmt: skip
# Words after such a one that leave its meaning, and words that say that the number is whole.
_AFTER_MONEY = frozenset({"net", "gross", "total", "eur", "usd", "gbp", "chf", "local", "base"})
_UNITS = re.compile(
    r"(?i)\b(?:cents?|pence|minor|micros?|whole|units?|integer|basis)\b|_(?:cents?|pence|minor|micros?|bps)\b"
)


@RULES.check("TY120", "add_column", *CREATES_TABLE)
def amount_without_scale(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find new columns whose name says that they hold money or a rate, and whose type has no scale."""
    whole = "(10, 0)" if step.parsed.subject is None else "(38, 0)"
    for part in of(step, ColumnClause):
        given = (part.type or "").strip()
        if _WHOLE.fullmatch(given) and _is_money(part):
            means = given.replace(")", ", 0)") if "(" in given else f"{given}{whole}"
            message = f"{part.column} {given} means {means}: digits after the point are rounded"
            yield RuleFinding(message, step, part.place)


def _is_money(part: ColumnClause) -> bool:
    words = part.path[-1].lower().split("_")
    while len(words) > 1 and words[-1] in _AFTER_MONEY:
        words.pop()
    return words[-1] in _MONEY and not _UNITS.search(f"{part.path[-1]} {part.comment or ''}")


@RULES.check("TY108", "drop_column", "rename_column", "replace_columns")
def drop_column_in_use(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find dropped columns that partitioning, write order or identifier fields use."""
    yield from _refused(step, file, Part, "in use")


@RULES.check_file("TY109")
def add_column_if_not_exists(file: File) -> Iterator[RuleFinding]:
    """Find ADD COLUMN IF NOT EXISTS in Spark's dialect."""
    for step in file.steps if file.facts.engine == SPARK.name else ():
        if _IF_NOT_EXISTS.match(step.statement.text):
            yield RuleFinding("ADD COLUMN IF NOT EXISTS", step)


@RULES.check("TY110", "add_column", "alter_column_type", *CREATES_TABLE)
def unknown_type(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find types that Spark does not have, or not in this form."""
    for part in step.parsed.parts if file.facts.engine == SPARK.name else ():
        if isinstance(part, ColumnClause | AlterColumn) and part.type and (refused := _refused_type(part.type)):
            why, instead = refused
            yield RuleFinding(f"{part.column}: {why}", step, part.place, f"Write {instead}." if instead else "")


def _refused_type(text: str) -> tuple[str, str] | None:
    """Return why Spark refuses a type, and what to write instead; None where it has the type, or that is not known."""
    match = _TYPE.fullmatch(text)
    if not match:
        return None
    word, width, rest = match[1].lower(), match[2], match[3].strip()
    if _NESTED.match(text.lower().lstrip()):
        try:
            inside = [_refused_type(field.text) for field in type_tree(text).fields]
        except UnsupportedClause:
            return None
        return next(filter(None, inside), None)
    if word not in (*_SIMPLE, *_DECIMALS, *_CHARS, *_OTHERS):
        return f"Spark has no type {match[1]}", _INSTEAD.get(word, "")
    if word in ("array", "map", "struct"):
        return f"{match[1]} without the types inside", ""
    if rest and word not in ("interval", *_OTHERS) and not rest.upper().startswith("COLLATE"):
        return f"Spark has no type {text}", word
    return _wrong_width(word, width)


def _wrong_width(word: str, width: str | None) -> tuple[str, str] | None:
    if word in _CHARS:
        return None if width else (f"{word} needs a length", f"string, or {word}(n)")
    if width is None:
        return None
    if word in _SIMPLE:
        return f"{word} takes no length", word
    numbers = [int(number) for number in re.findall("[0-9]{1,9}", width)]
    if word in _DECIMALS and numbers and (numbers[0] > _MOST_DIGITS or numbers[0] < numbers[-1]):
        return f"{word}({width}) is beyond {_MOST_DIGITS} digits, or has more decimals than digits", ""
    return None


@RULES.check("TY111", "add_column", *CREATES_TABLE)
def type_of_version_3(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find types that tables of format versions 1 and 2 cannot have."""
    known, key = file.known(step), "format-version"
    declared = {property.key: property.value for property in of(step, Property)}
    is_new = step.parsed.operation in ("create_table", "create_table_as")
    if not is_new and (known is None or known.properties is None or known.columns is None):
        return
    before = "" if is_new else file.properties(step).get(key, "")
    version = declared.get(key) or before or file.facts.defaults.get(key, "2")
    for part in of(step, ColumnClause) if version in ("1", "2") else ():
        if word := _NEEDS_VERSION_3.search(part.type or ""):
            yield RuleFinding(f"{part.column}: {word[0]} in format version {version}", step, part.place)


@RULES.check("TY112", "add_constraint", "alter_column_default", "cluster_by", *CREATES_TABLE)
def clause_that_tables_lack(step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find defaults, generated columns, constraints and clustering, which Spark refuses for Iceberg."""
    for part in step.parsed.parts:
        clause = ""
        if isinstance(part, ColumnClause) and part.operation != "add_column":
            clauses = {"DEFAULT": part.default, "GENERATED": part.generated, "PRIMARY KEY": part.primary_key or None}
            clause = next((word for word, text in clauses.items() if text is not None), "")
        elif isinstance(part, Constraint) and part.operation == "add_constraint":
            clause = part.text.split("(")[0].strip()
        elif part.operation == "cluster_by" or (isinstance(part, AlterColumn) and part.default is not None):
            clause = "CLUSTER BY" if part.operation == "cluster_by" else "SET DEFAULT"
        if clause:
            yield RuleFinding(f"{clause} of a table of Iceberg", step, part.place)


@RULES.check("TY113", "add_column", "rename_column", *CREATES_TABLE)
def reserved_column_name(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find columns with the name of a column of metadata."""
    table_format, declared = file.format_of(step), file.properties(step)
    if table_format == "delta":  # Only the feed of changes has these columns.
        properties = {**declared, **{property.key: property.value or "" for property in of(step, Property)}}
        if properties.get("delta.enableChangeDataFeed", "").lower() != "true":
            return
    for part in step.parsed.parts:
        name = part.new if isinstance(part, RenameColumn) else ""
        if isinstance(part, ColumnClause) and len(part.path) == 1:
            name = part.path[0]
        if name in _RESERVED[table_format]:
            yield RuleFinding(f"{name} is a column of {table_format}'s metadata", step, part.place)


_OF_COLUMNS = (
    "add_column", "drop_column", "rename_column", "alter_column_type", "alter_column_nullability", "alter_column_comment",
    "alter_column_position", "alter_column_default", "set_write_order", "set_identifier_fields", "add_partition_field",
    "replace_partition_field", "set_properties", "insert", "insert_overwrite", "update",
)  # fmt: skip


@RULES.check("TY114", *_OF_COLUMNS, *CREATES_TABLE)
def unknown_column(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find columns that the table does not have, where earlier statements declare all of its columns."""
    before, is_new = file.known(step), step.parsed.operation in CREATES_TABLE
    fix = "" if is_new or before is None else f"The files declare {', '.join(list(before.columns or ())[:8])}."
    yield from (replace(finding, fix=fix) for finding in _refused(step, file, Part, "absent"))
    # Of `SET p.x = 1`, only the last part is known.
    is_flat = before and all(column.fields == {} for column in (before.columns or {}).values())
    is_clear = before and not before.is_dropped and (step.parsed.operation != "update" or is_flat)
    for name in step.parsed.options.columns if is_clear else ():
        if before and before.has(tuple(name.lower().split("."))) is False:
            yield RuleFinding(f"there is no column {name}", step, fix=fix)


@RULES.check("TY121", *_OF_COLUMNS)
def column_in_place(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find changes of parts of maps and arrays, and moves, that the engine refuses."""
    yield from _refused(step, file, Part, "place")


@RULES.check("TY115", "add_column", "rename_column", "create_table", "replace_table")
def column_exists(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find new columns with the name of another one, in any case, or of a partition field of another one."""
    if step.parsed.operation in CREATES_TABLE:
        keys = [part.key for part in of(step, ColumnClause)]
        for key in dict.fromkeys(key for key in keys if keys.count(key) > 1):
            yield RuleFinding(f"the column {key[-1]} is declared twice", step)
        return
    for part, refused in file.refusals(step):
        if refused.kind in ("exists", "name"):
            yield RuleFinding(refused.reason, step, part.place)


@RULES.check_file("TY116")
def table_exists(file: File) -> Iterator[RuleFinding]:
    """Find CREATE TABLE of a table that an earlier statement creates."""
    for step in file.steps if file.facts.engine == SPARK.name else ():
        options, is_new = step.parsed.options, step.parsed.operation in ("create_table", "create_table_as")
        table = file.tables.before(step) if is_new and not options.temporary and not options.or_alter else None
        if table and not table.is_dropped and not options.if_not_exists and not options.or_replace:
            yield RuleFinding("an earlier statement creates this table", step)


@RULES.check_file("TY117")
def table_is_dropped(file: File) -> Iterator[RuleFinding]:
    """Find changes of a table that an earlier statement drops."""
    for step in file.steps if file.facts.engine == SPARK.name else ():
        parsed = step.parsed
        if (
            not step.target
            or parsed.operation in CREATES_TABLE
            or parsed.options.if_exists
            or "view" in parsed.operation
        ):
            continue
        if not parsed.options.temporary and (table := file.tables.before(step)) and table.is_dropped:
            yield RuleFinding("an earlier statement drops this table", step)


@RULES.check("TY118", "insert", "insert_overwrite")
def number_of_columns(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find INSERT by position whose query has more or fewer columns than it fills."""
    options, query, known = step.parsed.options, step.parsed.query, file.known(step)
    listed = options.columns or tuple((known and known.columns) or ())
    is_clear = query and query.columns and listed and not (options.by_name or options.partition or options.evolves)
    if is_clear and query and query.columns and len(query.columns) != len(listed):
        yield RuleFinding(f"the query has {counted(len(query.columns), 'column')}, and fills {len(listed)}", step)


_OF_ICEBERG = (
    "add_partition_field", "drop_partition_field", "replace_partition_field", "set_write_order", "set_distribution",
    "set_identifier_fields", "drop_identifier_fields", "create_branch", "create_tag", "drop_branch", "drop_tag",
)  # fmt: skip


@RULES.check("TY119", *_OF_ICEBERG, "create_table", "create_table_as")
def clause_of_iceberg(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find clauses of Iceberg, and partition transforms, for tables of Delta and Hudi."""
    for part in step.parsed.parts:
        is_transform = isinstance(part, PartitionClause) and bool(part.transform.function)
        if part.operation in _OF_ICEBERG or (step.parsed.operation in CREATES_TABLE and is_transform):
            what = part.verb if part.operation in _OF_ICEBERG else "partition transform"
            yield RuleFinding(f"{file.format_of(step)} has no {what}", step, part.place)
