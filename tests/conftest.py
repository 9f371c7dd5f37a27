"""Fixtures that all tests share: projects, and one of each engine per session."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from weakref import WeakSet

import pytest

from glacierbase import secrets
from glacierbase.model.catalog import Catalog
from glacierbase.secrets import Secrets
from tests.support.beds import CatalogBed, LakeBed, RemoteLake, SnowBed, WebBed, catalog_bed, lake_bed, opened, snow_bed
from tests.support.catalog_files import (
    LAKE,
    POSTGRES,
    POSTGRES_PASSWORD,
    POSTGRESQL,
    REMOTE,
    RUNTIME,
    SNOWFLAKE_PASSWORD,
    SQLITE,
    WEB,
    WEB_TOKEN,
)
from tests.support.project_folder import REPOSITORY, ProjectFolder, only_catalog
from tests.support.snowflake.bed import ACCOUNT, SnowflakeServer, account_catalog
from tests.support.snowflake.bed import snowflake_server as start_snowflake_server


@pytest.fixture(autouse=True)
def own_secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """New secrets for each test: those of one test are not masked in the next."""
    monkeypatch.setattr(secrets, "_projects", WeakSet())
    with Secrets().in_use():
        yield


@pytest.fixture
def project(tmp_path: Path) -> ProjectFolder:
    """An empty project."""
    return ProjectFolder(tmp_path / "project")


@pytest.fixture
def lake_project(project: ProjectFolder) -> ProjectFolder:
    """A project with the catalog `shop` on a warehouse of its own."""
    project.catalog(LAKE.replace("WAREHOUSE", str(project.root / "warehouse")))
    return project


@pytest.fixture
def iceberg_catalog(lake_project: ProjectFolder) -> Catalog:
    """The catalog `shop` of `lake_project`, where nothing has been created yet."""
    return only_catalog(lake_project.root)


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeBed]:
    """One real Spark with one real Iceberg catalog for the whole session, started by the executor itself."""
    folder = tmp_path_factory.mktemp("lake") / "project"
    text = LAKE.replace("WAREHOUSE", str(folder / "warehouse"))
    rehearsal = ProjectFolder(tmp_path_factory.mktemp("warm") / "project")
    rehearsal.catalog(text)
    warmed = rehearsal.run("warm")  # Most tests start Sparks of their own, on the same jars.
    assert warmed.code == 0, warmed.stderr
    # With a driver more, for `postgres`.
    with lake_bed(text.replace(f'"{SQLITE}"', f'"{SQLITE}", "{POSTGRESQL}"'), folder) as bed:
        yield bed


@pytest.fixture(scope="session")
def web(lake: LakeBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebBed]:
    """A REST catalog, served by the JVM of `lake`; sessions of the same on it."""
    from tests.support.restcatalog import rest_catalog  # Not every Python of the tests has a Spark.

    with pytest.MonkeyPatch.context() as patch, rest_catalog(
        lake.spark._jvm, tmp_path_factory.mktemp("rest"), WEB_TOKEN
    ) as (server, address):  # fmt: skip
        patch.setenv("WEB_TOKEN", WEB_TOKEN)
        bed = catalog_bed(lake, WEB.replace("ADDRESS", address), tmp_path_factory.mktemp("web"))
        yield WebBed(bed.catalog, bed.executor, bed.text, server)


@pytest.fixture(scope="session")
def postgres(lake: LakeBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogBed]:
    """A JDBC catalog in PostgreSQL, with sessions of `lake` on it."""
    from tests.support.postgres import postgresql  # Needs what a machine with Snowflake alone has not.

    folder = tmp_path_factory.mktemp("postgres")
    with pytest.MonkeyPatch.context() as patch, postgresql(folder, POSTGRES_PASSWORD) as address:
        patch.setenv("POSTGRES_PASSWORD", POSTGRES_PASSWORD)
        text = POSTGRES.replace("ADDRESS", address).replace("WAREHOUSE", str(folder / "tables"))
        yield catalog_bed(lake, text, folder / "project")


@pytest.fixture(scope="session")
def remote_lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteLake]:
    """One Spark Connect server for the whole session, reached through `spark.remote`."""
    from tests.support.connect import connect_server  # Needs pyspark, which a machine with Snowflake alone has not.

    folder = tmp_path_factory.mktemp("remote")
    with connect_server(folder, f"{RUNTIME},{SQLITE}") as address:
        home = ProjectFolder(folder / "project")
        text = REMOTE.replace("ADDRESS", address)
        home.catalog(text, "remote")
        with opened(home.root) as (catalog, executor):
            yield RemoteLake(catalog, executor, home, text)


@pytest.fixture(scope="session")
def snowflake_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SnowflakeServer]:
    """One emulated Snowflake for the whole session, spoken to by the genuine connector."""
    with start_snowflake_server(tmp_path_factory.mktemp("snowflake")) as server:
        yield server


@pytest.fixture(scope="session")
def emulated(snowflake_server: SnowflakeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SnowBed]:
    """The emulated Snowflake, with an executor on it."""
    os.environ["SNOWFLAKE_PASSWORD"] = SNOWFLAKE_PASSWORD
    with snow_bed(snowflake_server.catalog, "DEMO", tmp_path_factory.mktemp("emulated")) as bed:
        yield bed


@pytest.fixture(scope="session")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SnowBed]:
    """A real account, with an executor on it."""
    with snow_bed(*account_catalog(os.environ[ACCOUNT]), tmp_path_factory.mktemp("account")) as bed:
        yield bed


@pytest.fixture
def sample(tmp_path: Path) -> Callable[[], ProjectFolder]:
    """Copies of the repository's sample project."""

    def copy() -> ProjectFolder:
        folder = ProjectFolder(tmp_path / "sample")
        for name in ("catalogs", "migrations"):
            shutil.copytree(REPOSITORY / name, folder.root / name, dirs_exist_ok=True)
        return folder

    return copy


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without an account its tests are deselected, which pytest reports: never a pass or a skip."""
    if os.environ.get(ACCOUNT):
        return
    without = [item for item in items if item.get_closest_marker("account")]
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]
