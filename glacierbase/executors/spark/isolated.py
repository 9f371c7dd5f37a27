"""Spark for a throw-away copy: in a cell, with Iceberg catalogs that live in its memory and are shared by all sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from glacierbase.errors import EngineUnavailable, GlacierbaseError
from glacierbase.executors import Session
from glacierbase.executors.spark.catalogs import share_catalogs
from glacierbase.executors.spark.cell import Cell
from glacierbase.executors.spark.errors import map_error
from glacierbase.executors.spark.local import LocalExecutor
from glacierbase.executors.spark.session import SparkSessionPort
from glacierbase.model.catalog import Catalog
from glacierbase.model.names import name_of, spark_identifier
from glacierbase.run.run import Run

P = ParamSpec("P")
T = TypeVar("T")

# Functions that call any static method of a class in the JVM.
_CALLS_CLASSES = ("java_method", "reflect", "try_reflect")


def _mapping_errors(method: Callable[P, T]) -> Callable[P, T]:
    """Raise what the JVM raises in a method as an engine error."""

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
    """Spark in a cell. Its catalogs are Iceberg's InMemoryCatalog, and end with it."""

    def __init__(self, catalog: Catalog, run: Run, folder: Path, names: Sequence[str]) -> None:
        """Args:
        folder: the folder of the cell; it exists, and nothing is in it.
        names: of the Iceberg catalogs.
        """
        super().__init__(catalog, run, cell=Cell(folder))
        self._names = names
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    @_mapping_errors
    def _prepare(self) -> None:
        if self._jvm.java.lang.System.getSecurityManager() is None:
            what = f"catalog {self._catalog.name}: Java started without its boundary"
            raise EngineUnavailable("SPARK_UNAVAILABLE", what, "set JAVA_HOME to a Java 17 or 21")
        for name in self._names:  # A statement loads the catalog; the other calls here use it.
            self._spark.sql(f"SHOW NAMESPACES IN {spark_identifier(name)}")

    @property
    def _jvm(self) -> Any:
        return self._gateway.py4j.jvm

    def _new_session(self, *, bookkeeping: bool) -> Session:
        spark = self._spark.newSession()
        share_catalogs(self._spark, spark, self._names)
        functions = spark._jsparkSession.sessionState().functionRegistry()
        for name in _CALLS_CLASSES:
            functions.dropFunction(self._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name))
        return _SharedSession(spark, bookkeeping=bookkeeping)

    def _catalog_of(self, name: str) -> Any:
        return self._spark._jsparkSession.sessionState().catalogManager().catalog(name).icebergCatalog()

    @_mapping_errors
    def make_namespace(self, name: str, levels: Sequence[str]) -> None:
        """Create a namespace of a catalog, and those above it, unless it exists."""
        catalog = self._catalog_of(name)
        for end in range(1, len(levels) + 1):
            namespace = self._namespace(levels[:end])
            if not catalog.namespaceExists(namespace):
                catalog.createNamespace(namespace)

    def _namespace(self, levels: Sequence[str]) -> Any:
        array = self._gateway.py4j.new_array(self._jvm.java.lang.String, len(levels))
        for index, level in enumerate(levels):
            array[index] = level
        return self._jvm.org.apache.iceberg.catalog.Namespace.of(array)

    @_mapping_errors
    def locations(self) -> dict[str, str]:
        """Return the location of the metadata of each table, by the table's name as the history records names."""
        return {table: location for name in self._names for table, location in self._tables(name)}

    def _tables(self, name: str) -> Iterator[tuple[str, str]]:
        catalog = self._catalog_of(name)
        for namespace in self._namespaces(catalog, catalog.listNamespaces()):
            for each in catalog.listTables(namespace):
                parts = (name, *namespace.levels(), each.name())
                yield name_of(parts), catalog.loadTable(each).operations().current().metadataFileLocation()

    def _namespaces(self, catalog: Any, found: Iterable[Any]) -> Iterator[Any]:
        for namespace in found:
            yield namespace
            yield from self._namespaces(catalog, catalog.listNamespaces(namespace))

    @_mapping_errors
    def metadata(self, location: str) -> str:
        """Return the metadata of a table, as JSON by Iceberg's specification."""
        iceberg = self._jvm.org.apache.iceberg
        parser = iceberg.TableMetadataParser
        return str(parser.toJson(parser.read(iceberg.inmemory.InMemoryFileIO(), location)))

    def close(self, grace_seconds: float = 0) -> None:
        """Kill the JVM: its folder is removed, and it has nothing to save."""
        with suppress(Exception):  # It may have ended.
            super().close(grace_seconds)


class _SharedSession(SparkSessionPort):
    """A session whose catalogs belong to all sessions."""

    def close(self) -> None:
        """Close nothing: the catalogs, and their tables, outlive the session."""
