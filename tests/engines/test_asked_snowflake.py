"""`schema`, `blame`, `history --column`, `drift` and `compare` of Snowflake's tables, and what their record costs."""

from __future__ import annotations

from contextlib import closing

import pytest

from glacierbase.project.project import Project
from tests.engines.test_asked import lines
from tests.support.beds import SnowBed
from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder
from tests.support.snowflake.bed import SnowflakeServer

# Columns are followed by their names, and tables by the statements of the files. The schema stands for S.
FILES = {
    "01_make.sql": "CREATE TABLE S.T (ID NUMBER(10,0) NOT NULL, A VARCHAR, V VARIANT, DAY DATE) CLUSTER BY (DAY)",
    "02_rename.sql": "ALTER TABLE S.T RENAME COLUMN A TO B",
    "03_again.sql": "ALTER TABLE S.T RENAME COLUMN B TO C",
    "04_drop.sql": "ALTER TABLE S.T DROP COLUMN C; ALTER TABLE S.T ADD COLUMN A VARCHAR",
    "05_cluster.sql": "ALTER TABLE S.T CLUSTER BY (ID); ALTER TABLE S.T ALTER COLUMN ID DROP NOT NULL",
    "06_move.sql": "ALTER TABLE S.T RENAME TO S.U; ALTER TABLE S.U ADD COLUMN N INT",
    "07_new.sql": "CREATE TABLE S.T (ID INT)",
    "08_anew.sql": "DROP TABLE S.T; CREATE TABLE S.T (ID INT, Z INT)",
    "09_replace.sql": "CREATE OR REPLACE TABLE S.T (ID INT, Y VARCHAR)",
    "10_exists.sql": "CREATE TABLE IF NOT EXISTS S.T (ID INT); ALTER TABLE S.T ADD COLUMN X INT",
}
ENVIRONMENTS = "environments: {first: {store: {namespace: FIRST}}, second: {store: {namespace: SECOND}}}\n"


@pytest.fixture
def folder(emulated: SnowBed, project: ProjectFolder) -> ProjectFolder:
    """A project of two environments; the first one has applied all files."""
    schema = emulated.schema()
    namespaces = ENVIRONMENTS.replace("FIRST", f"{schema[5:]}A").replace("SECOND", f"{schema[5:]}B")
    project.catalog(f"{emulated.text}{namespaces}defaultEnvironment: first\n")
    for name, sql in FILES.items():
        project.file(name, sql.replace("S.", f"{schema}."))
    done = run_here(project, "migrate")
    assert done.code == 0, done.stderr
    return project


def test_the_answers_are_right_for_tables_of_snowflake_that_were_changed_in_every_way(folder: ProjectFolder) -> None:
    """A renamed column is a new one, and a renamed table the same; a table that was made anew, or replaced, is another one."""
    asked = Project.load(folder.root)
    assert lines(asked, "U") == [
        ("ID", "05", "was required"),
        ("V", "01", ""),
        ("DAY", "01", ""),
        ("A", "04", ""),
        ("N", "06", ""),
    ]
    [(name, version, change)] = lines(asked, "U", "table")
    assert (name[-2:], version, change[:13], change[-2:]) == (".U", "06", "renamed from ", ".T")
    assert lines(asked, "T") == [("ID", "09", ""), ("Y", "09", ""), ("X", "10", "")]
    [changes] = asked.history(table="U", column="A")
    assert [(each.version, [one.line() for one in each.differences]) for each in changes.changes or ()] == [
        ("01", ["+ column A: VARCHAR(16777216)"]),
        ("02", ["- column A: VARCHAR(16777216)"]),
        ("04", ["+ column A: VARCHAR(16777216)"]),
    ]
    shapes = [asked.schema("T", at=at)[0].shape for at in ("1", "2", "5", "7", "8", "9", "10")]
    assert [[each.name for each in shape.columns] for shape in shapes if shape] == [
        ["ID", "A", "V", "DAY"], ["ID", "B", "V", "DAY"], ["ID", "V", "DAY", "A"],
        ["ID"], ["ID", "Z"], ["ID", "Y"], ["ID", "Y", "X"],
    ]  # fmt: skip
    assert [
        [(each.table[-1], str(each.change)) for each in asked.show(version)[0].tables]
        for version in ("6", "8", "9", "10")
    ] == [
        [("U", "renamed")],
        [("T", "dropped"), ("T", "created")],
        [("T", "dropped"), ("T", "created")],
        [("T", "altered")],
    ]
    without = run_here(folder, "schema", "U", "--format", "sql")
    assert (without.code, "in the format snowflake" in without.stderr) == (2, True)


def test_what_is_changed_by_hand_on_snowflake_is_found_and_no_statement_is_guessed(
    folder: ProjectFolder, emulated: SnowBed
) -> None:
    """`adopt` and `revert` are refused and write nothing; the environments are compared by their records."""
    assert ask_here(folder, "drift").code == 0
    second = run_here(folder, "compare", "first", "second", "--exit-code")
    assert "only its engine can read it; 2 compared by their records" in second.stdout
    assert (second.code, second.stdout.count("  behind")) == (7, len(FILES))
    schema = str(Project.load(folder.root).blame("U")[0].table).removesuffix(".U")
    session = emulated.executor.open_session()
    for sql in (f"ALTER TABLE {schema}.U ADD COLUMN LEGACY INT", f"ALTER TABLE {schema}.U RENAME COLUMN A TO AA"):
        session.execute(sql)
    session.execute(f"DROP TABLE {schema}.T")
    done = ask_here(folder, "drift")
    assert (done.code, [(each["what"], each["class"]) for each in done.entry()["drifts"]]) == (
        7,
        [
            ("column A", "structural"),
            ("column AA", "structural"),
            ("column LEGACY", "structural"),
            (f"table {schema}.T", "structural"),
        ],
    )
    ways = done.entry()["next"]
    assert [line.partition(":")[0] for line in ways] == ["write a migration by hand", "ignore them"]
    files = sorted(folder.root.rglob("*.sql"))
    for way in ("adopt", "revert"):
        refused = run_here(folder, "drift", way, "--reason", "test", "--author", "Ann", "--yes")
        assert (refused.code, "DRIFT_REFUSED" in refused.stderr) == (3, True), refused.stderr
        assert f"{schema}.U is no table of Iceberg or Delta" in refused.stderr
    assert sorted(folder.root.rglob("*.sql")) == files


HISTORY = """\
CREATE TABLE SNOWFLAKE.ACCOUNT_USAGE.QUERY_HISTORY (QUERY_ID VARCHAR, QUERY_TYPE VARCHAR, START_TIME TIMESTAMP_TZ,
USER_NAME VARCHAR, QUERY_TEXT VARCHAR, DATABASE_NAME VARCHAR, SCHEMA_NAME VARCHAR, QUERY_TAG VARCHAR, EXECUTION_STATUS VARCHAR)"""


def test_drift_on_snowflake_names_who_ran_the_statement_and_when(folder: ProjectFolder, emulated: SnowBed) -> None:
    """A table of the emulator takes the place of the account's history; without it there is no time, and the text has the grant."""
    schema = str(Project.load(folder.root).blame("U")[0].table).removesuffix(".U")
    session = emulated.executor.open_session()
    session.execute(f"ALTER TABLE {schema}.U ADD COLUMN LEGACY INT")
    session.execute(f"DROP TABLE {schema}.T")
    drift = ask_here(folder, "drift").entry()
    assert [one["since"] for one in drift["drifts"]] == [None, None]
    assert drift["grant"] == 'GRANT DATABASE ROLE SNOWFLAKE.GOVERNANCE_VIEWER TO ROLE "ENGINEER"'
    assert f"times and authors need: {drift['grant']}" in run_here(folder, "drift").stdout
    database, name = schema.split(".")
    for sql in ("CREATE DATABASE SNOWFLAKE", "CREATE SCHEMA SNOWFLAKE.ACCOUNT_USAGE", HISTORY):
        session.execute(sql)
    try:
        for query, sql, status in (
            ("q1", "ALTER TABLE U ADD COLUMN LEGACY INT", "SUCCESS"),
            ("q2", "ALTER TABLE U ADD COLUMN LEGACY INT", "FAIL"),
            ("q3", "ALTER TABLE U ADD COLUMN OTHER INT", "SUCCESS"),
        ):
            values = (query, "ALTER_TABLE_ADD_COLUMN", "ANN", sql, database, name, status)
            session.execute(
                "INSERT INTO SNOWFLAKE.ACCOUNT_USAGE.QUERY_HISTORY SELECT ?, ?, CURRENT_TIMESTAMP(), ?, ?, ?, ?, '', ?",
                values,
            )
        drift = ask_here(folder, "drift").entry()
        made = [(one["what"], one["by"], one["operation"]) for one in drift["drifts"]]
        assert made[0] == ("column LEGACY", "ANN", "ALTER_TABLE_ADD_COLUMN, query q1")
        assert made[1] == (f"table {schema}.T", None, None)
        assert (drift["drifts"][0]["since"] is not None, drift["grant"]) == (True, None)
    finally:
        session.execute("DROP TABLE SNOWFLAKE.ACCOUNT_USAGE.QUERY_HISTORY")


@pytest.mark.parametrize(
    ("kind", "looks"),
    [("CREATE TABLE S.T{} (ID INT)", 6), ("ALTER TABLE S.T ADD COLUMN C{} INT", 4)],
    ids=["create", "alter"],
)
def test_a_file_on_snowflake_costs_at_most_two_requests_more(
    kind: str, looks: int, emulated: SnowBed, snowflake_server: SnowflakeServer, project: ProjectFolder
) -> None:
    """Three files in a run: two looks at each new table; one before and one after each file at a table that all of them alter."""

    def requests(more: str) -> int:
        """Return how many requests of every kind the run of three files sends."""
        schema = emulated.schema()
        emulated.executor.open_session().execute(f"CREATE TABLE {schema}.T (ID INT)")
        project.catalog(f"{emulated.catalog_file()}{more}")
        for number in (1, 2, 3):
            project.file(f"{number}_more.sql", kind.format(number).replace("S.", f"{schema}."))
        begin = len(snowflake_server.requests)
        assert run_here(project, "migrate").code == 0
        return len(snowflake_server.requests) - begin

    assert requests("") - requests("record: off\n") == looks <= 3 * 2


def test_the_ids_of_a_table_are_read_by_a_query(emulated: SnowBed, project: ProjectFolder) -> None:
    """`layout profile` folds an unquoted name of a table as Snowflake does, and reads a column by its exact name."""
    schema = emulated.schema()
    project.catalog(emulated.text)
    with closing(emulated.executor.open_session()) as session:
        session.execute(f'CREATE TABLE {schema}.IDS (ID NUMBER(38,0), "user id" VARCHAR)')
        session.execute(f"INSERT INTO {schema}.IDS VALUES (100, 'a'), (-7, ''), (NULL, 'b')")
    loaded = Project.load(project.root)
    profile = loaded.layout_profile(f"{schema.lower()}.ids", "id").profile
    assert (profile.values, profile.nulls, profile.kind.value) == (2, 1, "integer")
    assert [share.character for share in profile.last if share.count] == ["0", "7"]
    profile = loaded.layout_profile(f"{schema}.IDS", "user id").profile
    assert (profile.values, profile.nulls, profile.kind.value) == (2, 1, "hex")
