"""The answers of every store while another process holds a transaction open in the catalog's database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from glacierbase.errors import EngineError
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.model.catalog import Catalog
from glacierbase.stores.iceberg import open_store as open_iceberg_store
from glacierbase.stores.sql import open_store
from tests.engines.contract.test_store_contract import event
from tests.support.beds import CatalogBed, LakeBed, catalog_bed, with_own_namespace
from tests.support.catalog_files import POSTGRES_PASSWORD, WEB, WEB_TOKEN
from tests.support.foreign import foreign_reader, foreign_writer

LAKE = "spark.sql.catalog.lake"
URI = f"{LAKE}.uri"
Foreign = Callable[[str], AbstractContextManager[Any]]


@dataclass
class Bed:
    """A store with short time-outs.

    Attributes:
        third: a store on the same tables that shares no connection with it.
        database: where the catalog keeps its tables, for the driver of the foreign process.
    """

    name: str
    open: Callable[[], Any]
    third: Callable[[], Any]
    database: str


def impatient(catalog: Catalog, **conf: str) -> Catalog:
    """Return the catalog with a new namespace and a wait of a tenth of a second for SQLite."""
    found = with_own_namespace(catalog)
    uri = found.spark_conf[URI].replace("=30000", "=100")
    return replace(found, spark_conf={**found.spark_conf, URI: uri, **conf})


def sqlite_file(catalog: Catalog) -> str:
    return catalog.spark_conf[URI].removeprefix("jdbc:sqlite:").partition("?")[0]


@pytest.fixture
def iceberg_bed(iceberg_catalog: Catalog) -> Bed:
    """PyIceberg on SQLite."""
    catalog = impatient(iceberg_catalog)
    return Bed(
        catalog.name, lambda: open_iceberg_store(catalog), lambda: open_iceberg_store(catalog), sqlite_file(catalog)
    )


@pytest.fixture
def spark_bed(lake: LakeBed, tmp_path: Path) -> Bed:
    """Spark on SQLite, in new sessions."""
    made = catalog_bed(lake, lake.text.replace("=30000", "=100"), tmp_path / "spark")
    catalog = with_own_namespace(made.catalog)
    return Bed(
        catalog.name,
        lambda: open_store(catalog, made.executor),
        lambda: open_iceberg_store(catalog),
        sqlite_file(catalog),
    )


@pytest.fixture
def web_bed(lake: LakeBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    """PyIceberg on a REST server, which keeps its tables in SQLite; the third store reads SQLite without the server."""
    from tests.support.restcatalog import rest_catalog

    monkeypatch.setenv("WEB_TOKEN", WEB_TOKEN)
    with rest_catalog(lake.spark._jvm, tmp_path, WEB_TOKEN, busy_timeout=100) as (_, address):
        catalog = with_own_namespace(catalog_bed(lake, WEB.replace("ADDRESS", address), tmp_path / "web").catalog)
        database = f"{tmp_path}/rest.db"
        past = {
            "spark.sql.catalog.rest": catalog.spark_conf[LAKE],
            "spark.sql.catalog.rest.type": "jdbc",
            "spark.sql.catalog.rest.uri": f"jdbc:sqlite:{database}",
            "spark.sql.catalog.rest.jdbc.schema-version": "V1",
            "spark.sql.catalog.rest.warehouse": f"file://{tmp_path}/tables",
        }
        third = replace(catalog, spark_conf=past, store=replace(catalog.store, catalog="rest"))
        yield Bed(catalog.name, lambda: open_iceberg_store(catalog), lambda: open_iceberg_store(third), database)


@pytest.fixture
def postgres_bed(postgres: CatalogBed) -> Bed:
    """PyIceberg on PostgreSQL, which waits a second for an answer."""
    from tests.support.postgres import USER  # Needs what a machine with Snowflake alone has not.

    catalog = impatient(postgres.catalog, **{f"{LAKE}.jdbc.socketTimeout": "1"})
    login = f"user={USER} password={POSTGRES_PASSWORD}"
    database = f"{catalog.spark_conf[URI].removeprefix('jdbc:')}?{login.replace(' ', '&').replace('/', '%2F')}"
    return Bed(catalog.name, lambda: open_iceberg_store(catalog), lambda: open_iceberg_store(catalog), database)


@pytest.fixture(
    params=[
        "iceberg_bed",
        pytest.param("spark_bed", marks=pytest.mark.bed("lake")),
        pytest.param("web_bed", marks=pytest.mark.bed("lake")),
        pytest.param("postgres_bed", marks=pytest.mark.bed("postgres")),
    ]
)
def bed(request: pytest.FixtureRequest) -> Bed:
    """Every store on a database that other processes reach."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("foreign", [foreign_reader, foreign_writer])
def test_an_answer_agrees_with_what_every_other_process_sees(bed: Bed, foreign: Foreign) -> None:
    """An append or a lock that was not committed is neither reported nor read back as if it were."""
    free = free_row(LockTerms(bed.name, "dev", 60))
    held = replace(free, owner="a", fence=1)
    store = bed.open()
    store.create(free)
    store.append([event(1)])
    errors: list[EngineError] = []  # Kept, as a caller may keep them: they must hold no lock of the database.
    with foreign(bed.database):
        wrote = is_done(lambda: store.append([event(2)]), errors)
        won = is_done(lambda: store.compare_and_set(free, held), errors)
        # A reader of PostgreSQL blocks no commit; in all other cases the commit times out.
        assert wrote == won == (foreign is foreign_reader and bed.database.startswith("postgresql:"))
        expected = [1, 2] if wrote else [1], held if won else free
        assert seen(bed.third()) == expected
        assert seen(store) == expected
    assert seen(bed.third()) == expected
    store.append([event(3)])
    assert store.compare_and_set(expected[1], replace(held, beat=1))
    assert seen(bed.third()) == ([*expected[0], 3], replace(held, beat=1))


def is_done(write: Callable[[], bool | None], errors: list[EngineError]) -> bool:
    """Return whether the store reports success; append what it raised to `errors`."""
    try:
        return write() is not False
    except EngineError as error:
        errors.append(error)
        return False


def seen(store: Any) -> tuple[list[int], Any]:
    """Return the sequence numbers of the history and the row of the lock."""
    return [event.sequence for event in store.read_history()], store.read_lock()
