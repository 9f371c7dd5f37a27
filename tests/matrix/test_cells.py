"""The scenarios on each cell of the Spark that is installed: `python -m tests.matrix` runs this in an environment for each."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from tests.matrix.cells import CELLS, Cell
from tests.matrix.record import Result
from tests.matrix.scenarios import SCENARIOS, Place
from tests.support.beds import CatalogBed, RemoteLake, WebBed
from tests.support.catalog_files import LAKE, SNOWFLAKE_PASSWORD
from tests.support.project_folder import ProjectFolder
from tests.support.snowflake.bed import SnowflakeServer
from tests.support.sparks import DEFAULT, SPARKS, installed, spark_programs

LEASE = "lockLease: 15s"
HERE = installed().short
# What decides about a cell; each is recorded where it is installed.
PACKAGES = ("pyspark", "pyiceberg", "pyarrow", "snowflake-connector-python")


@pytest.fixture
def sqlite_file(project: ProjectFolder, warm_cache: None) -> str:
    """The catalog file of a catalog in SQLite."""
    return LAKE.replace("WAREHOUSE", str(project.root / "warehouse"))


@pytest.fixture
def postgresql_file(postgres: CatalogBed) -> str:
    """The catalog file of a catalog in PostgreSQL."""
    return postgres.text


@pytest.fixture
def rest_file(web: WebBed) -> str:
    """The catalog file of a REST catalog."""
    return web.text


@pytest.fixture
def connect_file(remote_lake: RemoteLake) -> str:
    """The catalog file of a Connect server."""
    return remote_lake.text.partition("store:")[0]


@pytest.fixture
def delta_file(tmp_path: Path) -> str:
    """The catalog file that `init` writes for Delta, with the jars for this Spark."""
    return initial("delta", tmp_path).replace(SPARKS[DEFAULT].delta, installed().delta)


@pytest.fixture
def hudi_file(tmp_path: Path) -> str:
    """The catalog file that `init` writes for Hudi, with a worker of the environment with its Spark."""
    python = spark_programs(HERE) / "python"
    return initial("hudi", tmp_path).replace('packages: ["pyspark==3.5.*"]', f"python: {python}")


@pytest.fixture
def snowflake_file(snowflake_server: SnowflakeServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The catalog file of the emulated Snowflake."""
    monkeypatch.setenv("SNOWFLAKE_PASSWORD", SNOWFLAKE_PASSWORD)
    return snowflake_server.catalog


def initial(kind: str, folder: Path) -> str:
    """Return the catalog file that `init` writes for a format; its store is `embedded`."""
    first = ProjectFolder(folder / "initial")
    assert first.run("init", "--type", kind, "shop").code == 0
    return (first.root / "catalogs/shop.yaml").read_text()


@pytest.fixture
def recorded(request: pytest.FixtureRequest, cell: Cell) -> Iterator[Result]:
    """The result of the cell, which is written after the test where `--record` is given."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    result = Result(cell.name, HERE if cell.sparks else "", f"{datetime.now(timezone.utc):%Y-%m-%d}", versions)
    yield result
    if request.config.getoption("--record"):
        result.write()


@pytest.mark.parametrize(
    "cell",
    [pytest.param(cell, id=cell.name) for cell in CELLS if HERE in cell.sparks or not cell.sparks],
)
def test_the_scenarios_pass(
    cell: Cell, recorded: Result, project: ProjectFolder, request: pytest.FixtureRequest
) -> None:
    """Each scenario runs the real program as processes, on one catalog file."""
    text = request.getfixturevalue(cell.fixture)
    project.catalog(f"{text}store: {{{cell.store_keys}{LEASE}}}\n")
    place = Place(project, cell, f"m{os.getpid()}_{time.monotonic_ns() % 1_000_000}")
    for name, scenario in SCENARIOS.items():
        began = time.monotonic()
        try:
            scenario(place)
        except BaseException as error:
            recorded.failed[name] = str(error).partition("\n")[0]
            raise
        recorded.seconds[name] = round(time.monotonic() - began, 1)
