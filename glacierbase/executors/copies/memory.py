"""A catalog of Iceberg in the memory of this process: tables without files, whatever their locations."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from pyiceberg.catalog import Catalog, MetastoreCatalog, PropertiesUpdateSummary
from pyiceberg.exceptions import (
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import update_table_metadata

from glacierbase.declared.writer import creation
from glacierbase.errors import NotPlain
from glacierbase.executors.direct.executor import IcebergSession
from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from glacierbase.executors.pyiceberg.guard import Guarded, NoFiles
from glacierbase.executors.pyiceberg.metadata import with_shared_parts
from glacierbase.model.catalog import Catalog as ConfiguredCatalog
from glacierbase.model.shape import Shape
from glacierbase.sql import read
from glacierbase.sql.dialects import SPARK

_Identifier = tuple[str, ...]
_LOCATION = "memory://copy"
# Namespaces with their properties, and tables.
MemoryContent: TypeAlias = tuple[dict[_Identifier, dict[str, str]], dict[_Identifier, Table]]


class MemoryCatalog(Guarded, MetastoreCatalog):  # type: ignore[misc]
    """The metadata of tables, by name. No file is read or written."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._namespaces: dict[_Identifier, dict[str, str]] = {}
        self._tables: dict[_Identifier, Table] = {}

    def create_table(
        self,
        identifier: Any,
        schema: Any,
        location: str | None = None,
        partition_spec: Any = UNPARTITIONED_PARTITION_SPEC,
        sort_order: Any = UNSORTED_SORT_ORDER,
        properties: Mapping[str, str] = {},
    ) -> Table:
        """Create a table."""
        name = Catalog.identifier_to_tuple(identifier)
        self.load_namespace_properties(name[:-1])
        if name in self._tables:
            raise TableAlreadyExistsError(".".join(name))
        place = location or "/".join((_LOCATION, *name))
        metadata = new_table_metadata(schema, partition_spec, sort_order, place, dict(properties))
        return self._kept(name, metadata)

    def _kept(self, name: _Identifier, metadata: TableMetadata) -> Table:
        return self.keep(name, metadata, f"{metadata.location}/metadata/{uuid.uuid4()}.metadata.json")

    def keep(self, name: _Identifier, metadata: TableMetadata, location: str) -> Table:
        """Set the metadata of a table."""
        self._tables[name] = Table(name, with_shared_parts(metadata), location, NoFiles(), self)
        return self._tables[name]

    def make_namespace(self, name: _Identifier, properties: Mapping[str, str] | None = None) -> None:
        """Create a namespace and its parents, unless they exist."""
        for end in range(1, len(name) + 1):
            self._namespaces.setdefault(name[:end], {})
        self._namespaces[name].update(properties or {})

    def content(self) -> MemoryContent:
        """Return what the catalog holds now."""
        return {name: dict(held) for name, held in self._namespaces.items()}, dict(self._tables)

    def hold(self, content: MemoryContent) -> None:
        """Set what the catalog holds."""
        namespaces, tables = content
        self._namespaces = {name: dict(held) for name, held in namespaces.items()}
        self._tables = dict(tables)

    def load_table(self, identifier: Any) -> Table:
        """Return a table."""
        name = Catalog.identifier_to_tuple(identifier)
        if name not in self._tables:
            raise NoSuchTableError(".".join(name))
        table = self._tables[name]
        return Table(name, table.metadata, table.metadata_location, table.io, self)

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        """Change a table, or create it where the updates hold the whole of it."""
        name = Catalog.identifier_to_tuple(table.name())
        current = self._tables.get(name)
        for requirement in requirements:
            requirement.validate(current.metadata if current else None)
        metadata = update_table_metadata(
            base_metadata=current.metadata if current else self._empty_table_metadata(),
            updates=updates,
            enforce_validation=current is None,
            metadata_location=current.metadata_location if current else None,
        )
        kept = current if current and metadata == current.metadata else self._kept(name, metadata)
        return CommitTableResponse(metadata=kept.metadata, metadata_location=kept.metadata_location)

    def drop_table(self, identifier: Any) -> None:
        """Remove a table."""
        self.load_table(identifier)
        del self._tables[Catalog.identifier_to_tuple(identifier)]

    def rename_table(self, from_identifier: Any, to_identifier: Any) -> Table:
        """Give a table another name."""
        table, name = self.load_table(from_identifier), Catalog.identifier_to_tuple(to_identifier)
        self.load_namespace_properties(name[:-1])
        if name in self._tables:
            raise TableAlreadyExistsError(".".join(name))
        del self._tables[table.name()]
        return self.keep(name, table.metadata, table.metadata_location)

    def create_namespace(self, namespace: Any, properties: Mapping[str, str] = {}) -> None:
        """Create a namespace; its parents need not exist."""
        name = Catalog.identifier_to_tuple(namespace)
        if name in self._namespaces:
            raise NamespaceAlreadyExistsError(".".join(name))
        self._namespaces[name] = dict(properties)

    def drop_namespace(self, namespace: Any) -> None:
        """Remove an empty namespace."""
        name = Catalog.identifier_to_tuple(namespace)
        self.load_namespace_properties(name)
        if self.list_tables(name) or self.list_namespaces(name):
            raise NamespaceNotEmptyError(".".join(name))
        del self._namespaces[name]

    def list_tables(self, namespace: Any) -> list[_Identifier]:
        """Return the tables directly inside a namespace."""
        above = Catalog.identifier_to_tuple(namespace)
        return [name for name in self._tables if name[:-1] == above]

    def list_namespaces(self, namespace: Any = ()) -> list[_Identifier]:
        """Return the namespaces directly inside another one."""
        above = Catalog.identifier_to_tuple(namespace)
        return [name for name in self._namespaces if name[:-1] == above]

    def load_namespace_properties(self, namespace: Any) -> dict[str, str]:
        """Return the properties of a namespace."""
        name = Catalog.identifier_to_tuple(namespace)
        if name not in self._namespaces:
            raise NoSuchNamespaceError(".".join(name))
        return dict(self._namespaces[name])

    def update_namespace_properties(
        self,
        namespace: Any,
        removals: set[str] | None = None,
        updates: Mapping[str, str] = {},
    ) -> PropertiesUpdateSummary:
        """Set and remove properties of a namespace."""
        properties = self.load_namespace_properties(namespace)
        summary, kept = self._get_updated_props_and_update_summary(properties, removals, dict(updates))
        self._namespaces[Catalog.identifier_to_tuple(namespace)] = kept
        return summary

    def list_views(self, namespace: Any) -> list[_Identifier]:  # noqa: ARG002 (PyIceberg's)
        """Return none."""
        return []

    def view_exists(self, identifier: Any) -> bool:  # noqa: ARG002 (PyIceberg's)
        """Return that there is none."""
        return False

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("a catalog in memory has neither views nor files")

    register_table = register_view = create_view = drop_view = load_view = _refused


class MemoryLakes(PyIcebergCatalogs):
    """Catalogs in memory in place of those that a catalog file declares. A namespace exists once a table is created in it."""

    def open(self, name: str) -> MemoryCatalog:
        """Return the catalog in memory."""
        opened: MemoryCatalog = self._opened.setdefault(name, MemoryCatalog(name))
        return opened

    def _check(self, table: Table) -> None:
        """Check nothing: no other client wrote the metadata."""

    def tables(self) -> dict[_Identifier, Table]:
        """Return all tables, by names that begin with the catalog."""
        return {(name, *table): held for name in self.opened for table, held in self.open(name).content()[1].items()}

    def namespaces(self) -> dict[_Identifier, dict[str, str]]:
        """Return all namespaces with their properties, by names that begin with the catalog, parents first."""
        listed = {
            (name, *levels): held for name in self.opened for levels, held in self.open(name).content()[0].items()
        }
        return dict(sorted(listed.items()))

    def content(self) -> dict[str, MemoryContent]:
        """Return what the catalogs hold now."""
        return {name: self.open(name).content() for name in self.opened}

    def hold(self, content: Mapping[str, MemoryContent]) -> None:
        """Set what the catalogs hold; one that is not named is empty."""
        for name in self.opened:
            self.open(name).hold(content.get(name, ({}, {})))


def shapes_after(
    catalog: ConfiguredCatalog, statements: Iterable[str], start: Iterable[Shape] = ()
) -> tuple[Shape, ...]:
    """Return the tables after plain statements, with the ids that new tables get. Contacts nothing.

    Args:
        start: the tables before the statements.

    Raises:
        StatementRefused: a statement is not plain, or its table does not admit it; or one of `start` is no such table.
    """
    lakes = MemoryLakes(catalog)
    session = IcebergSession(lakes)
    for sql in (*_created(start), *statements):
        for name in read(sql, SPARK.name).targets:
            opened, identifier = lakes.place(name)
            opened.make_namespace(identifier[:-1])
        session.execute(sql)
    return tuple(shape for name in lakes.opened for table in lakes.listed(name) if (shape := session.shape(table.name)))


def _created(shapes: Iterable[Shape]) -> Iterator[str]:
    """Yield the statements that create tables.

    Raises:
        NotPlain: there are no statements for the whole of one.
    """
    for shape in shapes:
        made = creation(shape)
        if made.impossible:
            raise NotPlain(f"{shape.table} has no copy in memory: {made.impossible[0]}")
        yield from made.statements
