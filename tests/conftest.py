"""Fixtures that all tests share: projects, and one of each engine per session."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote
from weakref import WeakSet

import pytest

from glacierbase import secrets
from glacierbase.model.catalog import Catalog
from glacierbase.secrets import Secrets
from tests.costs.fixtures import fixtures_of
from tests.costs.forms import Form, form, is_left_out
from tests.costs.table import costs, function_of
from tests.support.beds import (
    CatalogBed,
    DynamoBed,
    LakeBed,
    RemoteLake,
    SnowBed,
    WebBed,
    catalog_bed,
    lake_bed,
    opened,
    snow_bed,
)
from tests.support.catalog_files import (
    LAKE,
    LOGIN,
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
from tests.support.objectstore import ObjectStore, object_store
from tests.support.processes import one_at_a_time, shared_folder
from tests.support.project_folder import REPOSITORY, ProjectFolder, only_catalog
from tests.support.snowflake.bed import ACCOUNT, SnowflakeServer, account_catalog
from tests.support.snowflake.bed import snowflake_server as start_snowflake_server
from tests.support.sparks import installed
from tests.support.sqlite_engine import SQLITE_ENGINE, install_sqlite
from tests.support.world import World

# The logins to which catalog files of the tests refer.
os.environ["MIGRATOR_LOGIN"] = LOGIN
os.environ["QUOTED_POSTGRES_PASSWORD"] = quote(POSTGRES_PASSWORD, safe="")


@pytest.fixture(autouse=True)
def own_secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """New secrets for each test: those of one test are not masked in the next."""
    monkeypatch.setattr(secrets, "_projects", WeakSet())
    with Secrets().in_use():
        yield


@pytest.fixture(autouse=True)
def own_login() -> None:
    """No default session of boto3 before each test: that of another test has its login."""
    if boto3 := sys.modules.get("boto3"):
        boto3.DEFAULT_SESSION = None  # type: ignore[attr-defined]


@pytest.fixture
def project(tmp_path: Path) -> ProjectFolder:
    """An empty project."""
    return ProjectFolder(tmp_path / "project")


@pytest.fixture
def world(project: ProjectFolder) -> World:
    """An empty project whose engine and tables are in memory."""
    return World(project)


@pytest.fixture
def lake_project(project: ProjectFolder) -> ProjectFolder:
    """A project with the catalog `shop` on a new warehouse."""
    project.catalog(LAKE.replace("WAREHOUSE", str(project.root / "warehouse")))
    return project


@pytest.fixture(scope="session")
def s3_server() -> Iterator[ObjectStore]:
    """An S3 server, for all tests that use one."""
    with object_store() as server:
        yield server


@pytest.fixture
def s3(s3_server: ObjectStore) -> Iterator[ObjectStore]:
    """The S3 server with an empty bucket, and without faults."""
    s3_server.objects.clear()
    yield s3_server
    s3_server.fault = lambda *_: None


@pytest.fixture
def iceberg_catalog(lake_project: ProjectFolder) -> Catalog:
    """The catalog `shop` of `lake_project`, with nothing created yet."""
    return only_catalog(lake_project.root)


@pytest.fixture(scope="session")
def lake_text(request: pytest.FixtureRequest) -> str:
    """The catalog file of `lake`, with one driver more where a selected test uses `postgres`."""
    needs_driver = any("postgres" in fixtures_of(item) for item in request.session.items)
    return LAKE.replace(f'"{SQLITE}"', f'"{SQLITE}", "{POSTGRESQL}"') if needs_driver else LAKE


@pytest.fixture(scope="session")
def warm_cache(lake_text: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The jars of most tests and a class archive in the user's cache, which the first worker of a run fills.

    The archive costs four starts of Spark. The quick form starts one, which resolves the jars itself.
    """
    shared = shared_folder(tmp_path_factory)
    if request.config.getoption("markexpr") == Form.QUICK.value:
        return
    with one_at_a_time(shared):
        if (shared / "cache-is-warm").exists():
            return
        for text in {LAKE, lake_text}:
            project = ProjectFolder(tmp_path_factory.mktemp("warm") / "project")
            project.catalog(text.replace("WAREHOUSE", str(project.root / "warehouse")))
            warmed = project.run("warm")
            assert warmed.code == 0, warmed.stderr
        (shared / "cache-is-warm").touch()


@pytest.fixture(autouse=True)
def warm_start(request: pytest.FixtureRequest) -> None:
    """Start no Spark before the cache is warm: most of them use the same jars."""
    if request.node.get_closest_marker("spark"):
        request.getfixturevalue("warm_cache")


@pytest.fixture(scope="session")
def lake(lake_text: str, warm_cache: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeBed]:
    """One real Spark with one real Iceberg catalog for the whole session, started by the executor itself."""
    folder = tmp_path_factory.mktemp("lake") / "project"
    with lake_bed(lake_text.replace("WAREHOUSE", str(folder / "warehouse")), folder) as bed:
        yield bed


@pytest.fixture(scope="session")
def web(lake: LakeBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebBed]:
    """A REST catalog that the JVM of `lake` serves, with sessions of that JVM on it."""
    from tests.support.restcatalog import rest_catalog  # The connector's other environment has no Spark.

    with pytest.MonkeyPatch.context() as patch, rest_catalog(
        lake.spark._jvm, tmp_path_factory.mktemp("rest"), WEB_TOKEN
    ) as (server, address):  # fmt: skip
        patch.setenv("WEB_TOKEN", WEB_TOKEN)
        bed = catalog_bed(lake, WEB.replace("ADDRESS", address), tmp_path_factory.mktemp("web"))
        yield WebBed(bed.catalog, bed.executor, bed.text, server)


@pytest.fixture(scope="session")
def postgres(lake: LakeBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogBed]:
    """A JDBC catalog in PostgreSQL, with sessions of `lake` on it."""
    from tests.support.postgres import postgresql  # The connector's other environment has no server.

    folder = tmp_path_factory.mktemp("postgres")
    with pytest.MonkeyPatch.context() as patch, postgresql(folder, POSTGRES_PASSWORD) as address:
        patch.setenv("POSTGRES_PASSWORD", POSTGRES_PASSWORD)
        text = POSTGRES.replace("ADDRESS", address).replace("WAREHOUSE", str(folder / "tables"))
        yield catalog_bed(lake, text, folder / "project")


@pytest.fixture(scope="session")
def remote_lake(warm_cache: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteLake]:
    """One Spark Connect server for the whole session, reached through `spark.remote`."""
    from tests.support.connect import connect_server  # The connector's other environment has no Spark.

    folder = tmp_path_factory.mktemp("remote")
    with connect_server(folder, ",".join(filter(None, (RUNTIME, SQLITE, installed().connect)))) as address:
        home = ProjectFolder(folder / "project")
        text = REMOTE.replace("ADDRESS", address)
        home.catalog(text, "remote")
        with opened(home.root) as (catalog, executor):
            yield RemoteLake(catalog, executor, home, text)


@pytest.fixture(scope="session")
def snowflake_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SnowflakeServer]:
    """One emulated Snowflake for all workers of the run, for the genuine connector, with an account for this one."""
    account = os.environ.get("PYTEST_XDIST_WORKER", "test")
    with start_snowflake_server(shared_folder(tmp_path_factory) / "snowflake", account) as server:
        yield server


@pytest.fixture(scope="session")
def emulated(snowflake_server: SnowflakeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SnowBed]:
    """The emulated Snowflake, with an executor on it."""
    os.environ["SNOWFLAKE_PASSWORD"] = SNOWFLAKE_PASSWORD
    with snow_bed(snowflake_server.catalog, "DEMO", tmp_path_factory.mktemp("emulated")) as bed:
        yield bed


@pytest.fixture(scope="session")
def dynamodb() -> Iterator[str]:
    """The address of one DynamoDB Local for the whole session, and a login for it in the environment."""
    from tests.support.dynamodb import LOGIN_VARIABLES, dynamodb_local  # Other environments have no boto3.

    with pytest.MonkeyPatch.context() as patch, dynamodb_local() as address:
        for name, value in LOGIN_VARIABLES.items():
            patch.setenv(name, value)
        yield address


@pytest.fixture(scope="session")
def emulated_dynamodb(emulated: SnowBed, dynamodb: str) -> DynamoBed:
    """The emulated Snowflake with history and lock in DynamoDB."""
    return DynamoBed(emulated.catalog, emulated.executor, emulated.text, dynamodb)


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


@pytest.fixture(scope="session")
def sqlite_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the package of `tests/support/sqlite_engine` is installed."""
    return install_sqlite(tmp_path_factory.mktemp("packages"))


@pytest.fixture
def sqlite_engine(project: ProjectFolder, sqlite_package: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """A project with a catalog on an engine that a package adds, which this process and those that it starts find."""
    monkeypatch.syspath_prepend(sqlite_package)
    paths = (str(sqlite_package), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    project.catalog(SQLITE_ENGINE)
    return project


# The engine behind each fixture that starts one.
ENGINES = {
    "lake": "spark",
    "web": "spark",
    "warmed": "spark",
    "clone": "spark",
    "postgres": "postgres",
    "remote_lake": "connect",
    "snowflake_server": "snowflake",
    "emulated": "snowflake",
}
# The fixture of the shared Spark in the recorded costs.
LAKE_FIXTURE = "tests::lake"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--record`."""
    parser.addoption("--record", action="store_true", help="write the results of the cells to tests/matrix/results")


def pytest_configure(config: pytest.Config) -> None:
    """Restore the handlers of signals that a background job or `nohup` ignores: tests send them, and processes inherit them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection(session: pytest.Session) -> None:
    """Import the selected files, in each worker from another one on: it compiles a part, and reads what the others compiled."""
    worker = getattr(session.config, "workerinput", None)
    if worker and not names_files(session.config):
        folder = Path(__file__).parent
        files = [file for file in sorted(folder.rglob("test_*.py")) if holds_selected(file, session.config)]
        start = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        for file in files[start:] + files[:start]:
            with suppress(Exception):  # The collection reports it.
                import_module(".".join(file.relative_to(folder.parent).with_suffix("").parts))
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was collected to the end of the process: no later collection of garbage visits it."""
    gc.freeze()
    gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file that holds no selected test."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if is_test and not holds_selected(collection_path, config) else None


def names_files(config: pytest.Config) -> bool:
    """Return whether the command line names files or tests."""
    return any(".py" in argument for argument in config.args)


@cache
def holds_selected(file: Path, config: pytest.Config) -> bool:
    """Return whether a file may hold a test that `-m` selects."""
    selects = {form: is_selected(form, config.getoption("markexpr")) for form in Form}
    return not is_left_out(file, file.relative_to(config.rootpath).as_posix(), selects, costs())


def is_selected(form: Form, expression: str) -> bool:
    """Return whether `-m` may select a test of a form, whatever its other marks are."""
    names = set(re.findall(r"\w+", expression)) - {"not", "and", "or"}
    if names <= {form.value for form in Form}:
        return not expression or bool(eval(expression, {name: name == form.value for name in names}))
    return True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Mark each test with its engines and its form; of those selected, the dearest files begin first.

    Without an account or a browser, deselect its tests: pytest reports that, unlike a pass.
    """
    before: set[tuple[str, frozenset[str]]] = set()
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent / "crash"):
            item.add_marker("crash")
        for engine in {ENGINES[bed] for bed in fixtures_of(item) if bed in ENGINES}:
            item.add_marker(engine)
        kind = function_of(item.nodeid), frozenset(mark.name for mark in item.iter_markers())
        item.add_marker(form(item.nodeid, costs(), kind not in before).value)
        before.add(kind)
    required = {"account": os.environ.get(ACCOUNT), "browser": shutil.which("chromium")}
    lacking = {mark for mark, found in required.items() if not found}
    without = [item for item in items if lacking & {mark.name for mark in item.iter_markers()}]
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]
    yield
    seconds: dict[str, float] = defaultdict(float)
    for item in items:
        seconds[scope(item.nodeid)] += costs().seconds(item.nodeid) or 0.0
    items.sort(key=lambda item: -seconds[scope(item.nodeid)])


def scope(node: str) -> str:
    """Return the group of tests that one worker runs: those of a file, or the quick ones on the shared Spark."""
    cost = costs().of(node)
    shares_spark = cost and LAKE_FIXTURE in cost.shares and form(node, costs(), is_first=False) is Form.QUICK
    return "spark" if shares_spark else node.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run the tests of a named file in this process, and all others in up to four; half of them wait for something."""
    if names_files(config):
        return 0
    return min(4, (os.cpu_count() or 1) + 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Give each file to one worker, and to one of them all quick tests with Spark, so that one Spark starts for them."""
    from xdist.scheduler import LoadFileScheduling  # Without it, pytest does not call this.

    class OneSpark(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope(nodeid)

    return OneSpark(config, log)
