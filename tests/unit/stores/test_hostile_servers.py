"""Servers and tables that name Python code for the client: none is loaded, and the message names the source."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from glacierbase.errors import OutcomeUnknown
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Event
from glacierbase.stores.iceberg import IcebergStore, open_store
from tests.support.hostileserver import CANARY, CATALOG, HostileServer, hostile_server, metadata_file, metadata_of
from tests.support.project_folder import ProjectFolder

FREE = free_row(LockTerms("shop", "default", 60))
URI = "spark.sql.catalog.lake.uri"
TABLES = ("history_shop", "lock_shop")
CODE = "canary.Canary"
# Of objects that the server keeps itself.
ON_S3 = {"s3.region": "us-east-1", "s3.access-key-id": "a", "s3.secret-access-key": "b"}


def event(sequence: int) -> Event:
    return Event(1, sequence, "run", "shop", "default", "started")


@pytest.fixture
def sqlite_store(iceberg_catalog: Catalog) -> IcebergStore:
    """History and lock in SQLite."""
    store = open_store(iceberg_catalog)
    store.create(FREE)
    return store


@pytest.fixture
def vendor(iceberg_catalog: Catalog, sqlite_store: IcebergStore) -> SqlCatalog:
    """The same tables, opened by another client."""
    return SqlCatalog(
        "lake", uri=iceberg_catalog.spark_conf[URI].removeprefix("jdbc:").partition("?")[0].replace(":", ":///")
    )


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which a module writes a file when it is imported, and another when its class is instantiated."""
    (tmp_path / "path").mkdir()
    folder = tmp_path / "canary"
    folder.mkdir()
    (tmp_path / "path/canary.py").write_text(CANARY.format(folder=str(folder)))
    monkeypatch.syspath_prepend(tmp_path / "path")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "path"), os.environ.get("PYTHONPATH", "")]))
    return folder


@pytest.fixture
def server(vendor: SqlCatalog, lake_project: ProjectFolder, canary: Path) -> Iterator[HostileServer]:
    """A REST server with the same tables, and a catalog file for it."""
    with hostile_server() as server:
        server.tables = {name: metadata_of(vendor.load_table(f"glacierbase.{name}")) for name in TABLES}
        lake_project.catalog(CATALOG.replace("ADDRESS", server.address))
        lake_project.file("1_a.sql", "SELECT 1")
        yield server


def rest_store(iceberg_catalog: Catalog, server: HostileServer) -> IcebergStore:
    """A store on the server, in this process."""
    kind = {"spark.sql.catalog.lake.type": "rest", URI: server.address}
    conf = {"spark.sql.catalog.lake": iceberg_catalog.spark_conf["spark.sql.catalog.lake"], **kind}
    return open_store(replace(iceberg_catalog, spark_conf=conf))


@pytest.mark.parametrize(
    ("place", "key", "value"),
    [
        ("config", "py-io-impl", CODE),
        ("defaults", "py-io-impl", CODE),
        ("config", "auth", {"type": "custom", "impl": CODE}),
        ("config", "auth", {"type": "google"}),
        ("table_config", "py-io-impl", CODE),
        ("table_properties", "py-io-impl", CODE),
        ("table_properties", "write.py-location-provider.impl", CODE),
        ("table_config", "s3.retry-strategy-impl", CODE),
        ("table_config", "py-io-impl", "os.system"),
        ("table_config", "py-io-impl", [CODE]),
    ],
)
def test_code_that_a_server_names_is_not_loaded(
    server: HostileServer, lake_project: ProjectFolder, canary: Path, place: str, key: str, value: Any
) -> None:
    """No answer of the server can load code; the message contains the property and its value."""
    setattr(server, place, {key: value})
    said = lake_project.run("pending")
    assert list(canary.iterdir()) == []
    assert said.code == 5, said.stderr
    assert said.stderr.count("error: STORE_UNAVAILABLE") == 1
    assert said.stderr.count("STORE_UNAVAILABLE") == 2  # The other one is in `glacierbase explain`.
    assert f"sets {key} to " in said.stderr
    assert "Traceback" not in said.stderr


def test_code_that_would_reach_s3_is_not_loaded(
    server: HostileServer, lake_project: ProjectFolder, canary: Path
) -> None:
    """`s3.retry-strategy-impl` names a class as well."""
    server.tables = {name: on_s3(metadata) for name, metadata in server.tables.items()}
    server.table_config = {**ON_S3, "s3.endpoint": server.address, "s3.retry-strategy-impl": CODE}
    said = lake_project.run("pending")
    assert list(canary.iterdir()) == []
    assert said.code == 5
    assert "sets s3.retry-strategy-impl to " in said.stderr


def on_s3(value: Any) -> Any:
    """The metadata of a table whose files all exist."""
    if isinstance(value, dict):
        return {key: on_s3(each) for key, each in value.items()}
    if isinstance(value, list):
        return [on_s3(each) for each in value]
    return value.replace("file://", "s3://bucket") if isinstance(value, str) else value


def test_code_that_the_answer_to_a_commit_names_is_not_loaded(
    iceberg_catalog: Catalog, server: HostileServer, canary: Path
) -> None:
    """The next append would use the class to place its files; the append itself may have been committed."""
    server.commit_properties = {"write.py-location-provider.impl": CODE}
    store = rest_store(iceberg_catalog, server)
    for sequence in (1, 2):
        with pytest.raises(OutcomeUnknown, match=r"sets write\.py-location-provider\.impl to"):
            store.append([event(sequence)])
    assert list(canary.iterdir()) == []


@pytest.mark.parametrize("key", ["py-io-impl", "write.py-location-provider.impl"])
def test_code_that_a_tables_properties_name_is_not_loaded(
    sqlite_store: IcebergStore, vendor: SqlCatalog, canary: Path, key: str
) -> None:
    """A writer to a table of any catalog must not choose code that its readers run."""
    sqlite_store.append([event(1)])
    table = vendor.load_table("glacierbase.history_shop")
    metadata = metadata_of(table)
    metadata["properties"][key] = CODE
    metadata_file(table).write_text(json.dumps(metadata))
    for use in (sqlite_store.read_history, lambda: sqlite_store.append([event(2)])):
        with pytest.raises(OutcomeUnknown, match=f"history_shop/.* sets {key} to"):
            use()
    assert list(canary.iterdir()) == []


def test_what_servers_may_decide_they_still_decide(server: HostileServer, lake_project: ProjectFolder) -> None:
    """PyIceberg's own classes, credentials, and properties that only the engine loads are accepted."""
    server.config = {
        "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
    }
    server.table_config = {**ON_S3, "s3.endpoint": "http://127.0.0.1:1", "token": "t"}
    server.table_properties = {"write.location-provider.impl": "com.example.Provider"}
    said = lake_project.run("pending")
    assert said.code == 0, said.stderr
    assert "1_a.sql" in said.stdout


def test_pyiceberg_loads_code_by_name_in_the_known_places_only() -> None:
    """Each place in PyIceberg that imports by name needs a line in the guard; a new version may add places."""
    [root] = find_spec("pyiceberg").submodule_search_locations  # type: ignore[union-attr,misc]
    loading = re.compile(r"import_module\(|__import__\(|entry_points\(|pickle")
    found = {
        path.relative_to(root).as_posix(): len(loading.findall(path.read_text())) for path in Path(root).rglob("*.py")
    }
    assert {path: count for path, count in found.items() if count and not path.startswith("cli/")} == {
        "catalog/__init__.py": 1,  # load_catalog, which is not used.
        "catalog/rest/auth.py": 1,
        "io/__init__.py": 1,
        "io/pyarrow.py": 1,
        "table/locations.py": 1,
        "transforms.py": 1,  # Names that stand in PyIceberg's own source.
    }
