"""What tests share: projects written from text, one real Spark, and the program run as its users run it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest

from glacierbase import secrets
from glacierbase.catalogs.catalog import Catalog, load_catalog_files
from glacierbase.executors import Executor, Session, open_executor
from glacierbase.executors.spark.session import SparkSessionPort
from glacierbase.run.run import Run
from glacierbase.secrets import Secrets
from tests.support.snowflake.bed import ACCOUNT, SnowflakeServer, account_catalog
from tests.support.snowflake.bed import snowflake_server as start_snowflake_server

REPOSITORY = Path(__file__).parent.parent
RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
SQLITE = "org.xerial:sqlite-jdbc:3.54.1.0"
POSTGRESQL = "org.postgresql:postgresql:42.7.4"

_ICEBERG = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.extensions: org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
PLACE      spark.sql.catalog.lake.cache-enabled: true
    dependencies: [JARS]
"""


def _iceberg(jars: str, *place: str) -> str:
    """The catalog `lake`, with the cache on: every read of ours must see past it."""
    lines = "".join(f"      spark.sql.catalog.lake.{line}\n" for line in place)
    return _ICEBERG.replace("PLACE", lines).replace("JARS", jars)


# As the sample's, with one warehouse for all environments.
LAKE = _iceberg(
    f'"{RUNTIME}", "{SQLITE}"',
    "type: jdbc",
    "uri: jdbc:sqlite:WAREHOUSE/catalog.db?busy_timeout=30000",
    "jdbc.schema-version: V1",
    "warehouse: file://WAREHOUSE/tables",
)
# The same by a REST catalog.
WEB = _iceberg(f'"{RUNTIME}"', "type: rest", "uri: ADDRESS", "token: ${secret:WEB_TOKEN}")
WEB_TOKEN = "canary-of-the-web"
# And by a database that is a server.
POSTGRES = _iceberg(
    f'"{RUNTIME}", "{POSTGRESQL}"',
    "type: jdbc",
    "uri: ADDRESS",
    "jdbc.user: migrator",
    "jdbc.password: ${secret:POSTGRES_PASSWORD}",
    "jdbc.schema-version: V1",
    "warehouse: file://WAREHOUSE",
)
POSTGRES_PASSWORD = "canary@the/postgres"

# A server brings its own jars and catalogs; the file says only where it is, and where history and lock live.
REMOTE = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.remote: ADDRESS
      spark.sql.extensions: org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.shuffle.partitions: 3
store: {catalog: lake}
"""


SNOWFLAKE_PASSWORD = "canary-of-the-snow"


def migration(sql: str, description: str = "A test's change", author: str = "Test Team") -> str:
    """The text of a migration file."""
    return f"-- MIGRATION_DESCRIPTION: {description}\n-- MIGRATION_AUTHOR: {author}\n\n{sql}\n"


@dataclass
class Output:
    """What a run of the program left behind."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.stdout)

    def entry(self, index: int = 0) -> dict[str, Any]:
        return self.document["catalogs"][index]


class ProjectFolder:
    """A project of a test's own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "catalogs").mkdir(parents=True)
        (root / "migrations").mkdir()

    def catalog(self, text: str, name: str = "shop") -> Path:
        path = self.root / "catalogs" / f"{name}.yaml"
        path.write_text(text)
        (self.root / "migrations" / name).mkdir(exist_ok=True)
        return path

    def file(self, name: str, sql: str, catalog: str = "shop", **headers: str) -> Path:
        path = self.root / "migrations" / catalog / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(migration(sql, **headers))
        return path

    def start(self, *arguments: str, environ: Mapping[str, str | None] | None = None) -> subprocess.Popen[str]:
        """The program as a process."""
        environment = {**os.environ, **{k: v for k, v in (environ or {}).items() if v is not None}}
        for key in [k for k, v in (environ or {}).items() if v is None]:
            environment.pop(key, None)
        return subprocess.Popen(
            [sys.executable, "-m", "glacierbase", *arguments],
            cwd=self.root, env=environment, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *arguments: str, environ: Mapping[str, str | None] | None = None) -> Output:
        process = self.start(*arguments, environ=environ)
        stdout, stderr = process.communicate(timeout=300)
        return Output(process.returncode, stdout, stderr)

    def ask(self, *arguments: str, environ: Mapping[str, str | None] | None = None) -> Output:
        """The same, answering in JSON."""
        return self.run(*arguments, "--format", "json", environ=environ)


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
    [file] = load_catalog_files(lake_project.root / "catalogs", lake_project.root)
    return file.for_environment("default", lake_project.root)


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


@contextmanager
def lake_bed(text: str, folder: Path) -> Iterator[LakeBed]:
    """A Spark of its own on the catalog that `text` describes, with a project in `folder`."""
    ProjectFolder(folder).catalog(text, "contract")
    with opened(folder) as (catalog, executor):
        yield LakeBed(catalog, executor, text)


def catalog_bed(lake: LakeBed, text: str, folder: Path) -> CatalogBed:
    """The catalog that `text` describes, with sessions of `lake` on it and a project in `folder`."""
    ProjectFolder(folder).catalog(text, "contract")
    catalog = only_catalog(folder)
    return CatalogBed(catalog, _Sessions(lake.spark, catalog), text)


@contextmanager
def snow_bed(text: str, database: str, folder: Path) -> Iterator[SnowBed]:
    """The same on the Snowflake that `text` describes."""
    home = folder / "project"
    ProjectFolder(home).catalog(f"{text}store: {{catalog: {database}}}\n", "contract")
    with opened(home) as (catalog, executor):
        yield SnowBed(catalog, executor, text)


@contextmanager
def opened(root: Path) -> Iterator[tuple[Catalog, Executor]]:
    """The only catalog of a project, and an executor on it."""
    catalog = only_catalog(root)
    with closing(open_executor(catalog, Run.here(root))) as executor:
        yield catalog, executor


def with_own_namespace(catalog: Catalog) -> Catalog:
    """The catalog, with history and lock where nothing has been created yet."""
    return replace(catalog, store=replace(catalog.store, namespace=f"g{uuid.uuid4().hex[:8]}"))


def only_catalog(root: Path) -> Catalog:
    """The only catalog of a project, in its only environment."""
    [file] = load_catalog_files(root / "catalogs", root)
    return file.for_environment("default", root)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without an account its tests are deselected, which pytest reports: never a pass or a skip."""
    if os.environ.get(ACCOUNT):
        return
    without = [item for item in items if item.get_closest_marker("account")]
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]


@dataclass
class SnowBed:
    """A Snowflake: the catalog on it, an executor, and the text of its catalog file."""

    catalog: Any
    executor: Any
    text: str

    def schema(self) -> str:
        """A new schema, by its full name."""
        name = f"{self.catalog.store.catalog}.T{uuid.uuid4().hex[:8]}".upper()
        self.executor.open_session().execute(f"CREATE SCHEMA {name}")
        return name

    def catalog_file(self, lease: str = "60s") -> str:
        """A catalog file on it, with a new place for history and lock."""
        store = f"catalog: {self.catalog.store.catalog}, namespace: g{uuid.uuid4().hex[:8]}, lockLease: {lease}"
        return f"{self.text}store: {{{store}}}\n"

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.executor.open_session().query(sql)


@dataclass
class RemoteLake:
    """An executor on the server, and a project with the catalog `remote` on it."""

    catalog: Any
    executor: Any
    project: ProjectFolder
    text: str


@dataclass
class LakeBed:
    """The real Spark of the session: its executor, its catalog, and the catalog file that describes it."""

    catalog: Any
    executor: Any
    text: str

    @property
    def spark(self) -> Any:
        """The SparkSession, as a user of the API would hand it over."""
        return self.executor._spark

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        # A new session: the catalog of an old one may have cached the table.
        return [tuple(row) for row in self.spark.newSession().sql(sql).collect()]


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


@dataclass
class CatalogBed:
    """A catalog that some server keeps: sessions on it, and the catalog file that describes it."""

    catalog: Any
    executor: Any
    text: str

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(self.executor.open_session()) as session:
            return [tuple(row) for row in session.query(sql)]


@dataclass
class WebBed(CatalogBed):
    """A REST catalog, and who serves it."""

    server: Any


@pytest.fixture
def sample(tmp_path: Path) -> Callable[[], ProjectFolder]:
    """Copies of the repository's sample project."""

    def copy() -> ProjectFolder:
        folder = ProjectFolder(tmp_path / "sample")
        for name in ("catalogs", "migrations"):
            shutil.copytree(REPOSITORY / name, folder.root / name, dirs_exist_ok=True)
        return folder

    return copy
