"""Generated histories: the statements of files, and what other clients do between and inside them."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, TableAlreadyExistsError, ValidationError
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, StructType

NAMESPACES = ("a", "b")
_TABLES = ("t", "u", "events", "events_new", "events_old")
_COLUMNS = ("a", "b", "c", "d", "e", "f")
_TYPES = ("INT", "BIGINT", "STRING", "TIMESTAMP", "STRUCT<x: INT, y: STRING>")
_NAMES = {"int": "INT", "long": "BIGINT", "string": "STRING"}
_PROPERTIES = ("k1", "k2", "write.format.default", "commit.retry.num-retries")


@dataclass
class Sketch:
    """A table as a file that is being written expects it.

    Attributes:
        columns: types by name; fields inside a column by their path.
        order: by which it is sorted, by partition field and by identifier: names of columns.
    """

    name: str
    columns: dict[str, str]
    partitioning: list[tuple[str, str]] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)
    properties: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, name: str, metadata: Any) -> Sketch:
        """Return the sketch of a table by its metadata."""
        [schema] = [one for one in metadata["schemas"] if one["schema-id"] == metadata["current-schema-id"]]
        columns: dict[str, str] = {}
        names: dict[int, str] = {}
        for one in schema["fields"]:
            kind = one["type"]
            names[one["id"]] = one["name"]
            columns[one["name"]] = _NAMES.get(kind, "TIMESTAMP") if isinstance(kind, str) else "STRUCT"
            for inner in kind.get("fields", ()) if isinstance(kind, dict) else ():
                columns[f"{one['name']}.{inner['name']}"] = "INT" if inner["type"] == "int" else "STRING"
        [spec] = [one for one in metadata["partition-specs"] if one["spec-id"] == metadata["default-spec-id"]]
        [order] = [one for one in metadata["sort-orders"] if one["order-id"] == metadata["default-sort-order-id"]]
        partitioning = [
            (_applied(by["transform"], names[by["source-id"]]), by["name"])
            for by in spec["fields"]
            if by["source-id"] in names
        ]
        return cls(
            name, columns, partitioning, [names[by["source-id"]] for by in order["fields"] if by["source-id"] in names],
            [names[id_] for id_ in schema.get("identifier-field-ids", ()) if id_ in names],
            set(metadata["properties"]) & {*_PROPERTIES},
        )  # fmt: skip

    @property
    def top(self) -> list[str]:
        return [name for name in self.columns if "." not in name]

    def rename(self, old: str, new: str) -> None:
        def now(name: str) -> str:
            return new + name[len(old) :] if f"{name}.".startswith(f"{old}.") else name

        self.columns = {now(name): kind for name, kind in self.columns.items()}
        self.order, self.identifiers = [now(name) for name in self.order], [now(name) for name in self.identifiers]
        self.partitioning = [
            (text.replace(f" {old})", f" {new})") if "(" in text else now(text), name)
            for text, name in self.partitioning
        ]

    def used(self) -> set[str]:
        return {*self.order, *self.identifiers, *(text.strip(")").rpartition(" ")[2] for text, _ in self.partitioning)}


def _applied(transform: str, source: str) -> str:
    name, _, width = transform.strip("]").partition("[")
    return source if name == "identity" else f"{name}({width}, {source})" if width else f"{name}({source})"


@dataclass
class File:
    """A file to be run.

    Attributes:
        names: the qualified names of all tables that its statements name, by statement.
    """

    statements: list[str] = field(default_factory=list)
    names: list[set[str]] = field(default_factory=list)

    @property
    def sql(self) -> str:
        return ";\n".join(self.statements) + (";" if self.statements else "")


class Writer:
    """Writes the statements of one file, each valid after those before it where no other client interferes.

    Attributes:
        catalog: the name of the catalog.
        acts: each writes statements that change a table.
    """

    catalog = "lake"

    @property
    def acts(self) -> Sequence[Callable[[Writer, Sketch], object]]:
        return ACTS

    def __init__(self, chance: random.Random, tables: dict[str, Sketch]) -> None:
        """Args:
        tables: by qualified name.
        """
        self.chance = chance
        self.tables = tables
        self.file = File()
        self._used: str | None = None

    def write(self, most: int, *, may_use: bool = True) -> File:
        """Return a file of at most about this many statements.

        Args:
            may_use: whether it may choose the namespace of short names.
        """
        if may_use and self.chance.random() < 0.12:
            self._used = self.chance.choice(NAMESPACES)
            self.file.statements.append(f"USE {self.catalog}.{self._used}")
            self.file.names.append(set())
        wanted = self.chance.randint(1, most)
        while len(self.file.statements) < wanted:
            self._next()
        return self.file

    def _next(self) -> None:
        if not self.tables or self.chance.random() < 0.08:
            self._create()
            return
        table = self.chance.choice(list(self.tables.values()))
        self.chance.choice(self.acts)(self, table)

    def add(self, sql: str, *names: str) -> None:
        self.file.statements.append(sql)
        self.file.names.append(set(names))

    def alter(self, table: Sketch, clause: str) -> None:
        self.add(f"ALTER TABLE {self.written(table.name)} {clause}", table.name)

    def written(self, name: str) -> str:
        _, namespace, last = name.split(".")
        return last if self._used == namespace and self.chance.random() < 0.7 else name

    def spelled(self, column: str) -> str:
        return column.upper() if self.chance.random() < 0.1 else column

    def fresh(self, table: Sketch, inside: str = "") -> str | None:
        names = ("x", "y", "z", "w") if inside else _COLUMNS
        free = [name for name in names if f"{inside}{name}" not in table.columns]
        return inside + self.chance.choice(free) if free else None

    def free_table(self, namespace: str | None = None) -> str | None:
        names = [
            f"{self.catalog}.{space}.{name}" for space in ([namespace] if namespace else NAMESPACES) for name in _TABLES
        ]
        free = [name for name in names if name not in self.tables]
        return self.chance.choice(free) if free else None

    def _create(self, name: str | None = None, head: str = "CREATE TABLE") -> Sketch | None:
        name = name or self.free_table()
        if name is None:
            return None
        chosen = self.chance.sample(_COLUMNS, self.chance.randint(1, 3))
        columns = {"id": "BIGINT", **{column: self.chance.choice(_TYPES) for column in chosen}}
        text = ", ".join(f"{column} {kind}{' NOT NULL' if column == 'id' else ''}" for column, kind in columns.items())
        table = Sketch(name, {})
        for column, kind in columns.items():
            table.columns[column] = kind.partition("<")[0]
            if kind.startswith("STRUCT"):
                table.columns |= {f"{column}.x": "INT", f"{column}.y": "STRING"}
        more = ""
        if self.chance.random() < 0.4:
            transform = self.chance.choice(("bucket(4, id)", "id", "truncate(10, id)"))
            more += f" PARTITIONED BY ({transform})"
            table.partitioning.append((transform, ""))
        if self.chance.random() < 0.3:
            more += f" TBLPROPERTIES ('k1' = '{self.chance.randint(0, 2)}')"
            table.properties.add("k1")
        self.add(f"{head} {self.written(name)} ({text}) USING iceberg{more}", name)
        self.tables[name] = table
        return table


def _add_column(writer: Writer, table: Sketch) -> None:
    structs = [name for name, kind in table.columns.items() if kind == "STRUCT"]
    inside = f"{writer.chance.choice(structs)}." if structs and writer.chance.random() < 0.4 else ""
    name = writer.fresh(table, inside)
    if name is None:
        return
    kind = "INT" if inside else writer.chance.choice(_TYPES)
    more = writer.chance.choice(("", "", " COMMENT 'by file'", " FIRST"))
    writer.alter(table, f"ADD COLUMN {writer.spelled(name) if inside else name} {kind}{more}")
    table.columns[name] = kind.partition("<")[0]
    if kind.startswith("STRUCT"):
        table.columns |= {f"{name}.x": "INT", f"{name}.y": "STRING"}


def _drop_column(writer: Writer, table: Sketch) -> None:
    free = [name for name in table.columns if name != "id" and name.partition(".")[0] not in table.used()]
    beside = [name.partition(".")[0] for name in table.columns if "." in name]
    free = [name for name in free if "." not in name or beside.count(name.partition(".")[0]) > 1]
    if len(table.top) < 2 or not free:
        return
    name = writer.chance.choice(free)
    kind = table.columns[name]
    writer.alter(table, f"DROP COLUMN {writer.spelled(name)}")
    table.columns = {other: type_ for other, type_ in table.columns.items() if not f"{other}.".startswith(f"{name}.")}
    if "." not in name and kind != "STRUCT" and writer.chance.random() < 0.3:  # Add another one of the same name.
        writer.alter(table, f"ADD COLUMN {name} STRING")
        table.columns[name] = "STRING"


def _rename_column(writer: Writer, table: Sketch) -> None:
    old = writer.chance.choice(list(table.columns))
    inside, _, _ = old.rpartition(".")
    new = writer.fresh(table, f"{inside}." if inside else "")
    if new is None or (not inside and any(text == old for text, _ in table.partitioning)):
        return
    writer.alter(table, f"RENAME COLUMN {writer.spelled(old)} TO {new.rpartition('.')[2]}")
    table.rename(old, new)
    if not inside and writer.chance.random() < 0.3:  # Reuse the name.
        writer.alter(table, f"ADD COLUMN {old} INT")
        table.columns[old] = "INT"
        if writer.chance.random() < 0.5:
            _write_order(writer, table, old)


def _swap(writer: Writer, table: Sketch) -> None:
    free = [name for name in table.top if not any(text == name for text, _ in table.partitioning)]
    if len(free) < 2:
        return
    one, other = writer.chance.sample(free, 2)
    for old, new in ((one, "swapped"), (other, one), ("swapped", other)):
        writer.alter(table, f"RENAME COLUMN {old} TO {new}")
        table.rename(old, new)


def _alter_column(writer: Writer, table: Sketch) -> None:
    name = writer.chance.choice(list(table.columns))
    kinds = ["COMMENT '{}'".format(writer.chance.choice(("one", "two")))]
    if table.columns[name] == "INT":
        kinds += ["TYPE BIGINT", "TYPE BIGINT"]
    if "." not in name:
        kinds += ["FIRST", f"AFTER {writer.chance.choice([other for other in table.top if other != name] or ['id'])}"]
    clause = writer.chance.choice(kinds)
    if clause == f"AFTER {name}":
        return
    writer.alter(table, f"ALTER COLUMN {writer.spelled(name)} {clause}")
    if clause == "TYPE BIGINT":
        table.columns[name] = "BIGINT"


def _properties(writer: Writer, table: Sketch) -> None:
    if table.properties and writer.chance.random() < 0.3:
        key = writer.chance.choice(sorted(table.properties))
        writer.alter(table, f"UNSET TBLPROPERTIES ('{key}')")
        table.properties.discard(key)
        return
    key = writer.chance.choice(_PROPERTIES)
    value = writer.chance.choice(("parquet", "orc")) if "format" in key else str(writer.chance.randint(1, 4))
    writer.alter(table, f"SET TBLPROPERTIES ('{key}' = '{value}')")
    table.properties.add(key)


def _partition(writer: Writer, table: Sketch) -> None:
    if table.partitioning and writer.chance.random() < 0.4:
        text, name = writer.chance.choice(table.partitioning)
        if writer.chance.random() < 0.5:
            writer.alter(table, f"DROP PARTITION FIELD {text}")
            table.partitioning.remove((text, name))
        elif "id" in table.columns and not any(other.startswith("bucket(16, id") for other, _ in table.partitioning):
            writer.alter(table, f"REPLACE PARTITION FIELD {text} WITH bucket(16, id)")
            table.partitioning[table.partitioning.index((text, name))] = "bucket(16, id)", ""
        return
    free = [name for name in table.top if table.columns[name] in ("INT", "BIGINT", "STRING")]
    if not free:
        return
    transform = f"bucket({writer.chance.choice((2, 8, 32))}, {writer.chance.choice(free)})"
    if transform not in [text for text, _ in table.partitioning]:
        writer.alter(table, f"ADD PARTITION FIELD {transform}")
        table.partitioning.append((transform, ""))


def _write_order(writer: Writer, table: Sketch, name: str = "") -> None:
    free = [column for column in table.top if table.columns[column] != "STRUCT"]
    if not name and (not free or (table.order and writer.chance.random() < 0.2)):
        writer.alter(table, "WRITE UNORDERED")
        table.order = []
        return
    names = [name] if name else writer.chance.sample(free, min(len(free), writer.chance.randint(1, 2)))
    head = writer.chance.choice(("WRITE ORDERED BY", "WRITE LOCALLY ORDERED BY"))
    fields = (f"{column} {writer.chance.choice(('ASC', 'DESC'))}" for column in names)
    writer.alter(table, f"{head} {', '.join(fields)}")
    table.order = names


def _identifiers(writer: Writer, table: Sketch) -> None:
    if table.identifiers and writer.chance.random() < 0.6:
        writer.alter(table, f"DROP IDENTIFIER FIELDS {table.identifiers[0]}")
        table.identifiers = table.identifiers[1:]
    elif "id" in table.columns:
        writer.alter(table, "SET IDENTIFIER FIELDS id")
        table.identifiers = ["id"]


def _replace(writer: Writer, table: Sketch) -> None:
    properties = table.properties
    if new := writer._create(table.name, "CREATE OR REPLACE TABLE"):
        new.properties |= properties
        if writer.chance.random() < 0.7:
            _properties(writer, new)
        if writer.chance.random() < 0.5 and _partition in writer.acts:
            _partition(writer, new)


def _drop(writer: Writer, table: Sketch) -> None:
    writer.add(f"DROP TABLE {writer.written(table.name)}", table.name)
    del writer.tables[table.name]
    if writer.chance.random() < 0.6:
        writer._create(table.name)


def _rename(writer: Writer, table: Sketch, new: str | None = None) -> str | None:
    _, namespace, _ = table.name.split(".")
    new = new or writer.free_table(namespace if writer.chance.random() < 0.7 else None)
    if new is None:
        return None
    _, other, last = new.split(".")
    forms = [f"{other}.{last}", *([last] if other == namespace else [])]
    # A name of one part is in the current namespace of the session.
    written = writer.chance.choice(forms if writer._used is None else forms[:1])
    writer.add(f"ALTER TABLE {writer.written(table.name)} RENAME TO {written}", table.name, new)
    del writer.tables[table.name]
    table.name = new
    writer.tables[new] = table
    return new


def _publish(writer: Writer, table: Sketch) -> None:
    """Replace a table by a new one under its name."""
    _, namespace, last = table.name.split(".")
    name, new, old = table.name, f"lake.{namespace}.events_new", f"lake.{namespace}.events_old"
    if last != "events" or new in writer.tables:
        return
    made = writer._create(new)
    if old in writer.tables:
        writer.add(f"DROP TABLE {old}", old)
        del writer.tables[old]
    _rename(writer, table, old)
    if made:
        _rename(writer, made, name)


def _create_if_absent(writer: Writer, table: Sketch) -> None:
    writer.add(
        f"CREATE TABLE IF NOT EXISTS {writer.written(table.name)} (id BIGINT NOT NULL) USING iceberg", table.name
    )


ACTS: tuple[Callable[[Writer, Sketch], object], ...] = (
    *(_add_column,) * 5, *(_drop_column,) * 2, *(_rename_column,) * 4, *(_swap,) * 2, *(_alter_column,) * 4,
    *(_properties,) * 4, *(_partition,) * 4, *(_write_order,) * 3, *(_identifiers,) * 2, *(_replace,) * 2,
    *(_drop,) * 1, *(_rename,) * 3, *(_publish,) * 3, *(_create_if_absent,) * 1,
)  # fmt: skip


DELTA_ACTS = (
    *(_add_column,) * 5, *(_drop_column,) * 2, *(_rename_column,) * 4, *(_swap,) * 2, *(_alter_column,) * 4, *(_properties,) * 4,
    *(_replace,) * 2, _drop, _create_if_absent,
)  # fmt: skip

# Those that leave each table its name, and its parts their partitioning.
ALTERS = (_add_column, _rename_column, _swap, _alter_column, _properties, _write_order)


class OtherClient:
    """Another program, which changes the tables by PyIceberg."""

    def __init__(self, chance: random.Random, client: SqlCatalog) -> None:
        self.chance = chance
        self.client = client
        self._number = 0

    def act(self, new: Collection[str] = ()) -> None:
        """Make a change that the tables admit; none where there is no table.

        Args:
            new: names of tables that are not renamed: nothing shows then that the running file has created them.
        """
        tables = [name for space in NAMESPACES for name in self._listed(space)]
        if not tables:
            return
        name, act = self.chance.choice(tables), self.chance.choice(_FOREIGN)
        try:
            (OtherClient.add_column if act is OtherClient.rename and name in new else act)(self, name)
        except (
            ValueError,
            NotImplementedError,
            NoSuchTableError,
            ValidationError,
            TableAlreadyExistsError,
            CommitFailedException,
        ):
            with suppress(
                ValueError
            ):  # PyIceberg refuses any change of a schema with a name that a partition field has.
                self.add_column(name)

    def _listed(self, namespace: str) -> list[str]:
        return [".".join(name) for name in self.client.list_tables(namespace)]

    def _new(self) -> str:
        self._number += 1
        return f"hand{self._number}"

    def add_column(self, name: str) -> None:
        with self.client.load_table(name).update_schema() as update:
            update.add_column(self._new(), IntegerType())

    def add_as_a_file_would(self, name: str) -> None:
        fields = {one.name for one in self.client.load_table(name).schema().fields}
        free = [column for column in _COLUMNS if column not in fields]
        with self.client.load_table(name).update_schema() as update:
            update.add_column(
                self.chance.choice(free or [self._new()]), self.chance.choice((IntegerType(), StringType()))
            )

    def add_and_drop(self, name: str) -> None:
        column = self._new()
        with self.client.load_table(name).update_schema() as update:
            update.add_column(column, IntegerType())
        with self.client.load_table(name).update_schema(allow_incompatible_changes=True) as update:
            update.delete_column(column)

    def add_inside(self, name: str) -> None:
        fields = self.client.load_table(name).schema().fields
        structs = [one.name for one in fields if isinstance(one.field_type, StructType)]
        with self.client.load_table(name).update_schema() as update:
            update.add_column((*structs[:1], self._new()), IntegerType())

    def drop_column(self, name: str) -> None:
        table = self.client.load_table(name)
        used = {one.source_id for one in (*table.spec().fields, *table.sort_order().fields)}
        used |= set(table.schema().identifier_field_ids)
        free = [one.name for one in table.schema().fields if one.field_id not in used and one.name != "id"]
        if len(table.schema().fields) > 1 and free:
            with table.update_schema(allow_incompatible_changes=True) as update:
                update.delete_column(self.chance.choice(free))

    def rename_column(self, name: str) -> None:
        table = self.client.load_table(name)
        identity = {one.source_id for one in table.spec().fields}
        free = [one.name for one in table.schema().fields if one.field_id not in identity]
        if free:
            with table.update_schema() as update:
                update.rename_column(self.chance.choice(free), self._new())

    def comment(self, name: str) -> None:
        table = self.client.load_table(name)
        with table.update_schema() as update:
            update.update_column(self.chance.choice(table.schema().fields).name, doc=self._new())

    def widen(self, name: str) -> None:
        table = self.client.load_table(name)
        free = [one.name for one in table.schema().fields if isinstance(one.field_type, IntegerType)]
        if free:
            with table.update_schema() as update:
                update.update_column(self.chance.choice(free), LongType())

    def set_property(self, name: str) -> None:
        with self.client.load_table(name).transaction() as transaction:
            transaction.set_properties({self.chance.choice((*_PROPERTIES[:2], self._new())): "by hand"})

    def remove_property(self, name: str) -> None:
        table = self.client.load_table(name)
        keys = [key for key in table.properties if key in _PROPERTIES]
        if keys:
            with table.transaction() as transaction:
                transaction.remove_properties(self.chance.choice(keys))

    def partition(self, name: str) -> None:
        table = self.client.load_table(name)
        free = [one.name for one in table.schema().fields if isinstance(one.field_type, (IntegerType, LongType))]
        with table.update_spec() as update:
            update.add_field(self.chance.choice(free), BucketTransform(self.chance.choice((3, 5))), self._new())

    def drop_and_create(self, name: str) -> None:
        self.client.drop_table(name)
        made = NestedField(2, "made", StringType())
        self.client.create_table(name, Schema(NestedField(1, "id", LongType(), required=True), made))

    def drop(self, name: str) -> None:
        self.client.drop_table(name)

    def rename(self, name: str) -> None:
        namespace, _, _ = name.rpartition(".")
        self.client.rename_table(name, f"{namespace}.{self._new()}")


_FOREIGN: tuple[Callable[[OtherClient, str], object], ...] = (
    *(OtherClient.add_column,) * 3, *(OtherClient.add_as_a_file_would,) * 2, OtherClient.add_and_drop, OtherClient.add_inside,
    OtherClient.drop_column, *(OtherClient.rename_column,) * 2, OtherClient.comment, OtherClient.widen,
    *(OtherClient.set_property,) * 3, OtherClient.remove_property, *(OtherClient.partition,) * 2, OtherClient.drop_and_create,
    OtherClient.drop, OtherClient.rename,
)  # fmt: skip
