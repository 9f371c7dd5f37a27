"""The contract of every executor, the fake included. Order, lock and history are outside of it."""

from __future__ import annotations

import json
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from glacierbase.errors import EngineError, NotPlain, StatementRefused, TableNotFound
from glacierbase.model.names import name_parts
from tests.support.beds import LakeBed, RemoteLake, SnowBed, lake_bed, opened
from tests.support.fakes import FakeExecutor


@dataclass
class Bed:
    """An executor, and SQL of its engine."""

    executor: Any
    table: Callable[[str], str]
    failing_question: str
    slow_row: str  # A query that takes seconds to return a row.
    uses: (
        tuple[str, str] | None
    )  # Two statements, each of which selects another namespace; None where there is only one.
    brings_mine: str = "CREATE TEMPORARY VIEW mine AS SELECT 1 AS a"  # Afterwards the session has a table `mine`.


COUNTING = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
SLEEPING = "SELECT IF(java_method('java.lang.Thread', 'sleep', 20000L) = 'slept', 0, 7)"
# https://docs.snowflake.com/en/sql-reference/functions/generator
SLOW_ON_SNOWFLAKE = {
    "emulated": "SELECT 7 /* takes 20 s */",
    "account": "SELECT count(*) FROM TABLE(GENERATOR(TIMELIMIT => 60))",
}


@pytest.fixture(scope="module")
def worker_lake(lake_text: str, warm_cache: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeBed]:
    """A real Spark in a worker."""
    folder = tmp_path_factory.mktemp("worker") / "project"
    text = lake_text.replace("WAREHOUSE", str(folder / "warehouse"))
    with lake_bed(f"{text}  python: {sys.executable}\n", folder) as bed:
        yield bed


SPARKS = [
    pytest.param("lake", id="spark"),
    pytest.param("remote_lake", id="connect"),
    pytest.param("worker_lake", id="worker", marks=pytest.mark.spark),
]
QUERIED = [
    "fake",
    *SPARKS,
    "sqlite_engine",
    "emulated",
    pytest.param("account", marks=pytest.mark.account),
]


def make_bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    if request.param == "direct":
        from glacierbase.executors.direct.executor import (
            IcebergExecutor,  # The connector's other environment has no PyIceberg.
        )

        with closing(IcebergExecutor(request.getfixturevalue("iceberg_catalog"))) as executor:
            executor.open_session().execute("CREATE NAMESPACE lake.a.b")
            yield Bed(executor, lambda name: f"lake.a.b.{name}", "", "", None)
        return
    if request.param == "fake":
        yield Bed(
            FakeExecutor(), lambda name: name, "SELECT abs(-9223372036854775807 - 1)", COUNTING, ("USE one", "USE two")
        )
        return
    if request.param == "sqlite_engine":
        with opened(request.getfixturevalue("sqlite_engine").root) as (_, executor):
            yield Bed(executor, lambda name: name, "SELECT abs(-9223372036854775807 - 1)", COUNTING, None)
        return
    if request.param in ("emulated", "account"):
        snow: SnowBed = request.getfixturevalue(request.param)
        schema, slow_row = snow.schema(), SLOW_ON_SNOWFLAKE[request.param]
        snow.executor.open_session().execute(f"CREATE TABLE {schema}.mine AS SELECT 1 AS a")
        uses = (f"USE SCHEMA {schema}", f"USE SCHEMA {snow.schema()}")
        yield Bed(snow.executor, lambda name: f"{schema}.{name}", "SELECT TO_NUMBER('x')", slow_row, uses, uses[0])
        return
    lake: LakeBed | RemoteLake = request.getfixturevalue(request.param)
    namespace = f"lake.c{uuid.uuid4().hex[:8]}"
    lake.executor.open_session().execute(f"CREATE NAMESPACE {namespace}")
    failing, uses = "SELECT raise_error('no') FROM range(1)", (f"USE {namespace}", "SET CATALOG spark_catalog")
    yield Bed(lake.executor, lambda name: f"{namespace}.{name}", failing, SLEEPING, uses)


@pytest.fixture(params=QUERIED)
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """Every executor of queries in turn."""
    yield from make_bed(request)


@pytest.fixture(params=[*QUERIED, "direct"])
def any_bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """Every executor in turn, and the one without queries."""
    yield from make_bed(request)


@pytest.fixture(params=SPARKS)
def spark_bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """Every executor of Spark in turn."""
    yield from make_bed(request)


@pytest.fixture(params=["direct"])
def direct_bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """The executor of plain Iceberg DDL, on tables in a nested namespace."""
    yield from make_bed(request)


def test_it_says_what_it_is(any_bed: Bed) -> None:
    """Engine, principal and process are columns of every event; the process is valid JSON."""
    assert any_bed.executor.engine
    assert any_bed.executor.principal
    assert json.loads(json.dumps(dict(any_bed.executor.process)))


def test_a_statement_has_taken_effect_when_execute_returns(bed: Bed) -> None:
    """The next session reads its effect."""
    session = bed.executor.open_session()
    session.execute(f"CREATE TABLE {bed.table('t')} (a INT)")
    session.execute(f"INSERT INTO {bed.table('t')} VALUES (1), (2)")
    session.close()
    assert sorted(bed.executor.open_session().query(f"SELECT a FROM {bed.table('t')}")) == [(1,), (2,)]


@pytest.mark.parametrize("value", ["it's", "back\\slash", "ünïcödé 🧊", "line\r\nend", "?:x %s ${y}", "", None, 2**62])
def test_a_bound_value_comes_back_as_it_went_in(bed: Bed, value: Any) -> None:
    """No part of a value is interpreted as SQL."""
    assert bed.executor.open_session().query("SELECT ?", [value]) == [(value,)]


def test_marks_in_the_text_reach_the_engine_when_nothing_is_bound(bed: Bed) -> None:
    """`?`, `:name` and `%s` inside a string are plain text."""
    assert bed.executor.open_session().query("SELECT '? :name %s %'") == [("? :name %s %",)]


def test_a_question_that_fails_in_its_last_row_fails(bed: Bed) -> None:
    """An engine that evaluates lazily must compute every row."""
    with pytest.raises(StatementRefused):
        bed.executor.open_session().execute(bed.failing_question)


def test_wrong_syntax_is_refused_with_the_engines_words(any_bed: Bed) -> None:
    """The message is one line without a stack, with the engine's name of the error."""
    with pytest.raises(StatementRefused) as caught:
        any_bed.executor.open_session().execute("CREATE TABEL t")
    assert caught.value.error_class
    assert "TABEL" in caught.value.message
    assert "\tat " not in caught.value.message


def test_a_missing_table_is_distinguished_from_other_errors(bed: Bed) -> None:
    """A history that does not exist is normal; one that cannot be read is an error."""
    with pytest.raises(TableNotFound):
        bed.executor.open_session().query(f"SELECT * FROM {bed.table('missing')}")


def test_what_one_session_sets_the_next_does_not_see(bed: Bed) -> None:
    """Each migration file starts with a clean session."""
    first, second = bed.executor.open_session(), bed.executor.open_session()
    first.execute(bed.brings_mine)
    assert first.query("SELECT a FROM mine") == [(1,)]
    first.close()
    for session in (second, bed.executor.open_session()):
        with pytest.raises(StatementRefused):
            session.query("SELECT a FROM mine")


def test_a_cancelled_statement_ends_without_its_effect_and_the_error_names_that(bed: Bed) -> None:
    """The cancelled statement's session and all others stay usable."""
    session = bed.executor.open_session()
    session.execute(f"CREATE TABLE {bed.table('slow')} (a BIGINT)")
    session.cancel()  # No effect without a running statement.
    began, ended = time.monotonic(), threading.Event()

    def cancel() -> None:
        while not ended.wait(1.5):  # On a busy machine the first cancel may come before the statement.
            session.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    try:
        with pytest.raises(EngineError):
            session.execute(
                f"INSERT INTO {bed.table('slow')} {bed.slow_row}", tag=f"glacierbase;{uuid.uuid4().hex};1;1"
            )
    finally:
        ended.set()
        canceller.join()
    assert 1 < time.monotonic() - began < 1.5 + 10  # A run gives a cancelled statement up after 10 s.
    assert session.query(f"SELECT a FROM {bed.table('slow')}") == []
    assert bed.executor.open_session().query(f"SELECT a FROM {bed.table('slow')}") == []


def test_progress_is_shown_from_another_thread_and_disturbs_nothing(bed: Bed) -> None:
    """Progress is text or nothing before, during and after a statement, and after the session's end; it never raises."""
    session, seen, ended = bed.executor.open_session(), [], threading.Event()

    def look() -> None:
        seen.append(session.progress())
        while not ended.wait(0.05):
            seen.append(session.progress())

    looking = threading.Thread(target=look)
    looking.start()
    try:
        session.execute(f"CREATE TABLE {bed.table('seen')} (a INT)", tag=f"glacierbase;{uuid.uuid4().hex};1;1")
        session.execute(f"INSERT INTO {bed.table('seen')} VALUES (1)", tag=f"glacierbase;{uuid.uuid4().hex};1;2")
        assert session.query(f"SELECT a FROM {bed.table('seen')}") == [(1,)]
    finally:
        ended.set()
        looking.join()
    session.close()
    assert seen
    assert all(text is None or "\n" not in text for text in [*seen, session.progress()])


def test_closing_one_session_leaves_the_others(bed: Bed) -> None:
    """The session of a file is closed while the store's stays open."""
    first, second = bed.executor.open_session(), bed.executor.open_session(bookkeeping=True)
    first.close()
    assert second.query("SELECT 1") == [(1,)]


def test_a_table_is_described_as_it_is_now(any_bed: Bed) -> None:
    """A session sees what another one changed; where there is no table, there is no shape."""
    table = any_bed.table("described")
    with closing(any_bed.executor.open_session()) as session, closing(any_bed.executor.open_session()) as other:
        assert session.shape(table) is None
        other.execute(f"CREATE TABLE {table} (a INT NOT NULL)")
        assert [(column.name.lower(), column.required) for column in session.shape(table).columns] == [("a", True)]
        other.execute(f"ALTER TABLE {table} ADD COLUMN b INT")
        shape = session.shape(table)
    assert shape.table == table
    assert [(column.name.lower(), column.required) for column in shape.columns] == [("a", True), ("b", False)]


def test_a_session_lists_the_tables_of_a_catalog(bed: Bed) -> None:
    """Each under its whole name, those of all namespaces, and none that is temporary."""
    table = bed.table("listed")
    *above, _ = name_parts(table.lower())
    with closing(bed.executor.open_session()) as session:
        session.execute(f"CREATE TABLE {table} (a INT)")
        session.execute(bed.brings_mine)
        listed = [each for each in session.tables(above[0] if above else bed.executor.dialect) if each.kind == "table"]
    found = [parts for each in listed if (parts := name_parts(each.name.lower()))[-len(above) - 1 : -1] == above]
    assert [parts[-1] for parts in found].count("listed") == 1
    assert "mine" not in [parts[-1] for parts in found] or not bed.brings_mine.startswith("CREATE")


def test_the_statements_of_a_view_create_it_anew(bed: Bed) -> None:
    """Once where it exists, which they replace, and once where it was dropped."""
    table, view = bed.table("viewed"), bed.table("a_view")
    with closing(bed.executor.open_session()) as session:
        session.execute(f"CREATE TABLE {table} (a INT)")
        session.execute(f"INSERT INTO {table} VALUES (7)")
        session.execute(f"CREATE VIEW {view} AS SELECT a FROM {table} WHERE a > 0")
        catalog = table.split(".")[0] if "." in table else bed.executor.dialect
        views = [each.name for each in session.tables(catalog) if each.kind == "view"]
        [name] = [name for name in views if name.lower().endswith(view.lower())]
        for before in ((), (f"DROP VIEW {view}",)):
            for sql in (*before, *session.view_statements(name)):
                session.execute(sql)
            assert session.query(f"SELECT a FROM {view}") == [(7,)]


def test_a_session_names_its_context_and_returns_to_one(any_bed: Bed) -> None:
    """`USE` changes the context; `select` makes a former one current again, for the session alone."""
    session = any_bed.executor.open_session()
    if any_bed.uses is None:
        session.select(session.context())
        assert session.context() == any_bed.executor.open_session().context()
        return
    session.execute(any_bed.uses[0])
    first = session.context()
    session.execute(any_bed.uses[1])
    assert session.context() != first
    session.select(first)
    assert session.context() == first
    assert any_bed.executor.open_session().context() != first


def test_a_plain_statement_takes_effect_in_every_session_and_a_missing_table_is_distinguished(direct_bed: Bed) -> None:
    """The end of one session leaves the others, and a refused statement has no effect."""
    first, second = direct_bed.executor.open_session(), direct_bed.executor.open_session(bookkeeping=True)
    table = direct_bed.table("t")
    with pytest.raises(TableNotFound):
        first.execute(f"ALTER TABLE {table} ADD COLUMN b INT")
    first.execute(f"CREATE TABLE {table} (a INT)")
    first.close()
    with pytest.raises(StatementRefused, match="`a` already exists"):
        second.execute(f"ALTER TABLE {table} ADD COLUMN a INT")
    assert [column.name for column in second.shape(table).columns] == ["a"]
    with pytest.raises(NotPlain, match="a query needs an engine"):
        second.query("SELECT 1")


def test_a_session_without_queries_lists_nested_namespaces_and_cannot_be_disturbed(direct_bed: Bed) -> None:
    """A cancellation finds nothing in flight, and there is no progress to show, also after the end of the session."""
    session = direct_bed.executor.open_session()
    for name in ("lake.a", "lake.a.b", "lake.a.b.c"):
        session.execute(f"CREATE NAMESPACE IF NOT EXISTS {name}")
        session.cancel()
        session.execute(f"CREATE TABLE {name}.listed (a INT)")
        assert session.progress() is None
    listed = sorted(table.name for table in session.tables("lake"))
    assert listed == ["lake.a.b.c.listed", "lake.a.b.listed", "lake.a.listed"]
    session.close()
    session.cancel()
    assert session.progress() is None


def test_a_view_has_the_rows_that_a_function_makes_on_the_tasks(spark_bed: Bed) -> None:
    """The tasks' Python needs not have its module; an error of the function is one of the query; a view is replaced."""
    with closing(spark_bed.executor.open_session()) as session:
        numbers = "SELECT {} AS number, nullif(concat('ü', id), 'ü7') AS text FROM range(3000)"
        function, columns = "tests.support.doubling:doubled", "twice BIGINT, text STRING, imported BIGINT"
        session.make_view("doubled", numbers.format("-1"), function, columns)
        with pytest.raises(EngineError, match="-1 is negative"):
            session.query("SELECT * FROM doubled")
        session.make_view("doubled", numbers.format("id"), function, columns)
        rows = session.query("SELECT * FROM doubled")
        assert sorted(rows) == [(number * 2, None if number == 7 else f"ü{number}", 0) for number in range(3000)]
        with pytest.raises(StatementRefused):
            session.make_view("doubled", "SELECT nothing", function, columns)
