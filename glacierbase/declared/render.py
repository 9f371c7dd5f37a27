"""Shapes as Spark SQL: the statements that create a table or turn one shape into another, and what they cannot express.

https://iceberg.apache.org/docs/latest/spark-ddl/
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from glacierbase.formats import OF_SPARK
from glacierbase.formats.iceberg import DISTRIBUTION, FORMAT_VERSION, ICEBERG, OF_NEW_TABLES
from glacierbase.model.escape import UNSAFE
from glacierbase.model.names import name_of, name_parts, spark_identifier
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from glacierbase.model.transforms import TRANSFORMS, given_name, name_and_width

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Also the characters that printing would escape: printed statements must run unchanged.
_ESCAPED = re.compile(rf"['\\\x00-\x1f]|\$(?=\{{)|{UNSAFE.pattern}")
_ESCAPES = {"'": r"\'", "\\": r"\\", "\n": r"\n"}
_PRIMITIVE = re.compile(
    r"boolean|int|bigint|float|double|decimal\(\d+,\d+\)|date|timestamp|timestamp_ntz|string|binary|variant"
)
# Types that Spark SQL lacks: the type as which Spark reads them.
_READ_AS = {"uuid": "string", "fixed": "binary"}
# `timestamp` may be another type, by the setting spark.sql.timestampType.
_SPELLED = {"timestamp": "timestamp_ltz"}
# The keys of locations; keys that are not set as properties.
_PLACES = re.compile(r"location|write\.(?:.+\.)?path")
_OWNER = "owner"
_NOT_SET = (_OWNER, "comment")
# Keys that Spark refuses as properties, and reserved keys that Iceberg drops. Those of owner and location have words of their own.
_REFUSED = ICEBERG.not_stored | (OF_SPARK.keys() - {_OWNER, "location"})
# The comment above the statement that a reader would not expect.
_UNSET_WHY = "-- Iceberg gives every new table these properties, and this table does not have them."


def create_statements(shape: Shape) -> list[str]:
    """Return the statements that create a table of this shape, without semicolons. Its ids and location may differ."""
    table = table_name(shape.table)
    inline = _inline(shape.partitioning)
    properties = {key: value for key, value in shape.properties.items() if _is_set(key)}
    if shape.format_version is not None:
        properties = {FORMAT_VERSION: str(shape.format_version), **properties}
    statements = [create_statement(shape, properties, shape.partitioning[:inline])]
    for field in shape.partitioning[inline:]:
        statements.append(
            f"ALTER TABLE {table} ADD PARTITION FIELD {transformed(field)} AS {spark_identifier(field.name)}"
        )
    if shape.sorting:  # LOCALLY: the other form also changes the property write.distribution-mode.
        statements.append(f"ALTER TABLE {table} WRITE LOCALLY ORDERED BY {', '.join(map(sort_key, shape.sorting))}")
    if shape.identifiers:
        statements.append(f"ALTER TABLE {table} SET IDENTIFIER FIELDS {', '.join(map(path, shape.identifiers))}")
    if unset := [literal(key) for key in OF_NEW_TABLES if key not in shape.properties]:
        statements.append(f"{_UNSET_WHY}\nALTER TABLE {table} UNSET TBLPROPERTIES ({', '.join(unset)})")
    return statements


def not_creatable(shape: Shape) -> list[str]:
    """Return what Spark SQL cannot express; empty if the statements create the whole table."""
    reasons = [f"{column.name} is of type {column.type}" for column in shape.columns if not _has_type(column)]
    reasons += [f"{column.name} has a default" for column in shape.columns if column.default is not None]
    fields: tuple[PartitionField | SortField, ...] = (*shape.partitioning, *shape.sorting)
    reasons += [f"{field.source} has the transform {field.transform}" for field in fields if not has_function(field)]
    reasons += [
        f"{column.name} refuses nulls" for column in shape.columns if column.required and _is_element(column, shape)
    ]
    reasons += [f"it has the property {key}" for key in shape.properties if key in _REFUSED]
    return [*reasons, *unsupported_names(shape)]


def nearest(shape: Shape) -> Shape:
    """Return the nearest shape for which Spark SQL has words, names aside.

    A column of a type that Spark does not read is left out, with the partition and sort fields and the identifiers that name it.
    """
    columns = [
        replace(column, type=_READ_AS.get(column.type.partition("(")[0], column.type)) for column in shape.columns
    ]
    lost = {name_parts(column.name)[0] for column in columns if not _has_type(column)}
    kept = tuple(
        replace(column, default=None, required=column.required and not _is_element(column, shape))
        for column in columns
        if name_parts(column.name)[0] not in lost
    )
    names = {column.name for column in kept}
    return replace(
        shape,
        columns=kept,
        partitioning=tuple(field for field in shape.partitioning if field.source in names and has_function(field)),
        sorting=tuple(field for field in shape.sorting if field.source in names and has_function(field)),
        identifiers=tuple(name for name in shape.identifiers if name in names),
        properties={key: value for key, value in shape.properties.items() if key not in _REFUSED},
    )


def unsupported_names(shape: Shape) -> Iterator[str]:
    """Yield the names that a statement cannot have."""
    paths = [name_parts(column.name) for column in shape.columns]
    texts = (
        *name_parts(shape.table),
        *(part for path in paths for part in path),
        *(field.name for field in shape.partitioning),
    )
    for text in dict.fromkeys(texts):
        if "${" in text or not text.isprintable() or not text or UNSAFE.search(text):
            yield f"the name {text!r}"
    names = Counter((*above, name.lower()) for *above, name in paths)  # Spark ignores the case of letters.
    yield from (f"several columns have the name {name_of(path)}" for path, count in names.items() if count > 1)


def places(shape: Shape) -> dict[str, str]:
    """Return the properties that locate the table's files; no other table may have the same."""
    return {key: value for key, value in shape.properties.items() if is_place(key)}


def is_place(key: str) -> bool:
    """Return whether a property locates the table's files."""
    return bool(_PLACES.fullmatch(key))


def literal(text: str) -> str:
    """Return a text as a string literal of Spark SQL, in which escapes and `${…}` are not interpreted."""
    return "'" + _ESCAPED.sub(lambda match: _ESCAPES.get(match[0]) or _units(match[0]), text) + "'"


def _units(character: str) -> str:
    """Return the UTF-16 units of a character as escapes, which all versions of Spark support."""
    return re.sub("(....)", r"\\u\1", character.encode("utf-16-be", "surrogatepass").hex())


def table_name(name: str) -> str:
    """Return the recorded name of a table as an identifier, each part in backticks where it needs them."""
    return ".".join(part if _WORD.fullmatch(part) else spark_identifier(part) for part in name_parts(name))


def _is_set(key: str) -> bool:
    return key not in _NOT_SET and not is_place(key)


def create_statement(
    shape: Shape, properties: Mapping[str, str], partitioning: Sequence[PartitionField], clustered: Sequence[str] = ()
) -> str:
    """Return CREATE TABLE with the columns and the comment of a shape.

    Args:
        clustered: the columns of CLUSTER BY, as identifiers.
    """
    inside = columns_inside(shape.columns)
    columns = ",\n  ".join(declared_column(column, " ", inside) for column in inside.get((), []))
    lines = [f"CREATE TABLE {table_name(shape.table)} (\n  {columns}\n)", f"USING {shape.format}"]
    if partitioning:
        lines.append(f"PARTITIONED BY ({', '.join(map(transformed, partitioning))})")
    if clustered:
        lines.append(f"CLUSTER BY ({', '.join(clustered)})")
    if (comment := shape.properties.get("comment")) is not None:
        lines.append(f"COMMENT {literal(comment)}")
    if properties:
        pairs = ",\n  ".join(f"{literal(key)} = {literal(value)}" for key, value in properties.items())
        lines.append(f"TBLPROPERTIES (\n  {pairs}\n)")
    return "\n".join(lines)


_Inside = Mapping[tuple[str, ...], Sequence[Column]]


def columns_inside(columns: Iterable[Column]) -> _Inside:
    """Return the fields inside each column and field, by its path; the top-level columns are at the empty path."""
    inside: dict[tuple[str, ...], list[Column]] = {}
    for column in columns:
        inside.setdefault(tuple(name_parts(column.name)[:-1]), []).append(column)
    return inside


def type_of(column: Column, inside: _Inside) -> str:
    """Return the type of a column, with the comments and NOT NULL of the fields inside."""
    fields = inside.get(tuple(name_parts(column.name)), ())
    kind = column.type.partition("<")[0]
    if kind == "struct":
        return f"struct<{', '.join(declared_column(field, ': ', inside) for field in fields)}>"
    if fields:
        return f"{kind}<{', '.join(type_of(field, inside) for field in fields)}>"
    return _SPELLED.get(column.type, column.type)


def declared_column(column: Column, between: str, inside: _Inside) -> str:
    """Return the declaration of a column, or of a struct's field, which has a colon `between` name and type."""
    *_, name = name_parts(column.name)
    required = " NOT NULL" if column.required else ""
    comment = "" if column.comment is None else f" COMMENT {literal(column.comment)}"
    return f"{spark_identifier(name)}{between}{type_of(column, inside)}{required}{comment}"


def _inline(fields: Sequence[PartitionField]) -> int:
    """Return how many of the first fields PARTITIONED BY can create; ADD PARTITION FIELD creates the others.

    PARTITIONED BY chooses their names, and refuses a second time unit of one column as redundant.
    """
    timed: set[str] = set()
    for at, field in enumerate(fields):
        name = given_name(".".join(name_parts(field.source)), field.transform, with_width=False)
        is_time = field.transform in TRANSFORMS and TRANSFORMS[field.transform].is_time
        if field.name != name or (is_time and field.source in timed):
            return at
        if is_time:
            timed.add(field.source)
    return len(fields)


def transformed(field: PartitionField | SortField) -> str:
    """Return the expression by which a field partitions or sorts: `bucket(16, id)`."""
    (name, width), source = name_and_width(field.transform), path(field.source)
    function = TRANSFORMS[name].functions[0]
    return f"{function}({width}, {source})" if width else f"{function}({source})" if function else source


def sort_key(field: SortField) -> str:
    """Return a field of a sort order."""
    return f"{transformed(field)} {field.direction.upper()} NULLS {field.nulls.upper()}"


def has_function(field: PartitionField | SortField) -> bool:
    name, width = name_and_width(field.transform)
    return name in TRANSFORMS and (width.isdecimal() if TRANSFORMS[name].has_width else not width)


def _has_type(column: Column) -> bool:
    return "<" in column.type or bool(_PRIMITIVE.fullmatch(column.type))


def _is_element(column: Column, shape: Shape) -> bool:
    """Return whether the column is the element of an array or the value of a map, which are always nullable in Spark SQL."""
    *above, name = name_parts(column.name)
    kinds: Iterator[str] = (column.type for column in shape.columns if name_parts(column.name) == above)
    kind = next(kinds, "").partition("<")[0]
    return (kind, name) in (("array", "element"), ("map", "value"))


def path(name: str) -> str:
    """Return the recorded name of a column, or of a field inside one, as an identifier."""
    return ".".join(map(spark_identifier, name_parts(name)))


_Key = int | str
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
# https://iceberg.apache.org/spec/#schema-evolution, as far as ALTER COLUMN supports it.
_WIDER = {("int", "bigint"), ("float", "double")}


class ColumnAlters:
    """How the columns of one shape become those of another.

    Attributes:
        clauses: the clauses of ALTER TABLE, in the order in which they run.
        impossible: the changes for which there is no clause.
        before, after: the columns of both shapes.
    """

    def __init__(
        self, before: Sequence[Column], after: Sequence[Column], widens: Callable[[str, str], bool] | None = None
    ) -> None:
        """Args:
        widens: returns whether a column of the first type can become one of the second; by default as in Iceberg.
        """
        self.before, self.after = _Columns(before), _Columns(after)
        self._widens = widens or is_widening
        self._inside = columns_inside(after)
        self._kept = [key for key in self.before.by_key if key in self.after.by_key]
        # The present name of each column, and the order of the fields inside it, after the clauses yielded so far.
        self._name = {key: self.before.last(key) for key in self.before.by_key}
        self._order = {key: list(inside) for key, inside in self.before.inside.items()}
        self.impossible: list[str] = []
        steps = (self._drop(), self._rename(), self._change(), self._add(), self._arrange())
        self.clauses = [clause for step in steps for clause in step]

    def _path(self, key: _Key) -> str:
        return path(name_of(self._parts(key)))

    def _parts(self, key: _Key) -> tuple[str, ...]:
        parent = (self.before if key in self.before.by_key else self.after).parent(key)
        return (*(self._parts(parent) if parent is not None else ()), self._name[key])

    def _drop(self) -> Iterator[str]:
        for key, column in self.before.by_key.items():
            parent = self.before.parent(key)
            if key in self.after.by_key or (parent is not None and parent not in self.after.by_key):
                continue
            if self.before.is_part(key):
                self.impossible.append(f"{column.name} cannot be replaced by another type")
            else:
                yield f"DROP COLUMN {self._path(key)}"
                self._order[parent].remove(key)

    def _rename(self) -> Iterator[str]:
        """Yield the renames, each when its new name is free. Columns that exchange their names need one between."""
        waiting = [key for key in self._kept if self._name[key] != self.after.last(key)]
        while waiting:
            free = next((key for key in waiting if self.after.last(key).casefold() not in self._siblings(key)), None)
            if free is None:
                yield self._renamed(waiting[0], self._unused(waiting[0]))
            else:
                waiting.remove(free)
                yield self._renamed(free, self.after.last(free))

    def _renamed(self, key: _Key, name: str) -> str:
        clause = f"RENAME COLUMN {self._path(key)} TO {spark_identifier(name)}"
        self._name[key] = name
        return clause

    def _unused(self, key: _Key) -> str:
        """Return a name that no column beside one has, before and after."""
        used = self._siblings(key) | {self.after.last(other).casefold() for other in self.after.by_key}
        return next(name for number in count(1) if (name := f"renamed_{number}") not in used)

    def _siblings(self, key: _Key) -> set[str]:
        """Return the names beside a column and its own: Spark ignores the case of letters."""
        return {self._name[sibling].casefold() for sibling in self._order[self.before.parent(key)]}

    def _change(self) -> Iterator[str]:
        for key in self._kept:
            before, after = self.before.by_key[key], self.after.by_key[key]
            alter = f"ALTER COLUMN {self._path(key)}"
            self.impossible += _impossible_changes(before, after, self._widens)
            if before.type != after.type and self._widens(before.type, after.type):
                yield f"{alter} TYPE {after.type}"
            if before.required and not after.required:
                yield f"{alter} DROP NOT NULL"
            if (before.comment or "") != (after.comment or ""):
                yield f"{alter} COMMENT {literal(after.comment or '')}"

    def _add(self) -> Iterator[str]:
        names = {name for key in self._kept for name in self.after.dotted(key)}
        for key, column in self.after.by_key.items():
            parent, dotted = self.after.parent(key), self.after.dotted(key)
            if key in self.before.by_key:
                continue
            if parent is not None and parent not in self.before.by_key:
                names.update(dotted)  # Added with the column around it.
                continue
            self._name[key] = self.after.last(key)
            if self.after.is_part(key):
                continue  # `_drop` has reported its counterpart as impossible.
            if column.required or column.default is not None:
                self.impossible.append(f"{column.name} cannot be added as a column that refuses nulls or has a default")
            elif dotted[0] in names:
                self.impossible.append(f"{column.name} cannot be added: Iceberg finds another column by this name")
            else:
                comment = f" COMMENT {literal(column.comment)}" if column.comment else ""
                yield f"ADD COLUMN {self._path(key)} {type_of(column, self._inside)}{comment}"
                self._order.setdefault(parent, []).append(key)
                names.update(dotted)

    def _arrange(self) -> Iterator[str]:
        """Yield the moves after which all columns are in order."""
        for parent, wanted in self.after.inside.items():
            now = self._order.get(parent)
            if now is None or self.impossible:
                continue
            for at, key in enumerate(wanted):
                if now[at] != key:
                    place = f"AFTER {spark_identifier(self._name[wanted[at - 1]])}" if at else "FIRST"
                    yield f"ALTER COLUMN {self._path(key)} {place}"
                    now.remove(key)
                    now.insert(at, key)


class _Columns:
    """The columns of a shape by their identity: the field id, or the name of a column without one.

    Attributes:
        keys: by name.
        inside: the fields directly inside each column, in order; the top-level columns under None.
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self.by_key: dict[_Key, Column] = {
            column.name if column.id is None else column.id: column for column in columns
        }
        self.keys: dict[str, _Key] = {column.name: key for key, column in self.by_key.items()}
        paths = {tuple(name_parts(column.name)): key for key, column in self.by_key.items()}
        self._parents = {key: paths.get(parts[:-1]) for parts, key in paths.items()}
        self._last = {key: parts[-1] for parts, key in paths.items()}
        self.inside: dict[_Key | None, list[_Key]] = {}
        for key, parent in self._parents.items():
            self.inside.setdefault(parent, []).append(key)

    def parent(self, key: _Key) -> _Key | None:
        """Return the column around a field; None for a column of the table."""
        return self._parents[key]

    def last(self, key: _Key) -> str:
        """Return the last part of the name."""
        return self._last[key]

    def dotted(self, key: _Key) -> tuple[str, str]:
        """Return the names by which Iceberg finds a column: the second one leaves out structs that are elements or values."""
        parts, short = [self._last[key]], [self._last[key]]
        while (parent := self._parents[key]) is not None:
            key = parent
            parts.insert(0, self._last[key])
            if not (self.is_part(key) and self._last[key] != "key"):
                short.insert(0, self._last[key])
        return ".".join(parts), ".".join(short)

    def is_part(self, key: _Key) -> bool:
        """Return whether the column is the element of an array, or the key or value of a map."""
        parent = self._parents[key]
        return parent is not None and _kind(self.by_key[parent].type) != "struct"


def is_widening(before: str, after: str) -> bool:
    """Return whether a column of the type `before` can become one of the type `after`."""
    if (before, after) in _WIDER:
        return True
    old, new = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(after)
    return bool(old and new and old[2] == new[2] and int(old[1]) < int(new[1]))


def _impossible_changes(before: Column, after: Column, widens: Callable[[str, str], bool]) -> Iterator[str]:
    kinds = _kind(before.type), _kind(after.type)
    is_nested = "<" in before.type and kinds[0] == kinds[1]  # The fields inside are compared separately.
    if before.type != after.type and not is_nested and not widens(before.type, after.type):
        yield f"{after.name} cannot change from {before.type} to {after.type}"
    if after.required and not before.required:
        yield f"{after.name} cannot begin to refuse nulls"
    if before.default != after.default:
        yield f"the default of {after.name} cannot change"


def _kind(type_: str) -> str:
    return type_.partition("<")[0]


@dataclass(frozen=True, slots=True)
class Written:
    """The statements that create a table, or give it another shape.

    Attributes:
        statements: in the order in which they run, without semicolons.
        impossible: what no statement does; each names its column or property.
        left: what is left out on purpose: secrets, and the places of files.
    """

    statements: tuple[str, ...]
    impossible: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def not_exact(self) -> tuple[str, ...]:
        """All that the statements do not do."""
        return (*self.impossible, *self.left)


def alter_statements(before: Shape, after: Shape) -> Written:
    """Return the statements that give a table of the shape `before` the shape `after`.

    Columns are the same if their field ids are. The name of the table does not change; new fields get new ids.
    """
    columns = ColumnAlters(before.columns, after.columns)
    texts = [
        *_drop_identifiers(before, after, columns),
        *_drop_partitions(before, after, columns),
        *(["WRITE UNORDERED"] if _sorts_by_dropped(before, columns) else []),
        *columns.clauses,
        *_add_partitions(before, after, columns),
        *_sort(before, after, columns),
        *_set_identifiers(before, after, columns),
        *_properties(before, after, columns),
    ]
    table = table_name(before.table)
    statements = [f"ALTER TABLE {table} {text}" for text in texts]
    comment = after.properties.get("comment")
    if comment is not None and comment != before.properties.get("comment"):
        statements.append(f"COMMENT ON TABLE {table} IS {literal(comment)}")
    return Written(tuple(statements), (*columns.impossible, *_impossible(before, after, columns)))


def _drop_identifiers(before: Shape, after: Shape, columns: ColumnAlters) -> Iterator[str]:
    """Drop identifier fields before the columns that they name: Iceberg refuses to drop an identifier or make it nullable."""
    kept = _kept_identifiers(before, after, columns)
    if gone := [identifier for identifier in before.identifiers if columns.before.keys[identifier] not in kept]:
        yield f"DROP IDENTIFIER FIELDS {', '.join(map(path, gone))}"


def _set_identifiers(before: Shape, after: Shape, columns: ColumnAlters) -> Iterator[str]:
    wanted = {columns.after.keys[identifier] for identifier in after.identifiers}
    if wanted - _kept_identifiers(before, after, columns):
        yield f"SET IDENTIFIER FIELDS {', '.join(map(path, after.identifiers))}"


def _kept_identifiers(before: Shape, after: Shape, columns: ColumnAlters) -> set[_Key]:
    """Return the identifiers that stay: Iceberg renames no identifier inside a struct, nor what is around it."""
    wanted = {columns.after.keys[name]: name for name in after.identifiers}
    names = {columns.before.keys[name]: name for name in before.identifiers}
    is_kept = {key: len(name_parts(name)) == 1 or wanted.get(key) == name for key, name in names.items()}
    return {key for key in names if key in wanted and is_kept[key]}


def _sorts_by_dropped(before: Shape, columns: ColumnAlters) -> bool:
    """Return whether the sort order names a column that is dropped, which Iceberg refuses."""
    return any(columns.before.keys[field.source] not in columns.after.by_key for field in before.sorting)


_Field = tuple[str, "int | str", str]


def _fields(shape: Shape, columns: dict[str, int | str]) -> dict[_Field, PartitionField]:
    """Return the partition fields by their identity: name, column and transform."""
    return {
        (field.name, columns.get(field.source, field.source), field.transform): field for field in shape.partitioning
    }


def _drop_partitions(before: Shape, after: Shape, columns: ColumnAlters) -> Iterator[str]:
    kept = _fields(after, columns.after.keys)
    for key, field in _fields(before, columns.before.keys).items():
        if key not in kept:  # By its name, a field that is named as its column would be the one without a transform.
            yield f"DROP PARTITION FIELD {transformed(field) if has_function(field) else spark_identifier(field.name)}"


def _add_partitions(before: Shape, after: Shape, columns: ColumnAlters) -> Iterator[str]:
    known = _fields(before, columns.before.keys)
    for key, field in _fields(after, columns.after.keys).items():
        if key not in known:
            yield f"ADD PARTITION FIELD {transformed(field)} AS {spark_identifier(field.name)}"


def _sort(before: Shape, after: Shape, columns: ColumnAlters) -> Iterator[str]:
    if _keys(before.sorting, columns.before.keys) == _keys(after.sorting, columns.after.keys):
        return
    if after.sorting:
        yield f"WRITE LOCALLY ORDERED BY {', '.join(map(sort_key, after.sorting))}"
    elif not _sorts_by_dropped(before, columns):
        yield "WRITE UNORDERED"


def _keys(fields: tuple[SortField, ...], columns: dict[str, int | str]) -> list[tuple[object, ...]]:
    return [
        (columns.get(field.source, field.source), field.transform, field.direction, field.nulls) for field in fields
    ]


def _properties(before: Shape, after: Shape, columns: ColumnAlters) -> Iterator[str]:
    old, new = dict(before.properties), dict(after.properties)
    if (before.sorting and not after.sorting) or _sorts_by_dropped(before, columns):
        old[DISTRIBUTION] = "none"  # Set by WRITE UNORDERED.
    wanted = {key: value for key, value in new.items() if old.get(key) != value and key not in _NOT_SET}
    if (after.format_version or 0) > (before.format_version or 0):
        wanted = {FORMAT_VERSION: str(after.format_version), **wanted}
    if wanted:
        yield f"SET TBLPROPERTIES ({', '.join(f'{literal(key)} = {literal(value)}' for key, value in wanted.items())})"
    if gone := [key for key in old if key not in new and key != _OWNER]:
        yield f"UNSET TBLPROPERTIES ({', '.join(map(literal, gone))})"


def _impossible(before: Shape, after: Shape, columns: ColumnAlters) -> Iterator[str]:
    if (after.format_version or 0) < (before.format_version or 0):
        yield f"the format version cannot go back from {before.format_version} to {after.format_version}"
    if before.format != after.format:
        yield f"the table cannot change from {before.format} to {after.format}"
    yield from _taken_names(before, columns)
    kept, wanted = _fields(before, columns.before.keys), _fields(after, columns.after.keys)
    ends_as = [*(key for key in kept if key in wanted), *(key for key in wanted if key not in kept)]
    if ends_as != list(wanted):
        yield "the order of the partition fields cannot change"


def _taken_names(before: Shape, columns: ColumnAlters) -> Iterator[str]:
    """Yield the columns that get the name of a partition field of another column. Iceberg refuses it for dropped fields too."""
    names = {name: key for key in columns.after.by_key for name in columns.after.dotted(key)}
    for field in before.partitioning:
        source, key = columns.before.keys[field.source], names.get(field.name)
        if key is not None and key != source and source in columns.after.by_key:
            name = columns.after.by_key[key].name
            yield f"{name} cannot have the name of a partition field of {columns.after.by_key[source].name}"
