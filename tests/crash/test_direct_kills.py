"""A killed direct statement is settled by its table or its namespace, wherever history and lock are."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField

from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from tests.support.lost_commits import killed
from tests.support.program import ask_here, run_here
from tests.support.project_folder import Output, ProjectFolder, only_catalog

OWN = """\
migrationExecutor:
  type: iceberg
  conf:
    name: NAME
    properties: {type: sql, uri: "sqlite:///FOLDER/lake.db", warehouse: "file://FOLDER/tables"}
"""
SPARK = """\
migrationExecutor:
  type: spark
  direct: auto
  conf:
    sparkConf:
      spark.sql.extensions: org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
"""
DECLARED = """\
      spark.sql.catalog.NAME: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.NAME.type: jdbc
      spark.sql.catalog.NAME.uri: jdbc:sqlite:FOLDER/NAME.db?busy_timeout=30000
      spark.sql.catalog.NAME.jdbc.schema-version: V1
      spark.sql.catalog.NAME.warehouse: file://FOLDER/tables
"""
# Where history and lock are, beside a catalog that is called `embedded` too: the name of the tables' catalog, and the catalog file.
STORES: Mapping[str, tuple[str, str]] = {
    "same": ("lake", OWN + "store: {lockLease: 2s}\n"),
    "embedded": ("lake", OWN + "store: {type: embedded, lockLease: 2s}\n"),
    "named embedded": (
        "embedded", OWN + "store: {type: embedded, lockLease: 2s}\n",
    ),
    "other": (
        "lake",
        SPARK + DECLARED + DECLARED.replace("NAME", "other") + "store: {catalog: other, lockLease: 2s}\n",
    ),
}  # fmt: skip

# What the catalog holds, as `state` returns it.
State = tuple[dict[str, Any], dict[str, Any]]
BEFORE: State = ({"t": (["id"], {}, 0)}, {"a": {}, "empty": {}})


def _tables(**tables: Any) -> State:
    return {name: value for name, value in {**BEFORE[0], **tables}.items() if value}, BEFORE[1]


def _namespaces(**namespaces: Any) -> State:
    return BEFORE[0], {name: value for name, value in {**BEFORE[1], **namespaces}.items() if value is not None}


# Statements, and what the catalog holds after each.
STATEMENTS: Mapping[str, tuple[str, State]] = {
    "add a column": ("ALTER TABLE LAKE.a.t ADD COLUMN b INT", _tables(t=(["id", "b"], {}, 1))),
    "rename a column": ("ALTER TABLE LAKE.a.t RENAME COLUMN id TO b", _tables(t=(["b"], {}, 1))),
    "set a property": ("ALTER TABLE LAKE.a.t SET TBLPROPERTIES ('p' = '1')", _tables(t=(["id"], {"p": "1"}, 1))),
    "create": ("CREATE TABLE LAKE.a.new (c INT) USING iceberg", _tables(new=(["c"], {}, 0))),
    "create if not exists": (
        "CREATE TABLE IF NOT EXISTS LAKE.a.new (c INT) USING iceberg",
        _tables(new=(["c"], {}, 0)),
    ),
    "keep what exists": ("CREATE TABLE IF NOT EXISTS LAKE.a.t (c INT) USING iceberg", BEFORE),
    "create or replace": ("CREATE OR REPLACE TABLE LAKE.a.new (c INT) USING iceberg", _tables(new=(["c"], {}, 0))),
    "replace": ("CREATE OR REPLACE TABLE LAKE.a.t (c INT) USING iceberg", _tables(t=(["c"], {}, 1))),
    "rename": ("ALTER TABLE LAKE.a.t RENAME TO a.new", _tables(t=None, new=(["id"], {}, 0))),
    "drop": ("DROP TABLE LAKE.a.t", _tables(t=None)),
    "drop if exists": ("DROP TABLE IF EXISTS LAKE.a.t", _tables(t=None)),
    "drop nothing": ("DROP TABLE IF EXISTS LAKE.a.none", BEFORE),
    "create a namespace": ("CREATE NAMESPACE LAKE.b", _namespaces(b={})),
    "create a namespace if not exists": ("CREATE NAMESPACE IF NOT EXISTS LAKE.b", _namespaces(b={})),
    "keep a namespace": ("CREATE NAMESPACE IF NOT EXISTS LAKE.a", BEFORE),
    "change a namespace": ("ALTER NAMESPACE LAKE.a SET PROPERTIES ('p' = '1')", _namespaces(a={"p": "1"})),
    "comment on a namespace": ("COMMENT ON NAMESPACE LAKE.a IS 'one'", _namespaces(a={"comment": "one"})),
    "drop a namespace": ("DROP NAMESPACE LAKE.empty", _namespaces(empty=None)),
    "drop a namespace if exists": ("DROP NAMESPACE IF EXISTS LAKE.empty", _namespaces(empty=None)),
}
# Statements without an effect send nothing to commit.
WITHOUT_COMMIT = ("keep what exists", "drop nothing", "keep a namespace")


class KilledProject(ProjectFolder):
    """A project on SQLite, with the table `a.t`, the namespace `empty`, and a file whose second statement is to be lost."""

    def __init__(self, root: Path, place: tuple[str, str], statement: str) -> None:
        """Args:
        place: the name of the tables' catalog, and the catalog file.
        """
        super().__init__(root)
        self.name, text = place
        self.catalog(text.replace("NAME", self.name).replace("FOLDER", str(root)))
        with self._opened() as lakes:
            for namespace in BEFORE[1]:
                lakes.open(self.name).create_namespace(namespace)
            lakes.open(self.name).create_table(("a", "t"), Schema(NestedField(1, "id", IntegerType())))
        sql, self.after = STATEMENTS[statement]
        around = [f"CREATE NAMESPACE {self.name}.{number}_of_the_file" for number in ("first", "last")]
        self.file("0001_a.sql", ";\n".join((around[0], sql.replace("LAKE", self.name), around[1])))

    def _opened(self) -> Any:
        return closing(PyIcebergCatalogs(only_catalog(self.root)))

    def state(self) -> State:
        """Return the tables of the namespace `a`, each with its columns, its own properties and the number of its commits; and the
        namespaces with their properties.
        """
        tables, namespaces = {}, {}
        with self._opened() as lakes:
            lake = lakes.open(self.name)
            for *_, name in lake.list_tables("a"):
                try:
                    table = lake.load_table(("a", name))
                except NoSuchTableError:
                    continue
                own = {key: value for key, value in table.properties.items() if key == "p"}
                tables[name] = (table.schema().column_names, own, len(table.metadata.metadata_log))
            for (name,) in lake.list_namespaces():
                if name.endswith("_of_the_file") or name == "glacierbase":
                    continue
                held = lake.load_namespace_properties(name)
                namespaces[name] = {key: value for key, value in held.items() if key in ("p", "comment")}
        return tables, namespaces

    def check_settled(self, done: Output, took_effect: bool | None) -> None:
        """Check that a run settled the statement: its effect is there once, and the record is true.

        Args:
            took_effect: None where both outcomes describe the same tables.
        """
        assert done.code == 0, done.stdout + done.stderr
        assert self.state() == self.after
        [settled] = [event for event in ask_here(self, "history").entry()["events"] if event["event"] == "repaired"]
        outcome = settled["details"]["resolution"]
        assert took_effect is None or outcome == ("done" if took_effect else "not-done"), settled


CASES = [
    (store, statement, when)
    for store in STORES
    for statement in STATEMENTS
    for when in ("announced", "before", "after")
    if when == "announced" or statement not in WITHOUT_COMMIT
]


@pytest.mark.parametrize(
    ("store", "statement", "when"), CASES, ids=["-".join(case).replace(" ", "_") for case in CASES]
)
def test_the_next_run_settles_what_a_kill_left_open(store: str, statement: str, when: str, tmp_path: Path) -> None:
    """Each effect is there once, the record is true, and no person is needed."""
    project = KilledProject(tmp_path / "project", STORES[store], statement)
    killed(project, 2, when)
    took_effect = when == "after" or statement in WITHOUT_COMMIT
    assert project.state() == (project.after if took_effect else BEFORE)
    done = run_here(project, "migrate")
    project.check_settled(done, None if statement in WITHOUT_COMMIT else took_effect)
