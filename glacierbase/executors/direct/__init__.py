"""Plain DDL of Iceberg without an engine: an executor on PyIceberg.

- `files`: which files run without the engine of their catalog.
- `executor`, `lakes`: the executor and its sessions; the catalogs that statements name.
- `plain`, `plain_tables`, `plain_types`: which statements run without an engine, and why the others do not.
- `ddl/`: what each statement does to the metadata.
- `table_versions`: the versions of users' tables and of namespaces, and whether a change of one is that of a statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glacierbase.executors import CopyExecutor, EngineType, Executor
from glacierbase.formats import ICEBERG
from glacierbase.model.catalog import Catalog
from glacierbase.model.keys import WORDS, Key, Kind
from glacierbase.sql.dialects import SPARK

if TYPE_CHECKING:
    from glacierbase.run.run import Run


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
        return {f"spark.sql.catalog.{name}": ICEBERG.catalogs[0], "spark.sql.defaultCatalog": name} if name else {}

    def open_executor(self, catalog: Catalog, run: Run) -> Executor:  # noqa: ARG002 (the port's)
        """Open the catalog when the first statement needs it."""
        from glacierbase.executors.direct.executor import IcebergExecutor

        return IcebergExecutor(catalog)

    def open_copy(self, catalog: Catalog, run: Run, folder: Path, names: Sequence[str]) -> CopyExecutor:  # noqa: ARG002 (the port's)
        """Open an empty catalog in memory, which has no files."""
        from glacierbase.executors.copies.memory_copy import MemoryCopy

        return MemoryCopy(catalog)

    def given_parts(self, catalog: Catalog) -> int:  # noqa: ARG002 (the port's)
        """Count the catalog; no namespace is the default."""
        return 1


ENGINE = Iceberg()
