"""What Iceberg's InMemoryCatalog and InMemoryFileIO hold in the memory of a JVM: read it, and write it into another JVM.

Tested with Iceberg 1.12. InMemoryFileIO has one map of files for the whole JVM, and no method that lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from glacierbase.executors import CopiedView, CopyState

Name = tuple[str, ...]


class Memory:
    """The Iceberg catalogs of a JVM, by their names in Spark."""

    def __init__(self, gateway: Any, catalogs: Mapping[str, Any]) -> None:
        """Args:
        gateway: of py4j.
        """
        iceberg = gateway.jvm.org.apache.iceberg
        # Held, because py4j looks a class up by each part of its name.
        self._identifiers, self._all_namespaces = iceberg.catalog.TableIdentifier, iceberg.catalog.Namespace
        self._parser, self._files = iceberg.TableMetadataParser, iceberg.inmemory.InMemoryFileIO()
        self._new_strings: Callable[[int], Any] = lambda size: gateway.new_array(gateway.jvm.java.lang.String, size)
        self._catalogs = catalogs

    def make_namespace(self, name: Name) -> None:
        """Create a namespace, and those above it, unless it exists."""
        for end in range(2, len(name) + 1):
            self._make_namespace(name[:end], {})

    def tables(self) -> Iterator[tuple[Name, str]]:
        """Yield the name of each table, and the location of its metadata."""
        for name, catalog, namespace in self._namespaces():
            for each in catalog.listTables(namespace):
                yield (*name, each.name()), catalog.loadTable(each).operations().current().metadataFileLocation()

    def views(self) -> Iterator[tuple[Name, CopiedView]]:
        """Yield the name of each view, and the view."""
        for name, catalog, namespace in self._namespaces():
            for each in catalog.listViews(namespace):
                view = catalog.loadView(each)
                location = view.operations().current().metadataFileLocation()
                yield (
                    (*name, each.name()),
                    CopiedView(view.uuid().toString(), view.currentVersion().versionId(), location),
                )

    def metadata(self, location: str) -> str:
        """Return the metadata of a table, as JSON by Iceberg's specification."""
        return str(self._parser.toJson(self._parser.read(self._files, location)))

    def state(self) -> CopyState:
        """Return all that the catalogs hold. Earlier metadata of a table or a view is left out: nothing reads it."""
        namespaces = {
            name: dict(catalog.loadNamespaceMetadata(namespace)) for name, catalog, namespace in self._namespaces()
        }
        tables = dict(self.tables())
        views = {name: view.location for name, view in self.views()}
        used = {*tables.values(), *views.values()}
        files = self._content()
        kept = (each for each in files if each in used or not each.endswith(".metadata.json"))
        return CopyState(namespaces, tables, views, {each: bytes(files[each]) for each in kept})

    def restore(self, state: CopyState) -> None:
        """Let empty catalogs hold a state."""
        for location, content in state.files.items():
            self._files.addFile(location, content)
        for name, properties in state.namespaces.items():  # A namespace is after the one around it.
            self._make_namespace(name, properties)
        for name, location in state.tables.items():
            self._catalogs[name[0]].registerTable(self._identifier(name), location)
        for name, location in state.views.items():
            self._catalogs[name[0]].registerView(self._identifier(name), location)

    def _make_namespace(self, name: Name, properties: Mapping[str, str]) -> None:
        catalog, namespace = self._catalogs[name[0]], self._namespace(name[1:])
        if not catalog.namespaceExists(namespace):
            catalog.createNamespace(namespace, dict(properties))

    def _identifier(self, name: Name) -> Any:
        return self._identifiers.of(self._namespace(name[1:-1]), name[-1])

    def _namespace(self, levels: Name) -> Any:
        array = self._new_strings(len(levels))
        for index, level in enumerate(levels):
            array[index] = level
        return self._all_namespaces.of(array)

    def _namespaces(self) -> Iterator[tuple[Name, Any, Any]]:
        """Yield the name, the catalog and the object of each namespace, one after the namespace around it."""
        for name, catalog in self._catalogs.items():
            for namespace in self._all(catalog, catalog.listNamespaces()):
                yield (name, *namespace.levels()), catalog, namespace

    def _all(self, catalog: Any, found: Iterable[Any]) -> Iterator[Any]:
        for namespace in found:
            yield namespace
            yield from self._all(catalog, catalog.listNamespaces(namespace))

    def _content(self) -> Any:
        """Return the map of all files."""
        field = self._files.getClass().getDeclaredField("IN_MEMORY_FILES")
        field.setAccessible(True)
        return field.get(None)
