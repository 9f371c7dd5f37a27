"""Iceberg without a JVM: catalogs through PyIceberg, for history and lock, for the shapes of tables, and for plain DDL.

Catalogs:
- `opened`, `properties`: open a catalog; translate Spark's configuration for PyIceberg.
- `guard`, `rest`, `sql`, `glue`, `hive`: the catalogs, which load no code that a server or a table names.
- `errors`: exceptions of PyIceberg as engine errors.

Tables:
- `shape`, `versions`, `table_versions`: the shapes and the versions of users' tables, and of namespaces.
- `metadata`: metadata with types that PyIceberg does not know, and with parts that its copies share.
- `preserved`: whether a commit of PyIceberg would lose a part of a table's metadata.
- `values`, `arrow`: the values of a column of a user's table; the columns of an Arrow or Parquet file.

Statements:
- `executor`, `lakes`: the executor and its sessions; the catalogs that statements name.
- `plain`, `plain_tables`, `plain_types`: which statements run without an engine, and why the others do not.
- `ddl/`: what each statement does to the metadata.
- `memory`, `memory_copy`: the same on tables without files; the throw-away copy of `review`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glacierbase.executors import CopyExecutor, EngineType, Executor
from glacierbase.model.catalog import Catalog
from glacierbase.model.keys import WORDS, Key, Kind
from glacierbase.sql.dialects import SPARK

if TYPE_CHECKING:
    from glacierbase.run.run import Run

_SPARK_CATALOG = "org.apache.iceberg.spark.SparkCatalog"


class Iceberg(EngineType):
    """One catalog of Iceberg, in which plain DDL runs through PyIceberg; its files are in Spark's dialect."""

    name = "iceberg"
    dialect = SPARK.name
    keys = (
        Key("name", "The first part of its tables' names.", type=WORDS, required=True),
        Key("properties", "PyIceberg's properties of the catalog.", Kind.KEYS, required=True),
    )
    default_catalog = ("name",)
    extra = "iceberg"
    has_copies = True
    is_direct = True

    def implied_conf(self, conf: Mapping[str, Any]) -> Mapping[str, str]:
        """Return settings by which names of tables begin with the catalog."""
        name = conf.get("name") or ""
        return {f"spark.sql.catalog.{name}": _SPARK_CATALOG, "spark.sql.defaultCatalog": name} if name else {}

    def open_executor(self, catalog: Catalog, run: Run) -> Executor:  # noqa: ARG002 (the port's)
        """Open the catalog when the first statement needs it."""
        from glacierbase.executors.iceberg.executor import IcebergExecutor

        return IcebergExecutor(catalog)

    def open_copy(self, catalog: Catalog, run: Run, folder: Path, names: Sequence[str]) -> CopyExecutor:  # noqa: ARG002 (the port's)
        """Open an empty catalog in memory, which has no files."""
        from glacierbase.executors.iceberg.memory_copy import MemoryCopy

        return MemoryCopy(catalog)

    def given_parts(self, catalog: Catalog) -> int:  # noqa: ARG002 (the port's)
        """Count the catalog; no namespace is the default."""
        return 1


ENGINE = Iceberg()
