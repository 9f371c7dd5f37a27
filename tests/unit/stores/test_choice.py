"""Which store is opened: what is installed decides, a message names what is missing, and `embedded` needs nothing else."""

from __future__ import annotations

import errno
import logging
import os
import shutil
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.errors import ConfigurationError, EngineUnavailable
from glacierbase.executors.engine import Engine
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.history.target import CatalogRun
from glacierbase.model.catalog import Catalog
from glacierbase.run.run import Run
from glacierbase.stores.choice import ddl, described, open_store, opens_without_engine, renaming_warnings
from tests.support.catalog_files import LAKE
from tests.support.fakes import FakeExecutor
from tests.support.project_folder import ProjectFolder, only_catalog
from tests.support.world import World

HIVE = {"type": "hive", "uri": "thrift://metastore:9083", "warehouse": "file:///lake"}
GLUE = {"type": "glue", "warehouse": "s3://bucket/lake"}
POSTGRESQL = {
    "type": "jdbc", "uri": "jdbc:postgresql://db.example/lake", "jdbc.schema-version": "V1", "warehouse": "file:///lake",
}  # fmt: skip
MYSQL = {**POSTGRESQL, "uri": "jdbc:mysql://db.example/lake?sslMode=REQUIRED"}


@pytest.fixture
def catalog(project: ProjectFolder) -> Catalog:
    return World(project).target().catalog


def declared(catalog: Catalog, properties: dict[str, str], store_type: str = "auto") -> Catalog:
    conf = {f"spark.sql.catalog.lake.{key}": value for key, value in properties.items()}
    conf["spark.sql.catalog.lake"] = "org.apache.iceberg.spark.SparkCatalog"
    return replace(catalog, spark_conf=conf, store=replace(catalog.store, catalog="lake", type=store_type))


def without(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    """Hide packages; all others are installed."""
    monkeypatch.setattr(
        "glacierbase.executors.pyiceberg.properties.find_spec",
        lambda name: None if name in missing else find_spec("json"),
    )


@pytest.mark.parametrize(
    ("properties", "package", "extra"),
    [
        (HIVE, "thrift", "hive"),
        (GLUE, "boto3", "glue"),
        (POSTGRESQL, "psycopg2", "postgres"),
        (MYSQL, "pymysql", "mysql"),
        (HIVE, "pyiceberg", "hive"),
        ({"type": "rest", "uri": "https://c"}, "pyarrow", "iceberg"),
        ({"type": "rest", "uri": "https://c", "rest.sigv4-enabled": "true"}, "boto3", "s3"),
    ],
)
def test_auto_goes_through_the_engine_where_a_package_is_missing(
    properties: dict[str, str], package: str, extra: str, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`doctor` says what to install; with the package, or where `iceberg` was chosen, no engine is needed."""
    chosen = declared(catalog, properties)
    without(monkeypatch, package)
    assert not opens_without_engine(chosen)
    assert f"because {package} is not installed; faster: pip install " in described(chosen)
    assert f"[{extra}]" in described(chosen)
    assert opens_without_engine(declared(catalog, properties, "iceberg"))
    without(monkeypatch)
    assert opens_without_engine(chosen)
    assert described(chosen) == "lake.glacierbase, without the engine"


def test_the_missing_package_is_named_once_for_each_engine(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A command opens the store several times."""
    without(monkeypatch, "thrift")
    monkeypatch.setattr("glacierbase.stores.sql.open_store", lambda *_: _Closable())
    with closing(Engine(FakeExecutor)) as engine, caplog.at_level(logging.WARNING, "glacierbase"):
        for _ in range(3):
            open_store(declared(catalog, HIVE), engine)
    [record] = caplog.records
    assert "thrift is not installed" in record.message


class _Closable:
    compacts_every = 1

    def close(self) -> None:
        """Nothing is open."""


def test_a_catalog_that_pyiceberg_cannot_open_names_the_reason_and_nothing_to_install(catalog: Catalog) -> None:
    """No package would help."""
    nessie = declared(catalog, {"type": "nessie"})
    assert not opens_without_engine(nessie)
    assert "through the engine: PyIceberg cannot open the catalog lake" in described(nessie)
    assert "pip install" not in described(nessie)
    assert described(declared(catalog, HIVE, "sql")).endswith("through the engine: as store.type says")


@pytest.mark.parametrize("name", ["a b", "a%20b", "a#b", "ä"])
def test_an_embedded_store_is_in_the_project_whatever_its_path(name: str, tmp_path: Path) -> None:
    """No engine is started, nothing is outside of its folder, and each environment has its own."""
    project = ProjectFolder(tmp_path / name)
    project.catalog(f"{LAKE}store: {{type: embedded}}\nenvironments: {{dev: {{}}, test: {{}}}}\n")
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    catalog = file.for_environment("dev", project.root)
    before = {path for path in tmp_path.rglob("*") if ".glacierbase" not in path.parts}
    with closing(Engine(_no_engine)) as engine:
        store = open_store(catalog, engine)
        assert store.read_history() == ()
        assert not Path(project.root, ".glacierbase").exists()
        store.create(free_row(LockTerms(catalog.name, "dev", 60)))
        assert store.read_lock() == free_row(LockTerms(catalog.name, "dev", 60))
        other = open_store(file.for_environment("test", project.root), engine)
        assert other.read_lock() is None
    assert {path for path in tmp_path.rglob("*") if ".glacierbase" not in path.parts} == before
    assert (ddl(catalog, free_row(LockTerms("shop", "dev", 60))), renaming_warnings(catalog)) == ("", ())
    assert described(catalog) == f"{project.root}/.glacierbase/store/dev, for one machine, without the engine"


@pytest.mark.parametrize("is_copy", [False, True])
def test_an_embedded_store_whose_files_are_gone_elsewhere_is_refused(is_copy: bool, tmp_path: Path) -> None:
    """After a move, a link from the former path is enough; a copy whose first project deleted them begins a new history."""
    project = ProjectFolder(tmp_path / "first")
    project.catalog(f"{LAKE}store: {{type: embedded}}\n")
    free = free_row(LockTerms("shop", "default", 60))
    with closing(Engine(_no_engine)) as engine:
        open_store(only_catalog(project.root), engine).create(free)
    moved = tmp_path / "second"
    if is_copy:
        shutil.copytree(project.root, moved)
        shutil.rmtree(project.root / ".glacierbase")
    else:
        project.root.rename(moved)
    with closing(Engine(_no_engine)) as engine, pytest.raises(ConfigurationError) as refused:
        open_store(only_catalog(moved), engine).read_lock()
    assert refused.value.code == "EMBEDDED_MOVED"
    assert f"has its files in the project {project.root}, which holds them no more" in refused.value.message
    if is_copy:
        assert f"rm -r {moved}/.glacierbase/store/default && glacierbase baseline --to VERSION" in str(
            refused.value.hint
        )
        return
    assert refused.value.hint == f"ln -s {moved} {project.root}"
    project.root.symlink_to(moved)
    for root in (moved, project.root):
        with closing(Engine(_no_engine)) as engine:
            assert open_store(only_catalog(root), engine).read_lock() == free


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_an_embedded_store_that_cannot_be_made_is_one_message(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message of `migrate` and of `doctor` has the cause and the folder, and the hint is about the files of a project."""
    project = ProjectFolder(tmp_path / "project")
    project.catalog(f"{LAKE}store: {{type: embedded}}\n")
    project.file("1_a.sql", "SELECT 1")
    make = os.mkdir

    def refuse(path: str | Path, *arguments: Any, **keywords: Any) -> None:
        if Path(path).name == ".glacierbase":
            raise OSError(number, os.strerror(number), str(path))
        make(path, *arguments, **keywords)

    monkeypatch.setattr(os, "mkdir", refuse)
    target = CatalogRun(only_catalog(project.root), (), Run.here(project.root))
    with pytest.raises(EngineUnavailable) as caught, target.opened() as opened:
        opened.store.create(free_row(target.terms))
    place = project.root / ".glacierbase"
    assert f"{os.strerror(number)}: '{place}'" in caught.value.message
    assert str(caught.value.hint).startswith("check that this user may write to that folder")


def _no_engine() -> Any:
    raise AssertionError


def test_a_folder_that_no_address_can_name_is_refused(tmp_path: Path) -> None:
    """The message names the folder; nothing is written beside it."""
    project = ProjectFolder(tmp_path / "a?b")
    project.catalog(f"{LAKE}store: {{type: embedded}}\n")
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    with closing(Engine(_no_engine)) as engine, pytest.raises(ConfigurationError, match=r"a\?b"):
        open_store(file.for_environment("default", project.root), engine)
    assert [path.name for path in tmp_path.iterdir()] == ["a?b"]
