"""After which failures a statement is *failed*: statement × table × stage of the failure, on real tables of several kinds.

A resumed file runs a failed statement again, so its tables must be as they were before.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from string import Template
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.errors import EngineError, NeedsRepair, OutcomeUnknown, StatementRefused
from glacierbase.executors.spark.session import SparkSessionPort
from tests.support.beds import LakeBed
from tests.support.project_folder import ProjectFolder

COLUMNS = "(a BIGINT, b BIGINT)"
DERBY = "org.apache.derby.iapi.jdbc.AutoloadedDriver"


@dataclass(frozen=True)
class Kind:
    """A kind of table.

    Attributes:
        name: of a table.
        using: what a statement that creates such a table says of its kind.
        before: what must exist before it.
        create: what creates the table.
        commits: whether its format commits.
    """

    name: str
    using: str = ""
    before: tuple[str, ...] = ()
    create: str = f"CREATE TABLE $table {COLUMNS} $using"
    commits: bool = False


LAKE, SESSION, DATABASE = "lake.taken.$name", "spark_catalog.default.$name", "pg.APP.$name"
JDBC = f"USING jdbc OPTIONS (url '$url', driver '{DERBY}', dbtable 'APP.\"$name\"')"


def of_files(format: str) -> Kind:
    return Kind(SESSION, f"USING {format} LOCATION '$folder/$name'")


KINDS = {
    "iceberg": Kind(LAKE, "USING iceberg", commits=True),
    "iceberg-after-use": Kind("$name", "USING iceberg", ("USE lake.taken",), commits=True),
    "iceberg-in-session-catalog": Kind(SESSION, "USING iceberg", commits=True),
    "jdbc-catalog": Kind(DATABASE),
    "jdbc": Kind(SESSION, JDBC, (f"CREATE TABLE {DATABASE} {COLUMNS}",), "CREATE TABLE $table $using"),
    # In a session whose current catalog holds Iceberg tables only.
    "temporary-view-of-jdbc": Kind(
        "$name",
        JDBC,
        (f"CREATE TABLE {DATABASE} {COLUMNS}", "USE lake.taken"),
        "CREATE TEMPORARY VIEW $table $using",
    ),
    "parquet": of_files("parquet"),
    "csv": of_files("csv"),
    "orc": of_files("orc"),
}

BAD = "SELECT id AS a, IF(id = 7, raise_error('no'), id) AS b FROM range(0, 8, 1, 4)"
# Failures while the statement runs, and of its analysis.
RUNS = {
    "insert": f"INSERT INTO $table {BAD}",
    "insert-overwrite": f"INSERT OVERWRITE $table {BAD}",
    "with-insert": f"WITH w AS ({BAD}) INSERT INTO $table SELECT * FROM w",
    "update": "UPDATE $table SET b = raise_error('no')",
    "delete": "DELETE FROM $table WHERE a = a + CAST('x' AS BIGINT)",
    "merge": f"MERGE INTO $table t USING ({BAD}) s ON t.a = s.a WHEN NOT MATCHED THEN INSERT *",
    "create-as": f"CREATE TABLE $other $using_other AS {BAD}",
}
ANALYSED = {
    "insert-too-much": "INSERT INTO $table VALUES (1, 2, 3)",
    "insert-from-absent": "INSERT INTO $table SELECT * FROM $other",
    "drop-columns": "ALTER TABLE $table DROP COLUMNS (a, nothing)",
    "add-columns": "ALTER TABLE $table ADD COLUMNS (c INT, a INT)",
    "drop-absent": "DROP TABLE $other",
}
# Failures that precede every effect, whatever the table is.
ALWAYS = {
    "not-parsed": "INSERT INTO $table SELEKT 1",
    "insert-into-absent": "INSERT INTO $other VALUES (1, 1)",
    "alter-absent": "ALTER TABLE $other ADD COLUMN c INT",
    "question": "SELECT * FROM $table WHERE nothing",
}
FAILS = {**RUNS, **ANALYSED, **ALWAYS}


class Place:
    """A session with catalogs of several kinds, and a table with one row in it."""

    def __init__(self, spark: Any, kind: Kind, folder: Path, url: str) -> None:
        self._kind = kind
        self._values = {"folder": f"file://{folder}", "url": url}
        self._names = {"table": f"t{uuid.uuid4().hex[:8]}", "other": f"n{uuid.uuid4().hex[:8]}"}
        self.port = SparkSessionPort(spark)
        for statement in (*kind.before, kind.create, "INSERT INTO $table VALUES (1, 1)"):
            self.port.execute(self.text(statement))

    def text(self, statement: str) -> str:
        """Return a statement with the names of this place."""
        table, other = ({**self._values, "name": self._names[each]} for each in ("table", "other"))
        return Template(statement).substitute(
            table,
            table=Template(self._kind.name).substitute(table),
            other=Template(self._kind.name).substitute(other),
            using=Template(self._kind.using).substitute(table),
            using_other=Template(self._kind.using).substitute(other),
        )

    def fails(self, statement: str) -> type[EngineError]:
        """Run a statement that fails, and return the class of its error."""
        with pytest.raises(EngineError) as caught:
            self.port.execute(self.text(statement), tag="taken")
        return type(caught.value)

    def state(self) -> list[Any]:
        """Return the columns and rows of the table and of the other one."""
        return [self._of(each) for each in ("$table", "$other")]

    def _of(self, name: str) -> Any:
        try:
            described = self.port.query(self.text(f"DESCRIBE {name}"))
            return described, sorted(self.port.query(self.text(f"SELECT * FROM {name}")))
        except EngineError as error:
            return error.error_class


Places = Callable[[Kind], Place]


@pytest.fixture(scope="module")
def derby(lake: LakeBed, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The settings of a catalog `pg` on a database in the memory of `lake`."""
    log = tmp_path_factory.mktemp("derby") / "derby.log"
    lake.spark._jvm.System.setProperty("derby.stream.error.file", str(log))
    return {
        "pg": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        "pg.url": f"jdbc:derby:memory:m{uuid.uuid4().hex[:8]}",
        "pg.driver": DERBY,
    }


@pytest.fixture(scope="module")
def places(lake: LakeBed, derby: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Places:
    """Places in new sessions of `lake`, in which the session catalog is Iceberg's, and `pg` is a database."""
    folder = tmp_path_factory.mktemp("taken")
    conf = {
        **derby,
        "pg.url": f"{derby['pg.url']};create=true",
        "spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
        "spark_catalog.type": "hadoop",
        "spark_catalog.warehouse": f"file://{folder}/session",
    }
    lake.executor.open_session().execute("CREATE NAMESPACE IF NOT EXISTS lake.taken")

    def place(kind: Kind) -> Place:
        spark = lake.spark.newSession()
        for key, value in conf.items():
            spark.conf.set(f"spark.sql.catalog.{key}", value)
        return Place(spark, kind, folder, derby["pg.url"])

    return place


WRITES = ("insert", "insert-overwrite", "with-insert")
# Where a part of a failed statement stays.
STAYS = {
    *product(("jdbc-catalog", "jdbc", "temporary-view-of-jdbc"), WRITES),
    *product(("parquet", "csv", "orc"), ("insert-overwrite",)),
}
# The other table would be one of the lake.
OF_LAKE = {("temporary-view-of-jdbc", "create-as"), ("temporary-view-of-jdbc", "drop-absent")}
# Nothing is left by which to know the format that the table had.
NOT_KNOWN = ("iceberg-in-session-catalog", "drop-absent")


@pytest.mark.parametrize(("kind", "statement"), list(product(KINDS, FAILS)))
def test_a_statement_is_failed_only_where_its_tables_are_as_before(places: Places, kind: str, statement: str) -> None:
    """Of a table without commits it is unknown, unless the failure precedes every effect."""
    place = places(KINDS[kind])
    before = place.state()
    error = place.fails(FAILS[statement])
    is_known = (KINDS[kind].commits and (kind, statement) != NOT_KNOWN) or (kind, statement) in OF_LAKE
    is_failed = statement in ALWAYS or is_known
    assert issubclass(error, StatementRefused) is is_failed
    assert (place.state() == before) is ((kind, statement) not in STAYS)


def test_a_table_of_files_is_replaced_by_iceberg_as_a_whole_or_not_at_all(places: Places) -> None:
    """USING of the statement decides, not the format of the table before it."""
    place = places(KINDS["parquet"])
    before = place.state()
    assert place.fails(f"CREATE OR REPLACE TABLE $table USING iceberg AS {BAD}") is StatementRefused
    assert place.state() == before


def test_a_namespace_is_one_entry_of_a_lake_and_two_statements_of_a_database(places: Places) -> None:
    """Derby has no comments of schemas: the schema is there when its comment fails."""
    place = places(KINDS["jdbc-catalog"])
    assert place.fails("CREATE NAMESPACE lake.taken") is StatementRefused
    name = f"s{uuid.uuid4().hex[:8]}"
    assert place.fails(f"CREATE NAMESPACE pg.{name} COMMENT 'c'") is OutcomeUnknown
    assert place.port.query(f"SHOW NAMESPACES IN pg LIKE '{name}'") == [(name,)]


@pytest.mark.parametrize(
    "statement",
    [
        "MERGE WITH SCHEMA EVOLUTION INTO $table t USING (SELECT *, a AS c FROM (BAD)) s ON t.a = s.a"
        " WHEN NOT MATCHED THEN INSERT *",
        "INSERT INTO $table SELECT *, a AS c FROM (BAD)",
    ],
)
def test_columns_that_were_added_before_the_rows_failed_make_it_unknown(places: Places, statement: str) -> None:
    """Iceberg commits the columns first, by a clause or by a setting of the session."""
    place = places(KINDS["iceberg"])
    if statement.startswith("INSERT"):
        place.port.execute(place.text("ALTER TABLE $table SET TBLPROPERTIES ('write.spark.accept-any-schema'='true')"))
        place.port.execute("SET `spark.sql.iceberg.merge-schema`=true")
    assert place.fails(statement.replace("BAD", BAD)) is OutcomeUnknown
    assert [row[0] for row in place.port.query(place.text("DESCRIBE $table"))] == ["a", "b", "c"]


def test_a_file_that_failed_with_rows_in_a_database_does_not_run_again(
    lake: LakeBed, project: ProjectFolder, derby: Mapping[str, str], places: Places
) -> None:
    """The file is unknown, exit 6: a person decides, although the cause of the failure is gone."""
    places(KINDS["jdbc-catalog"])  # Creates the database.
    name = f"taken_{uuid.uuid4().hex[:8]}"
    project.catalog(lake.text, name)
    sets = "".join(f"SET spark.sql.catalog.{key}={value}; " for key, value in derby.items())
    table = f"pg.APP.{name}"
    text = f"{sets}CREATE TABLE {table} {COLUMNS}; INSERT INTO {table} {BAD}"
    for sql in (text, text.replace("IF(id = 7, raise_error('no'), id)", "id")):
        project.file("1_fill.sql", sql, name)
        with pytest.raises(NeedsRepair):
            Project.load(project.root).migrate(spark=lake.spark)
        [result] = Project.load(project.root).status(spark=lake.spark)
        assert [(each.state, each.statements_done) for each in result.migrations] == [("unknown", len(derby) + 1)]
    session = lake.spark.newSession()
    for key, value in derby.items():
        session.conf.set(f"spark.sql.catalog.{key}", value)
    assert 0 < session.sql(f"SELECT a FROM {table}").count() < 8
