"""Test beds: a catalog on a real engine or server, an executor on it, and the catalog file that describes it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from glacierbase.executors import Executor, Session, open_executor
from glacierbase.executors.spark.session import SparkSessionPort
from glacierbase.model.catalog import Catalog
from glacierbase.run.run import Run
from tests.support.catalog_files import dynamodb_store
from tests.support.project_folder import ProjectFolder, only_catalog


@dataclass
class LakeBed:
    """A real Spark with the Iceberg catalog `lake`."""

    catalog: Any
    executor: Any
    text: str

    @property
    def spark(self) -> Any:
        """The SparkSession that a user of the Python API would pass."""
        return self.executor._spark

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        # A new session: the catalog of an old one may have cached the table.
        return [tuple(row) for row in self.spark.newSession().sql(sql).collect()]


@dataclass
class CatalogBed:
    """A catalog that a server keeps, reached through sessions of another bed's Spark."""

    catalog: Any
    executor: Any
    text: str

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(self.executor.open_session()) as session:
            return [tuple(row) for row in session.query(sql)]


@dataclass
class WebBed(CatalogBed):
    """A REST catalog and its server."""

    server: Any


@dataclass
class RemoteLake:
    """A Spark Connect server, and a project with the catalog `remote` on it."""

    catalog: Any
    executor: Any
    project: ProjectFolder
    text: str


@dataclass
class SnowBed:
    """A Snowflake, emulated or real."""

    catalog: Any
    executor: Any
    text: str

    def schema(self) -> str:
        """Create a schema; return its full name."""
        name = f"{self.catalog.store.catalog}.T{uuid.uuid4().hex[:8]}".upper()
        self.executor.open_session().execute(f"CREATE SCHEMA {name}")
        return name

    def catalog_file(self, lease: str = "60s") -> str:
        """Return a catalog file whose history and lock are in a new namespace."""
        store = f"catalog: {self.catalog.store.catalog}, namespace: g{uuid.uuid4().hex[:8]}, lockLease: {lease}"
        return f"{self.text}store: {{{store}}}\n"

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.executor.open_session().query(sql)


@dataclass
class DynamoBed(SnowBed):
    """A Snowflake whose history and lock are in DynamoDB at an address."""

    address: str

    def catalog_file(self, lease: str = "60s") -> str:
        return f"{self.text}store: {dynamodb_store(self.address, lockLease=lease)}\n"


class _Sessions:
    """Sessions of a Spark that was started with other catalogs than these."""

    dialect = "spark"

    def __init__(self, spark: Any, catalog: Catalog) -> None:
        self._spark = spark
        self._conf = {key: value for key, value in catalog.spark_conf.items() if ".catalog." in key}

    def open_session(self, *, bookkeeping: bool = False) -> Session:
        session = self._spark.newSession()
        for key, value in self._conf.items():
            session.conf.set(key, value)
        return SparkSessionPort(session, bookkeeping=bookkeeping)


@contextmanager
def lake_bed(text: str, folder: Path) -> Iterator[LakeBed]:
    """Start a Spark on the catalog that `text` describes, with a project in `folder`."""
    ProjectFolder(folder).catalog(text, "contract")
    with opened(folder) as (catalog, executor):
        yield LakeBed(catalog, executor, text)


def catalog_bed(lake: LakeBed, text: str, folder: Path) -> CatalogBed:
    """Return the catalog that `text` describes, with sessions of `lake` on it and a project in `folder`."""
    ProjectFolder(folder).catalog(text, "contract")
    catalog = only_catalog(folder)
    return CatalogBed(catalog, _Sessions(lake.spark, catalog), text)


@contextmanager
def snow_bed(text: str, database: str, folder: Path) -> Iterator[SnowBed]:
    """Open an executor on the Snowflake that `text` describes, with a project in `folder`."""
    home = folder / "project"
    ProjectFolder(home).catalog(f"{text}store: {{catalog: {database}}}\n", "contract")
    with opened(home) as (catalog, executor):
        yield SnowBed(catalog, executor, text)


@contextmanager
def opened(root: Path) -> Iterator[tuple[Catalog, Executor]]:
    """Open the only catalog of a project, and an executor on it. Spark starts in the project: it creates a folder there."""
    catalog = only_catalog(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        executor = open_executor(catalog, Run.here(root))
    with closing(executor):
        yield catalog, executor


def with_own_namespace(catalog: Catalog) -> Catalog:
    """Return the catalog with history and lock in a new namespace."""
    return replace(catalog, store=replace(catalog.store, namespace=f"g{uuid.uuid4().hex[:8]}"))
