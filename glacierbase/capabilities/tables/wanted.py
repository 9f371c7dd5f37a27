"""What `new --to-match` takes as the wanted tables: CREATE TABLE statements, an Arrow, Parquet or JSON schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from glacierbase.errors import ConfigurationError, EngineError
from glacierbase.migrations.compiled import compile_migration
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Migration
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.shape import Column, Shape
from glacierbase.sql import read
from glacierbase.sql.statement import Property

# Types by the kind of a value and its format. https://json-schema.org/draft/2020-12/json-schema-validation#name-defined-formats
_JSON_TYPES = {
    ("string", "date-time"): "timestamp", ("string", "date"): "date", ("string", "uuid"): "uuid", ("string", ""): "string",
    ("integer", ""): "bigint", ("number", ""): "double", ("boolean", ""): "boolean",
}  # fmt: skip
# A JSON schema tells no width: a column of one of these types is as it says.
_AS_WELL = {
    "bigint": frozenset({"int"}),
    "double": frozenset({"float", "int", "bigint"}),
    "string": frozenset({"uuid", "binary"}),
    "timestamp": frozenset({"timestamp_ntz"}),
    "uuid": frozenset({"string"}),
}
_MOST_REFERENCES = 20
# What CREATE TABLE has no clause for, by the operations that are about it.
_STATED = {
    "sorting": ("set_write_order", "set_distribution"),
    "identifiers": ("set_identifier_fields", "drop_identifier_fields"),
}


class DesignedPart(NamedTuple):
    """A part of a table, as the attributes of a `Difference` name it."""

    what: str
    name: str

    def __str__(self) -> str:
        return f"{self.what} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class WantedTable:
    """A wanted table.

    Attributes:
        shape: its name is empty where the source has none.
        states: which of `partitioning`, `sorting`, `identifiers`, `properties`, `version`, `comments`, `nulls` and `order` the
            source states; the others stay as they are.
        by_design: the parts that stay as they are, because variables make them.
        widths: whether a type of it means only that type.
    """

    shape: Shape
    states: frozenset[str]
    by_design: Sequence[DesignedPart] = ()
    widths: bool = True

    def accepts(self, present: str, wanted: str) -> bool:
        """Return whether a column of the present type is as wanted."""
        return present == wanted or (not self.widths and present in _AS_WELL.get(wanted, ()))


def read_wanted(source: str, catalog: Catalog) -> tuple[WantedTable, ...]:
    """Return the tables that a file states.

    Raises:
        ConfigurationError: `UNREADABLE_FILE`; `NOT_A_SCHEMA`.
        MigrationFileError: an error in its template or its SQL.
    """
    path = Path(source)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise _not_a_schema(source, f"its name ends in none of {', '.join(_READERS)}")
    try:
        return tuple(reader(path, catalog))
    except OSError as error:
        what = f"{source} cannot be read: {error.strerror or error}"
        raise ConfigurationError("UNREADABLE_FILE", what, "correct the path", path=source) from error
    except UnicodeDecodeError as error:
        raise _not_a_schema(source, "it is not UTF-8") from error
    except EngineError as error:
        raise _not_a_schema(source, error.message) from error


def _not_a_schema(source: str, why: str) -> ConfigurationError:
    hint = "give CREATE TABLE statements in a .sql file, an Arrow, Parquet or JSON schema, or env:NAME"
    return ConfigurationError("NOT_A_SCHEMA", f"{source}: {why}; nothing was written", hint, path=source)


def _of_sql(path: Path, catalog: Catalog) -> Iterator[WantedTable]:
    """Yield the tables that the statements of a file create, which run on tables in memory."""
    from glacierbase.executors.copies.memory import shapes_after

    text = path.read_text("utf-8")
    file = Migration("", path.stem, "", "", path, str(path), text, "")
    statements = [statement.text for statement in compile_migration(file, catalog, catalog.dialect).statements]
    parsed = [read(sql, catalog.dialect) for sql in statements]
    operations = {part.operation for statement in parsed for part in statement.parts}
    keys = {part.key for statement in parsed for part in statement.parts if isinstance(part, Property)}
    states = {"partitioning", "properties", "comments", "nulls", "order"}
    states |= {what for what, about in _STATED.items() if not operations.isdisjoint(about)}
    states |= {"version"} if "format-version" in keys else set()
    for shape in shapes_after(catalog, statements):
        yield WantedTable(shape, frozenset(states))


def _of_arrow(path: Path, _: Catalog) -> Iterator[WantedTable]:
    from glacierbase.executors.pyiceberg.arrow import columns_of_file

    yield WantedTable(_shape(columns_of_file(path)), frozenset({"order"}))


def _of_json(path: Path, _: Catalog) -> Iterator[WantedTable]:
    try:
        schema = json.loads(path.read_text("utf-8"))
        columns = tuple(_json_fields(schema, schema, ()))
    except (ValueError, RecursionError) as error:
        raise _not_a_schema(str(path), str(error)) from error
    yield WantedTable(_shape(columns), frozenset(), widths=False)


def _shape(columns: tuple[Column, ...]) -> Shape:
    return Shape("", None, "iceberg", None, columns)


def _json_fields(schema: Any, root: Any, above: tuple[str, ...]) -> Iterator[Column]:
    """Yield the properties of an object, each before those inside it.

    Raises:
        ValueError: the schema has a form without a column type.
    """
    properties = _resolved(schema, root).get("properties")
    if not isinstance(properties, Mapping) or not properties:
        raise ValueError(f"{name_of(above) or 'the schema'} has no properties")
    for name, inner in properties.items():
        yield from _json_column(inner, root, (*above, name))


def _json_column(schema: Any, root: Any, path: tuple[str, ...]) -> Iterator[Column]:
    schema = _resolved(schema, root)
    kinds = schema.get("type")
    kinds = [str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind != "null"]
    kind, comment = kinds[0] if len(kinds) == 1 else "", schema.get("description")
    if kind == "object":
        inside = list(_json_fields(schema, root, path))
    elif kind == "array":
        inside = list(_json_column(schema.get("items"), root, (*path, "element")))
    else:
        text = _JSON_TYPES.get((kind, str(schema.get("format")))) or _JSON_TYPES.get((kind, ""), "")
        if not text:
            raise ValueError(f"{name_of(path)} is of the type {json.dumps(schema.get('type'))}, which no column has")
        inside = []
    direct = [column for column in inside if len(name_parts(column.name)) == len(path) + 1]
    if kind == "object":
        text = f"struct<{','.join(f'{name_of(name_parts(column.name)[-1:])}:{column.type}' for column in direct)}>"
    elif kind == "array":
        text = f"array<{direct[0].type}>"
    yield Column(None, name_of(path), text, comment=comment if isinstance(comment, str) else None)
    yield from inside


def _resolved(schema: Any, root: Any) -> Mapping[str, Any]:
    """Return the part of the schema that a reference inside the file names.

    Raises:
        ValueError: it is no mapping, or refers to another file.
    """
    followed = 0
    while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str):
        followed += 1
        if followed > _MOST_REFERENCES:
            raise ValueError(f"the reference {reference} leads to itself")
        if not reference.startswith("#/"):
            raise ValueError(f"the reference {reference} is not inside the file")
        schema = root
        for step in reference[2:].split("/"):
            schema = schema.get(step) if isinstance(schema, Mapping) else None
    if not isinstance(schema, Mapping):
        raise ValueError("it is no JSON schema")
    return schema


_READERS = {
    ".sql": _of_sql,
    ".parquet": _of_arrow,
    ".arrow": _of_arrow,
    ".feather": _of_arrow,
    ".json": _of_json,
}
