"""Migrations on a REST catalog whose server vends credentials that its object store refuses after five seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.catalog_files import RUNTIME, WEB
from tests.support.checkingproxy import checking_proxy
from tests.support.project_folder import ProjectFolder
from tests.support.pythoncatalog import PythonCatalog
from tests.support.vendedstore import BUCKET, SERVER_TOKEN, VendedStore, properties, vended_store

pytestmark = pytest.mark.spark

SLEEP = "IF(java_method('java.lang.Thread', 'sleep', 12000L) = 'slept', 0, 1)"
TABLE = "lake.shop.t"


@pytest.fixture
def store() -> Iterator[VendedStore]:
    with vended_store() as store:
        yield store


@pytest.fixture
def server(store: VendedStore, tmp_path: Path) -> PythonCatalog:
    """The catalog server, which has its own login to the object store."""
    return PythonCatalog(tmp_path, f"s3://{BUCKET}", **properties(store.address, SERVER_TOKEN))


@pytest.fixture
def shop(server: PythonCatalog, store: VendedStore, project: ProjectFolder) -> Iterator[ProjectFolder]:
    """A project on the catalog server; no login to the object store is configured."""
    with checking_proxy(store.in_front_of(server.answer)) as proxy:
        header = "spark.sql.catalog.lake.header.X-Iceberg-Access-Delegation: vended-credentials"
        login = f"credential: ${{secret:MIGRATOR_LOGIN}}\n      {header}"
        text = WEB.replace("ADDRESS", proxy.address).replace("token: ${secret:WEB_TOKEN}", login)
        project.catalog(text.replace(f'"{RUNTIME}"', f'"{RUNTIME}", "org.apache.iceberg:iceberg-aws-bundle:1.12.0"'))
        project.file(
            "1_a.sql",
            f"CREATE NAMESPACE lake.shop;\nCREATE TABLE {TABLE} (a INT) USING iceberg;\n"
            f"INSERT INTO {TABLE} SELECT {SLEEP} FROM range(1);\nALTER TABLE {TABLE} ADD COLUMN b INT;",
        )
        yield project


def rows(server: PythonCatalog, table: tuple[str, str]) -> list[dict[str, object]]:
    """Return the rows of a table, read with the server's own login."""
    return server.catalog.load_table(table).scan().to_arrow().to_pylist()


def test_a_run_outlasts_the_credentials_of_its_tables(
    server: PythonCatalog, store: VendedStore, shop: ProjectFolder
) -> None:
    """A statement takes longer than the credentials of its table, and of the history, are accepted. Each event is there once."""
    done = shop.ask("migrate", environ={"AWS_EC2_METADATA_DISABLED": "true"})
    assert done.code == 0, done.stderr
    assert rows(server, ("shop", "t")) == [{"a": 1, "b": None}]
    history = sorted(rows(server, ("glacierbase", "history_shop")), key=lambda row: row["sequence"])
    assert [(row["event"], row["sequence"]) for row in history] == [
        ("started", 1), ("statement_done", 2), ("statement_done", 3), ("statement_done", 4), ("applied", 5),
    ]  # fmt: skip
    assert store.refused  # The history's, after the long statement.
    assert "canary" not in done.stdout + done.stderr


def test_a_statement_that_its_credentials_do_not_outlast_changes_nothing(
    server: PythonCatalog, store: VendedStore, shop: ProjectFolder
) -> None:
    """The server names no address of new ones. The next run goes on at the statement."""
    store.refreshes = False
    environ = {"AWS_EC2_METADATA_DISABLED": "true"}
    refused = shop.ask("migrate", environ=environ)
    error = refused.document["error"]
    assert (refused.code, error["code"], error["statement_index"]) == (1, "STATEMENT_FAILED", 3), refused.stderr
    assert "The provided token has expired" in error["message"]
    assert rows(server, ("shop", "t")) == []
    store.refreshes = True
    assert shop.ask("migrate", environ=environ).code == 0
    assert rows(server, ("shop", "t")) == [{"a": 1, "b": None}]
