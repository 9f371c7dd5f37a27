"""The cells of the compatibility page: a format, a catalog, an engine and a store, on one Spark or on none."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.support.sparks import DEFAULT, SPARKS

# The Spark that `.ci/run` has beside the default one, and the tests that it runs there.
SECOND = "3.5"
_RESUMED = "tests/engines/test_migrate_iceberg.py::test_a_file_that_fails_at_three_of_five_is_resumed_at_three"
_STOPPED = "tests/engines/test_spark_processes.py::test_stopped_a_run_lets_a_short_statement_end"
SAMPLE = ("tests/engines/contract/test_executor_contract.py", _RESUMED, _STOPPED, "-k", "spark")
_CREATES, _FAILS = ("create",), ("create", "fail and resume")

_SLOW = "SELECT IF(java_method('java.lang.Thread', 'sleep', {}L) = 'slept', 0, 6), 'six', 60"
_COUNTED = "SELECT IF(count(*) = {}, 0, raise_error('another number of rows')) FROM {}"
_THROUGH_PYICEBERG, _THROUGH_SPARK = "the same catalog, through PyIceberg", "the same catalog, through Spark"
_EMBEDDED = "embedded, through PyIceberg"


@dataclass(frozen=True)
class Sql:
    """The statements of the scenarios in one format.

    Attributes:
        create: the statements that create the table, whose name replaces `{table}` and whose namespace replaces `{namespace}`.
        place: where the namespace is, with a dot; empty where the catalog has one level.
        evolve: the statement that adds a column.
        slow: a query for a row that takes several seconds.
        counted: a query that fails where the table has not that many rows.
    """

    create: str
    place: str = ""
    evolve: str = "ALTER TABLE {table} ADD COLUMNS (c INT)"
    slow: str = _SLOW.format(20_000)
    counted: str = _COUNTED


_ICEBERG = Sql("CREATE NAMESPACE {namespace}; CREATE TABLE {table} (a INT, b STRING) USING iceberg", "lake.")
_DELTA = Sql("CREATE SCHEMA {namespace}; CREATE TABLE {table} (a INT, b STRING) USING delta")
_HUDI = Sql(
    "CREATE SCHEMA {namespace}; CREATE TABLE {table} (a INT, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'a')"
)
_SNOWFLAKE = Sql(
    "CREATE SCHEMA {namespace}; CREATE TABLE {table} (a INT, b STRING)",
    "DEMO.",
    "ALTER TABLE {table} ADD COLUMN c INT",
    "SELECT 6, 'six', 60 /* takes 20 s */",
    "SELECT TO_NUMBER(IFF(count(*) = {}, '1', 'another number of rows')) FROM {}",
)


@dataclass(frozen=True)
class Cell:
    """A combination.

    Attributes:
        name: the name of its results.
        fixture: the fixture of `test_cells` that starts its servers and returns the text of its catalog file.
        sparks: the versions of Spark that it is tried on; none where the engine is not Spark.
        store_keys: keys of `store` in the catalog file, each with a comma; empty where the file has a store.
        finishes: whether the engine finishes a statement whose client was killed.
        ci: by version of Spark, a test that `.ci/run` has, and the scenarios whose steps it does in this cell.
    """

    name: str
    format: str
    catalog: str
    engine: str
    store: str
    fixture: str
    sql: Sql
    sparks: tuple[str, ...] = tuple(SPARKS)
    store_keys: str = "catalog: lake, "
    finishes: bool = False
    ci: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)


CELLS = (
    Cell(
        "iceberg-sqlite", "Iceberg", "JDBC on SQLite", "Spark, local", _THROUGH_PYICEBERG, "sqlite_file", _ICEBERG,
        ci={
            DEFAULT: (_RESUMED, _FAILS),
            SECOND: (_RESUMED, _FAILS),
        },
    ),
    Cell(
        "iceberg-sqlite-sql", "Iceberg", "JDBC on SQLite", "Spark, local", _THROUGH_SPARK, "sqlite_file", _ICEBERG,
        store_keys="catalog: lake, type: sql, ",
    ),
    Cell(
        "iceberg-postgresql", "Iceberg", "JDBC on PostgreSQL", "Spark, local", _THROUGH_PYICEBERG, "postgresql_file", _ICEBERG,
        ci={"4.1": ("tests/engines/test_migrate_postgres.py::test_a_migration_runs_and_is_recorded_there", _CREATES)},
    ),
    Cell(
        "iceberg-rest", "Iceberg", "REST (Iceberg's own handlers)", "Spark, local", _THROUGH_PYICEBERG, "rest_file", _ICEBERG,
        ci={"4.1": ("tests/engines/test_migrate_rest.py::test_a_migration_runs_and_is_recorded_there", _CREATES)},
    ),
    Cell(
        "iceberg-connect", "Iceberg", "JDBC on SQLite", "Spark Connect", _THROUGH_SPARK, "connect_file", _ICEBERG,
        finishes=True,
        ci={"4.1": ("tests/engines/test_migrate_connect.py::test_migrations_run_on_a_server_fail_there_and_resume", _FAILS)},
    ),
    Cell(
        "delta", "Delta", "Derby metastore", "Spark, local", _EMBEDDED, "delta_file", _DELTA, store_keys="",
        ci={"4.1": ("tests/engines/test_migrate_delta.py::test_the_catalog_file_of_init_works_as_it_is_written", _CREATES)},
    ),
    Cell(
        "hudi", "Hudi", "Derby metastore", "Spark, in a worker", _EMBEDDED, "hudi_file", _HUDI,
        store_keys="",
        sparks=tuple(short for short, spark in SPARKS.items() if spark.hudi),
        ci={"3.5": ("tests/engines/test_migrate_hudi.py::test_the_catalog_file_of_init_works_as_it_is_written", _CREATES)},
    ),
    Cell(
        "snowflake", "Snowflake tables", "Snowflake, emulated", "Snowflake connector", "the same database", "snowflake_file",
        _SNOWFLAKE, sparks=(), finishes=True, store_keys="catalog: DEMO, ",
        ci={"": ("tests/engines/test_migrate_snowflake.py::test_a_failed_file_goes_on_where_it_stopped", ("fail and resume",))},
    ),
)  # fmt: skip
