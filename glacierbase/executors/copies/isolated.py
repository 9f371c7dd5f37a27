"""Spark for a throw-away copy: in a sandbox, with catalogs and files in memory. Iceberg's can be copied to another JVM."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from itertools import product
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from glacierbase.errors import EngineUnavailable, GlacierbaseError
from glacierbase.executors import CopiedView, CopyCheckpoint, CopyState, Session
from glacierbase.executors.copies.session_catalog import SessionCatalog
from glacierbase.executors.spark.errors import map_error
from glacierbase.executors.spark.local import LocalExecutor
from glacierbase.executors.spark.sandbox import JvmSandbox
from glacierbase.executors.spark.session import SparkSessionPort, private, share_catalogs
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_of, spark_identifier
from glacierbase.run.run import Run
from glacierbase.sql.qualified import DEFAULT_CATALOG

P = ParamSpec("P")
T = TypeVar("T")

# Functions that call any static method of a class in the JVM.
_CALLS_CLASSES = ("java_method", "reflect", "try_reflect")
Name = tuple[str, ...]
# py4j sends a longer answer in several packets, and the last one only when the operating system has acknowledged the others: 40 ms
# later.
_MOST_CHARACTERS = 7000
# The private maps of an InMemoryCatalog, in the order of `CatalogsListing`.
_MAPS = ("namespaces", "tables", "views")


def _mapping_errors(method: Callable[P, T]) -> Callable[P, T]:
    """Map the JVM's exceptions in a method to engine errors."""

    @wraps(method)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except GlacierbaseError:
            raise
        except Exception as error:
            raise map_error(error, "") from error

    return run


class IsolatedExecutor(LocalExecutor):
    """Spark in a sandbox. Its catalogs are Iceberg's InMemoryCatalog and Spark's own, and end with it."""

    def __init__(self, catalog: Catalog, run: Run, folder: Path, names: Sequence[str]) -> None:
        """Args:
        folder: an existing, empty folder for the sandbox.
        names: the names of the Iceberg catalogs, and of Spark's own.
        """
        super().__init__(catalog, run, sandbox=JvmSandbox(folder))
        self.runs_queries = True
        self._names = [name for name in names if name != DEFAULT_CATALOG]
        try:
            self._prepare(folder)
        except BaseException:
            self.close()
            raise

    @_mapping_errors
    def _prepare(self, folder: Path) -> None:
        if self._jvm.java.lang.System.getSecurityManager() is None:
            what = f"catalog {self._catalog.name}: Java started without its boundary"
            raise EngineUnavailable("SPARK_UNAVAILABLE", what, "set JAVA_HOME to a Java 17 or 21")
        # Before a format does: its jar may not load a library.
        self._jvm.org.xerial.snappy.Snappy.getNativeLibraryVersion()
        self._jvm.com.github.luben.zstd.util.Native.load()
        # Spark copies the files that a statement adds, from memory too, into this folder, which no code may create.
        refused = self._jvm.scala.Option.apply(str(folder / "added"))
        getattr(self._jvm.org.apache.spark.SparkEnv.get(), "driverTmpDir_$eq")(refused)
        for name in self._names:  # A statement loads the catalog; the other calls here use it.
            self._spark.sql(f"SHOW NAMESPACES IN {spark_identifier(name)}")
        manager = self._spark._jsparkSession.sessionState().catalogManager()
        self._memory = Memory(
            self._local.gateway.py4j, {name: manager.catalog(name).icebergCatalog() for name in self._names}
        )
        self._session_catalog = SessionCatalog(self._spark)

    @property
    def _jvm(self) -> Any:
        return self._local.gateway.py4j.jvm

    def _new_session(self, *, bookkeeping: bool) -> Session:
        spark = self._spark.newSession()
        share_catalogs(self._spark, spark, self._names)
        functions = spark._jsparkSession.sessionState().functionRegistry()
        for name in _CALLS_CLASSES:
            functions.dropFunction(self._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name))
        return _SharedSession(spark, bookkeeping=bookkeeping)

    @_mapping_errors
    def make_namespace(self, name: str, levels: Sequence[str]) -> None:
        """Create a namespace of a catalog and its parents, unless they exist."""
        if name == DEFAULT_CATALOG:
            self._session_catalog.make_database(*levels)
        else:
            self._memory.make_namespace((name, *levels))

    @_mapping_errors
    def locations(self) -> dict[str, str]:
        """Return the location of the metadata of each table, by the table's name as the history records names."""
        tables = {name_of(name): location for name, location in self._memory.listing().tables.items()}
        return tables | self._session_catalog.locations()

    @_mapping_errors
    def metadata(self, location: str) -> str:
        """Return the metadata of a table, as JSON by Iceberg's specification, or as `CopyExecutor` describes other formats."""
        return self._session_catalog.metadata(location) or self._memory.metadata(location)

    @_mapping_errors
    def views(self) -> dict[str, CopiedView]:
        """Return the views, by their names as the history records names."""
        return {name_of(name): view for name, view in self._memory.views()} | self._session_catalog.views()

    @_mapping_errors
    def state(self) -> CopyState | None:
        """Return the content of the copy; None if anything is outside of its Iceberg catalogs."""
        return self._memory.state() if self._is_whole() and self._session_catalog.is_empty() else None

    @_mapping_errors
    def restore(self, state: CopyState) -> None:
        """Fill an empty copy with the state of another."""
        self._memory.restore(state)

    @_mapping_errors
    def checkpoint(self) -> CopyCheckpoint:
        """Return the content of the copy, for `rewind`."""
        content = self._memory.checkpoint(), self._session_catalog.checkpoint()
        return CopyCheckpoint(content, self._is_whole())

    @_mapping_errors
    def rewind(self, checkpoint: CopyCheckpoint) -> None:
        """Set the content of the catalogs to that of a checkpoint of this copy."""
        self._spark.catalog.clearCache()
        memory, session_catalog = checkpoint.content
        self._memory.rewind(memory)
        self._session_catalog.rewind(session_catalog)

    def _is_whole(self) -> bool:
        """Return whether no function and no global view is stored, which a checkpoint does not hold."""
        views = self._spark._jsparkSession.sharedState().globalTempViewManager().listViewNames("*")
        return not views.size() and not self._session_catalog.holds_functions()

    def close(self, grace_seconds: float = 0) -> None:
        """Kill the JVM: its folder is removed, and it has nothing to save."""
        with suppress(Exception):  # The JVM may have ended.
            super().close(grace_seconds)


class _SharedSession(SparkSessionPort):
    """A session whose catalogs belong to all sessions."""

    def close(self) -> None:
        """Close nothing: the catalogs, and their tables, outlive the session."""


@dataclass(frozen=True, slots=True)
class CatalogsListing:
    """What the catalogs hold. A name begins with its catalog.

    Attributes:
        namespaces: properties by name, parents first.
        tables, views: locations of the metadata by name.
    """

    namespaces: Mapping[Name, Mapping[str, str]]
    tables: Mapping[Name, str]
    views: Mapping[Name, str]


@dataclass(frozen=True, slots=True)
class CatalogsCheckpoint:
    """The content of the catalogs at one moment, in the JVM.

    Attributes:
        maps: copies of the maps of the catalogs, and then of the map of all files.
    """

    listing: CatalogsListing
    maps: Sequence[Any] = field(repr=False)


class Memory:
    """The Iceberg catalogs of a JVM, by their names in Spark. Without one, the JVM need not have Iceberg's classes."""

    def __init__(self, gateway: Any, catalogs: Mapping[str, Any]) -> None:
        """Args:
        gateway: py4j's gateway.
        """
        self._catalogs, self._maps = catalogs, [private(held, name) for held in catalogs.values() for name in _MAPS]
        self._views: dict[str, CopiedView] = {}
        self._new_map = gateway.jvm.java.util.HashMap
        self._content = self._new_map()
        if catalogs:
            self._open(gateway)

    def _open(self, gateway: Any) -> None:
        iceberg = gateway.jvm.org.apache.iceberg
        # Kept, because py4j resolves a class by each part of its name.
        self._identifiers, self._all_namespaces = iceberg.catalog.TableIdentifier, iceberg.catalog.Namespace
        self._table_parser, self._view_parser = iceberg.TableMetadataParser, iceberg.view.ViewMetadataParser
        self._files = iceberg.inmemory.InMemoryFileIO()
        self._content = private(self._files, "IN_MEMORY_FILES")  # The map of all files.
        self._new_strings: Callable[[int], Any] = lambda size: gateway.new_array(gateway.jvm.java.lang.String, size)
        self._new_writer, self._generators = gateway.jvm.java.io.StringWriter, iceberg.util.JsonUtil.factory()
        self._json = iceberg.shaded.com.fasterxml.jackson.databind.ObjectMapper()
        iceberg.rest.RESTSerializers.registerAll(self._json)
        # The keys of each map, and the map, in whose JSON keys are ambiguous. One call to the JVM lists all catalogs.
        self._listed = gateway.jvm.java.util.ArrayList()
        for content in self._maps:
            self._listed.add(content.keySet())
            self._listed.add(content)

    def make_namespace(self, name: Name) -> None:
        """Create a namespace and its parents, unless they exist."""
        for end in range(2, len(name) + 1):
            self._make_namespace(name[:end], {})

    def listing(self) -> CatalogsListing:
        """Return what the catalogs hold."""
        if not self._catalogs:
            return CatalogsListing({}, {}, {})
        writer = self._new_writer()
        self._json.writeValue(writer, self._listed)
        listed = iter(json.loads(_text(writer), object_pairs_hook=list))
        content: dict[str, dict[Name, Any]] = {kind: {} for kind in _MAPS}
        for catalog, kind in product(self._catalogs, _MAPS):
            for key, (_, value) in zip(next(listed), next(listed), strict=True):
                if kind == "namespaces":
                    content[kind][(catalog, *key)] = dict(value)
                else:
                    identifier = dict(key)
                    content[kind][(catalog, *identifier["namespace"], identifier["name"])] = value
        return CatalogsListing(**{kind: dict(sorted(held.items())) for kind, held in content.items()})

    def views(self) -> Iterator[tuple[Name, CopiedView]]:
        """Yield the name of each view, and the view. The metadata at a location is read once."""
        for name, location in self.listing().views.items():
            if location not in self._views:
                view = self._view_parser.read(self._files.newInputFile(location))
                self._views[location] = CopiedView(str(view.uuid()), view.currentVersionId(), location)
            yield name, self._views[location]

    def metadata(self, location: str) -> str:
        """Return the metadata of a table, as JSON by Iceberg's specification."""
        writer = self._new_writer()
        generator = self._generators.createGenerator(writer)
        self._table_parser.toJson(self._table_parser.read(self._files, location), generator)
        generator.flush()
        return _text(writer)

    def checkpoint(self) -> CatalogsCheckpoint:
        """Return the content of the catalogs."""
        return CatalogsCheckpoint(self.listing(), [self._new_map(content) for content in (*self._maps, self._content)])

    def rewind(self, checkpoint: CatalogsCheckpoint) -> None:
        """Set the content of the catalogs to that of a checkpoint."""
        for content, kept in zip((*self._maps, self._content), checkpoint.maps, strict=True):
            content.clear()
            content.putAll(kept)
        # A namespace's properties are changed in place, in the copy of the map, too.
        changed = self.listing().namespaces
        for name, properties in checkpoint.listing.namespaces.items():
            if changed[name] != properties:
                private(self._catalogs[name[0]], "namespaces")[self._namespace(name[1:])] = self._new_map(properties)

    def state(self) -> CopyState:
        """Return the content of the catalogs. Earlier metadata of a table or a view is left out: nothing reads it."""
        listing = self.listing()
        used = {*listing.tables.values(), *listing.views.values()}
        files = self._content
        kept = (file for file in files if file in used or not file.endswith(".metadata.json"))
        content = {name: bytes(files[name]) for name in kept}
        return CopyState(listing.namespaces, listing.tables, listing.views, content)

    def restore(self, state: CopyState) -> None:
        """Fill empty catalogs with a state."""
        for location, content in state.files.items():
            self._files.addFile(location, content)
        for name, properties in state.namespaces.items():  # Parents come first.
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


def _text(writer: Any) -> str:
    """Return the content of a StringWriter."""
    content = writer.getBuffer()
    size = content.length()
    places = range(0, size, _MOST_CHARACTERS)
    return "".join(content.substring(start, min(start + _MOST_CHARACTERS, size)) for start in places)
