"""A file with USE and SET that stops half way: on real engines, its rest changes the tables that it means, or is refused."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.errors import GlacierbaseError, MigrationFailed, NeedsRepair
from tests.support.beds import LakeBed, SnowBed
from tests.support.project_folder import ProjectFolder


class Place:
    """Two namespaces of one engine, each with a table `t`, and a project on it."""

    def __init__(self, bed: LakeBed | SnowBed, project: ProjectFolder, text: str, first: str, second: str) -> None:
        self._bed, self._project = bed, project
        self.names = {"A": first, "B": second}
        project.catalog(text)
        for name in (first, second):
            bed.executor.open_session().execute(f"CREATE TABLE {name}.t (a INT)")

    def file(self, sql: str, name: str = "1_a.sql") -> None:
        """Write a file; `USE A` selects the first namespace, `USE B` the second."""
        word = "USE SCHEMA" if isinstance(self._bed, SnowBed) else "USE"
        self._project.file(name, re.sub(r"USE ([AB])\b", lambda found: f"{word} {self.names[found[1]]}", sql))

    def migrate(self) -> list[Any]:
        spark = self._bed.spark if isinstance(self._bed, LakeBed) else None
        [result] = Project.load(self._project.root).migrate(spark=spark)
        return list(result.applied)

    def stops(self) -> GlacierbaseError:
        with pytest.raises((MigrationFailed, NeedsRepair)) as caught:
            self.migrate()
        return caught.value

    def rows(self, short: str) -> list[int]:
        return sorted(row[0] for row in self._bed.rows(f"SELECT a FROM {self.names[short]}.t"))


@pytest.fixture(params=["lake", "emulated", pytest.param("account", marks=pytest.mark.account)])
def place(request: pytest.FixtureRequest, project: ProjectFolder) -> Place:
    """An engine with two namespaces."""
    return make_place(request.getfixturevalue(request.param), project)


def make_place(bed: LakeBed | SnowBed, project: ProjectFolder) -> Place:
    if isinstance(bed, SnowBed):
        return Place(bed, project, bed.catalog_file(), bed.schema(), bed.schema())
    names = [f"lake.n{uuid.uuid4().hex[:8]}" for _ in range(2)]
    for name in names:
        bed.executor.open_session().execute(f"CREATE NAMESPACE {name}")
    return Place(bed, project, bed.text + f"store: {{namespace: g{uuid.uuid4().hex[:8]}}}\n", *names)


def test_an_insert_after_use_goes_to_the_same_table_when_the_file_is_resumed(place: Place) -> None:
    """Two namespaces have a table of this name; the file selects one, then the other, and stops after that."""
    broken = (
        "USE A;\nINSERT INTO t VALUES (1);\nUSE B;\nINSERT INTO t VALUES (2);\nINSERT INTO missing VALUES (3);\n"
        "INSERT INTO t VALUES (4)"
    )
    place.file(broken)
    assert place.stops().code == "STATEMENT_FAILED"
    place.file(broken.replace("missing", "t"))
    [applied] = place.migrate()
    assert applied.resumed_at == 5
    assert (place.rows("A"), place.rows("B")) == ([1], [2, 3, 4])


@pytest.mark.parametrize(
    ("bed", "hidden"),
    [("lake", "EXECUTE IMMEDIATE 'USE B'"), ("emulated", "USE B;\nCREATE TEMPORARY TABLE x (a INT)")],
    ids=["spark", "snowflake"],
)
def test_a_file_whose_session_cannot_be_set_again_changes_nothing(
    bed: str, hidden: str, request: pytest.FixtureRequest, project: ProjectFolder
) -> None:
    """Dynamic SQL that selects a namespace, or a temporary table, is done: the rest is refused until the file is ended."""
    place = make_place(request.getfixturevalue(bed), project)
    broken = f"{hidden};\nINSERT INTO t VALUES (1);\nINSERT INTO missing VALUES (2)"
    place.file(broken)
    assert place.stops().code == "STATEMENT_FAILED"
    place.file(broken.replace("missing", "t"))
    assert place.stops().code == "SESSION_NOT_RESTORED"
    assert (place.rows("A"), place.rows("B")) == ([], [1])


def test_a_setting_of_a_resumed_file_still_holds(lake: LakeBed, project: ProjectFolder) -> None:
    """An INSERT OVERWRITE under dynamic overwriting replaces one day, not the whole table."""
    namespace = f"lake.n{uuid.uuid4().hex[:8]}"
    project.catalog(lake.text + f"store: {{namespace: g{uuid.uuid4().hex[:8]}}}\n")
    project.file(
        "1_a.sql",
        f"CREATE NAMESPACE {namespace};\nCREATE TABLE {namespace}.t (n INT, day INT) USING iceberg PARTITIONED BY (day);\n"
        f"INSERT INTO {namespace}.t VALUES (1, 1), (2, 2), (3, 3)",
    )
    overwrite = (
        "SET spark.sql.sources.partitionOverwriteMode=dynamic;\n"
        f"INSERT OVERWRITE {namespace}.t SELECT n + 1000 + no_such_column, day FROM {namespace}.t WHERE day = 3"
    )
    project.file("2_b.sql", overwrite)
    with pytest.raises(MigrationFailed):
        Project.load(project.root).migrate(spark=lake.spark)
    project.file("2_b.sql", overwrite.replace(" + no_such_column", ""))
    Project.load(project.root).migrate(spark=lake.spark)
    assert sorted(lake.rows(f"SELECT * FROM {namespace}.t")) == [(1, 1), (2, 2), (1003, 3)]


def test_variables_and_temporary_objects_are_there_again(lake: LakeBed, project: ProjectFolder) -> None:
    """A variable and a temporary view that were made before the stop are used after it."""
    table = f"lake.n{uuid.uuid4().hex[:8]}.t"
    project.catalog(lake.text + f"store: {{namespace: g{uuid.uuid4().hex[:8]}}}\n")
    text = (
        f"CREATE NAMESPACE {table[:-2]};\nCREATE TABLE {table} (a INT) USING iceberg;\nDECLARE VARIABLE x INT DEFAULT 5;\n"
        "SET VAR x = 7;\nCREATE TEMPORARY VIEW v AS SELECT 30 AS a;\n"
        f"INSERT INTO {table} SELECT a + x + wrong FROM v"
    )
    project.file("1_a.sql", text)
    with pytest.raises(MigrationFailed):
        Project.load(project.root).migrate(spark=lake.spark)
    project.file("1_a.sql", text.replace("wrong", "1 - 1"))
    Project.load(project.root).migrate(spark=lake.spark)
    assert lake.rows(f"SELECT a FROM {table}") == [(37,)]


def test_a_schema_that_a_file_creates_on_snowflake_is_current_again(emulated: SnowBed, project: ProjectFolder) -> None:
    """CREATE SCHEMA selects the schema; the rest of the resumed file has names without one."""
    schema = f"T{uuid.uuid4().hex[:8]}".upper()
    whole = f"{emulated.catalog.store.catalog}.{schema}"
    project.catalog(emulated.catalog_file())
    text = f"CREATE SCHEMA {whole};\nUSE SCHEMA {whole};\nCREATE TABLE t (a INT);\nINSERT INTO missing VALUES (7)"
    project.file("1_a.sql", text)
    with pytest.raises(MigrationFailed):
        Project.load(project.root).migrate()
    project.file("1_a.sql", text.replace("missing", "t"))
    Project.load(project.root).migrate()
    assert emulated.rows(f"SELECT a FROM {whole}.t") == [(7,)]


def test_a_changed_default_namespace_stops_a_resumed_file(emulated: SnowBed, project: ProjectFolder) -> None:
    """Names without a schema would mean other tables now."""
    first, second = emulated.schema(), emulated.schema()
    for schema in (first, second):
        emulated.executor.open_session().execute(f"CREATE TABLE {schema}.t (a INT)")
    text = emulated.catalog_file()
    in_schema = text.replace("user: deployer", f"user: deployer\n      schema: {first.partition('.')[2]}")
    assert in_schema != text
    project.catalog(in_schema)
    project.file("1_a.sql", "INSERT INTO t VALUES (1);\nINSERT INTO missing VALUES (2)")
    with pytest.raises(MigrationFailed):
        Project.load(project.root).migrate()
    project.file("1_a.sql", "INSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2)")
    project.catalog(in_schema.replace(first.partition(".")[2], second.partition(".")[2]))
    with pytest.raises(NeedsRepair) as caught:
        Project.load(project.root).migrate()
    assert caught.value.code == "SESSION_NOT_RESTORED"
    assert (emulated.rows(f"SELECT a FROM {first}.t"), emulated.rows(f"SELECT a FROM {second}.t")) == ([(1,)], [])
