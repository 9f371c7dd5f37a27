"""The path of `migrate` on real Spark and real Iceberg tables, through the Python API in one Spark for all tests."""

from __future__ import annotations

import json
import re
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from glacierbase import Project
from glacierbase.errors import (
    GlacierbaseError,
    HistoryDisagrees,
    LockHeld,
    MigrationFailed,
    NeedsRepair,
    OutcomeUnknown,
    StatementRefused,
)
from glacierbase.executors import InFlight
from glacierbase.executors.spark.session import SparkSessionPort
from glacierbase.migrations.statements import split_statements
from glacierbase.sql.file import named
from glacierbase.sql.targets import target_tables
from tests.docs.pages import DOCS, blocks
from tests.support.beds import LakeBed
from tests.support.ids import expected, expressions, numbers, texts
from tests.support.project_folder import ProjectFolder
from tests.support.sparks import installed


class Shop:
    """A catalog for one test on the shared Spark, with a namespace for its tables."""

    def __init__(self, lake: LakeBed, folder: ProjectFolder) -> None:
        self.lake = lake
        self.folder = folder
        self.name = f"shop_{uuid.uuid4().hex[:8]}"
        self.namespace = f"lake.{self.name}"
        folder.catalog(lake.text, self.name)

    def file(self, name: str, sql: str) -> None:
        self.folder.file(name, re.sub(r"\bNS\b", self.namespace, sql), self.name)

    @property
    def project(self) -> Project:
        return Project.load(self.folder.root)

    def migrate(self) -> list[str]:
        [result] = self.project.migrate(spark=self.lake.spark)
        return [file.label for file in result.applied]

    def values(self) -> list[int]:
        return [row[0] for row in self.lake.rows(f"SELECT a FROM {self.namespace}.t ORDER BY a")]

    def history(self) -> list[tuple[str, str, int]]:
        table = f"lake.glacierbase.history_{self.name}"
        return [
            tuple(row)
            for row in self.lake.rows(f"SELECT event, version, sequence FROM {table} ORDER BY fence, sequence")
        ]


@pytest.fixture
def shop(lake: LakeBed, project: ProjectFolder) -> Shop:
    """A shop without migrations."""
    return Shop(lake, project)


CREATE = "CREATE NAMESPACE NS; CREATE TABLE NS.t (a BIGINT) USING iceberg"


def test_migrations_change_real_tables_and_are_in_the_history_table(shop: Shop) -> None:
    """Plain SQL reads the effects and the events."""
    shop.file("1_create.sql", CREATE)
    shop.file("2_fill.sql", "INSERT INTO NS.t VALUES (1); ALTER TABLE NS.t ADD COLUMN b STRING")
    assert shop.migrate() == ["1", "2"]
    assert shop.lake.rows(f"SELECT * FROM {shop.namespace}.t") == [(1, None)]
    assert shop.history() == [
        ("started", "1", 1), ("statement_done", "1", 2), ("applied", "1", 3),
        ("started", "2", 4), ("statement_done", "2", 5), ("applied", "2", 6),
    ]  # fmt: skip
    assert shop.migrate() == []


def test_a_file_that_fails_at_three_of_five_is_resumed_at_three(shop: Shop) -> None:
    """The failure is recorded with the engine's message, and each effect is there once."""
    rows = [f"INSERT INTO NS.t VALUES ({n})" for n in (1, 2, 3)]
    five = "; ".join([CREATE, *rows])
    shop.file("1_five.sql", five.replace("VALUES (1)", "VALUES (1, 2, 3)"))
    with pytest.raises(MigrationFailed) as caught:
        shop.migrate()
    assert caught.value.exit_code == 1
    assert "statement 3 of 5" in caught.value.message
    assert "too many data columns" in caught.value.message
    assert shop.values() == []
    [result] = shop.project.status(spark=shop.lake.spark)
    [status] = result.migrations
    assert (status.state, status.statements_done, status.statements_total) == ("failed", 2, 5)
    assert "too many data columns" in (status.error_message or "")
    shop.file("1_five.sql", five)
    assert shop.migrate() == ["1"]
    assert shop.values() == [1, 2, 3]


@pytest.mark.parametrize(
    ("wrong", "condition"),
    [
        ("ALTER TABLE NS.t DROP COLUMN nope", "UNRESOLVED_COLUMN|Missing field nope"),
        ("SELEKT 1", "PARSE_SYNTAX_ERROR"),
        ("INSERT INTO NS.t SELECT id + 1e30D FROM range(3)", "CAST_OVERFLOW_IN_TABLE_INSERT|overflow"),
        (
            "ALTER TABLE NS.t SET TBLPROPERTIES ('format-version'='9')",
            "Unsupported table change|unsupported format version",
        ),
        ("CREATE TABLE NS.t (a INT) USING iceberg", "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("ALTER TABLE NS.t REPLACE PARTITION FIELD day(a) WITH hour(a)", "."),
    ],
)
def test_what_iceberg_refuses_is_failed_and_not_unknown(shop: Shop, wrong: str, condition: str) -> None:
    """The refusal of any layer proves that the statement had no effect."""
    shop.file("1_create.sql", CREATE)
    shop.file("2_wrong.sql", wrong)
    with pytest.raises(MigrationFailed, match=condition) as caught:
        shop.migrate()
    assert "\tat " not in caught.value.message
    assert shop.history()[-1][0] == "failed"


def by_somebody_else(shop: Shop) -> None:
    """Append a row with PyIceberg, as another writer."""
    conf = {key.rpartition(".")[2]: value for key, value in shop.lake.catalog.spark_conf.items() if ".lake." in key}
    uri = conf["uri"].removeprefix("jdbc:sqlite:").partition("?")[0]
    catalog = load_catalog("lake", type="sql", uri=f"sqlite:///{uri}", warehouse=conf["warehouse"])
    catalog.load_table(f"{shop.name}.t").append(pa.table({"a": pa.array([1], pa.int64())}))


def by_the_run(shop: Shop) -> None:
    """Do nothing more: the statement took effect, and only its answer is lost."""


LOST_INSERT = "INSERT INTO NS.t VALUES (1)"
LOST_ALTER = "ALTER TABLE NS.t ADD COLUMN b INT"


@pytest.mark.parametrize(
    ("lost", "committed", "suggests", "author"),
    [
        (LOST_INSERT, by_the_run, "done", " by this run's application"),
        (LOST_INSERT, by_somebody_else, None, " by no Spark application"),
        (LOST_INSERT, None, "not-done", None),
        (LOST_ALTER, by_the_run, None, " UTC"),
    ],
)
def test_of_a_lost_answer_the_table_tells_who_committed_since(
    lost: str, committed: Callable[[Shop], None] | None, suggests: str | None, author: str | None, shop: Shop,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A commit of another writer is shown and suggests nothing; so is a change of metadata, which names no writer."""
    execute = SparkSessionPort.execute

    def lose(session: SparkSessionPort, sql: str, *arguments: Any, **options: Any) -> None:
        is_lost = sql == lost
        if not is_lost or committed is by_the_run:
            execute(session, sql, *arguments, **options)
        if is_lost:
            if committed:
                committed(shop)
            raise OutcomeUnknown("SocketException", "the connection was reset")

    monkeypatch.setattr(SparkSessionPort, "execute", lose)
    lost = lost.replace("NS.", f"{shop.namespace}.")
    shop.file("1_create.sql", f"{CREATE}; {lost}")
    with pytest.raises(NeedsRepair):
        shop.migrate()
    [case] = shop.project.repair(spark=shop.lake.spark)[0].cases
    assert case.suggests == suggests
    assert any(each.endswith(author) for each in case.evidence) if author else case.evidence == ()


def test_the_commits_of_a_table_with_any_name_are_found(shop: Shop) -> None:
    """Dots, blanks and backticks belong to the name, and cannot start another statement."""
    since = datetime.now(timezone.utc)
    names = ("`a.b`", "`my table`", "`c``; DROP TABLE d; --`")
    session = shop.lake.executor.open_session()
    session.execute(f"CREATE NAMESPACE {shop.namespace}")
    for name in names:
        session.execute(f"CREATE TABLE {shop.namespace}.{name} (a INT) USING iceberg")
        insert = f"INSERT INTO {shop.namespace} . {name} VALUES (1)"
        session.execute(insert)
        [statement] = split_statements(insert, "spark")
        tables = json.loads(target_tables(named([statement], "spark")) or "[]")
        evidence = shop.lake.executor.evidence(
            InFlight(tables, since, "", insert, shop.lake.executor.process["application"])
        )
        assert evidence.took_effect
        assert any(f"{shop.namespace}.{name}: append snapshot" in line for line in evidence.facts)


def test_a_catalog_that_cannot_be_opened_was_sent_nothing(lake: LakeBed, tmp_path: Path) -> None:
    """The first client creates the catalog's tables, and two may do so at the same time."""
    spark = lake.spark.newSession()
    conf = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "jdbc", ".warehouse": f"file://{tmp_path}"}
    for key, value in {**conf, ".uri": f"jdbc:sqlite:{tmp_path}/closed.db?busy_timeout=100"}.items():
        spark.conf.set(f"spark.sql.catalog.closed{key}", value)
    with closing(sqlite3.connect(tmp_path / "closed.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StatementRefused, match="locked"):
            SparkSessionPort(spark).execute("CREATE NAMESPACE closed.a")


def test_a_failed_procedure_is_unknown(shop: Shop) -> None:
    """A procedure may have committed some of its steps."""
    shop.file("1_create.sql", CREATE)
    shop.file("2_call.sql", f"CALL lake.system.rollback_to_snapshot('{shop.name}.t', 1)")
    with pytest.raises(GlacierbaseError) as caught:
        shop.migrate()
    assert (caught.value.code, caught.value.exit_code) == ("OUTCOME_UNKNOWN", 6)
    assert shop.history()[-1][0] == "unknown"


SEVERAL_IN_SCRIPTS = (
    "BEGIN INSERT INTO NS.t VALUES (1); INSERT INTO NS.missing VALUES (1); END",
    "BEGIN INSERT INTO NS.t VALUES (1); EXECUTE IMMEDIATE 'SELEKT 1'; END",
)
_LAST = ("SELEKT 1", "EXECUTE IMMEDIATE 'SELEKT 1'", "SELECT * FROM NS.missing")
# By what a Spark does with scripts: the last statement, the kind of the error, and the rows afterwards.
OF_SCRIPTS = {
    "on": [
        (_LAST[0], StatementRefused, []),
        (_LAST[1], OutcomeUnknown, [(1,)]),
        (_LAST[2], OutcomeUnknown, [(1,)]),
    ],
    "off": [(_LAST[0], StatementRefused, []), (_LAST[1], OutcomeUnknown, []), (_LAST[2], StatementRefused, [])],
    "unknown": [(last, StatementRefused, []) for last in _LAST],
}


@pytest.mark.parametrize(
    "several",
    [
        *(SEVERAL_IN_SCRIPTS if installed().scripts == "on" else ()),
        "FROM NS.one INSERT INTO NS.t SELECT a INSERT INTO NS.t SELECT CAST(raise_error('no') AS BIGINT)",
    ],
)
def test_what_failed_after_its_first_step_is_unknown_and_does_not_run_again(several: str, shop: Shop) -> None:
    """The first of two rows is there once, also after the next `migrate`, which refuses to run."""
    shop.file("1_create.sql", f"{CREATE}; CREATE TABLE NS.one USING iceberg AS SELECT 1L AS a")
    shop.file("2_several.sql", several)
    for _ in range(2):
        with pytest.raises(NeedsRepair) as caught:
            shop.migrate()
        assert (caught.value.code, caught.value.exit_code) == ("OUTCOME_UNKNOWN", 6)
        assert shop.values() == [1]


def test_a_purge_that_dropped_the_table_and_failed_on_its_files_is_unknown(shop: Shop) -> None:
    """The statement failed although the table was dropped."""
    shop.file("1_create.sql", f"{CREATE}; INSERT INTO NS.t VALUES (1)")
    shop.migrate()
    [[manifests]] = shop.lake.rows(f"SELECT manifest_list FROM {shop.namespace}.t.snapshots")
    Path(manifests.removeprefix("file:")).unlink()
    shop.file("2_drop.sql", "DROP TABLE NS.t PURGE")
    with pytest.raises(NeedsRepair) as caught:
        shop.migrate()
    assert (caught.value.code, caught.value.exit_code) == ("OUTCOME_UNKNOWN", 6)
    assert shop.lake.rows(f"SHOW TABLES IN {shop.namespace}") == []


@pytest.mark.parametrize("engine", ["lake", "remote_lake"])
@pytest.mark.parametrize(
    ("last", "kind", "values"),
    OF_SCRIPTS[installed().scripts],
)
def test_a_script_is_refused_only_where_it_cannot_be_read_at_all(
    last: str, kind: type, values: list[tuple[int]], engine: str, request: pytest.FixtureRequest
) -> None:
    """Dynamic SQL is parsed only after the statements before it have run, and may hold a script that is refused."""
    namespace = f"lake.s{uuid.uuid4().hex[:8]}"
    script = f"BEGIN\n  INSERT INTO {namespace}.t VALUES (1);\n  {last.replace('NS.', f'{namespace}.')};\nEND"
    with closing(request.getfixturevalue(engine).executor.open_session()) as session:
        session.execute(f"CREATE NAMESPACE {namespace}")
        session.execute(f"CREATE TABLE {namespace}.t (a BIGINT) USING iceberg")
        with pytest.raises(kind):
            session.execute(script)
        assert session.query(f"SELECT a FROM {namespace}.t") == values


def test_a_clause_that_the_parser_refuses_is_known_from_the_engine_where_the_message_lacks_the_text(
    lake: LakeBed,
) -> None:
    """Spark's message holds only a part of the statement."""
    with pytest.raises(StatementRefused):
        SparkSessionPort(lake.spark).execute("ALTER TABLE lake.a.t ADD PARTITION (a)")


def test_what_a_file_sets_or_uses_does_not_reach_the_next(shop: Shop) -> None:
    """Each file, and history and lock, start from a clean session."""
    shop.file(
        "1_create.sql",
        f"{CREATE}; USE NS; SET spark.sql.shuffle.partitions=7; CREATE TEMPORARY VIEW v AS SELECT 1 AS a",
    )
    shop.file("2_next.sql", "INSERT INTO t VALUES (1)")
    with pytest.raises(MigrationFailed, match="TABLE_OR_VIEW_NOT_FOUND"):
        shop.migrate()


def test_questions_make_no_namespace_no_table_and_no_lock(shop: Shop) -> None:
    """Read-only commands create nothing on a catalog that was never migrated."""
    shop.file("1_create.sql", CREATE)
    text = shop.lake.text.replace("migrationExecutor:", "store: {namespace: untouched}\nmigrationExecutor:")
    shop.folder.catalog(text, shop.name)
    spark = shop.lake.spark
    assert shop.project.pending(spark=spark)[0].pending[0].version == "1"
    assert shop.project.plan(spark=spark)[0].plan[0].statements[0].sql == f"CREATE NAMESPACE {shop.namespace}"
    assert shop.project.status(spark=spark)[0].migrations[0].state == "pending"
    assert shop.project.history(spark=spark)[0].events == ()
    assert shop.project.show("1", spark=spark)[0].next
    assert ("untouched",) not in shop.lake.rows("SHOW NAMESPACES IN lake")


def test_an_edited_file_is_an_error_and_the_same_file_with_other_line_ends_is_not(shop: Shop) -> None:
    """The run exits with 3, names both checksums and runs nothing; CRLF and a byte order mark are no edit."""
    shop.file("1_create.sql", CREATE)
    shop.migrate()
    path = shop.folder.root / "migrations" / shop.name / "1_create.sql"
    content = path.read_bytes()
    for same in (content.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + content):
        path.write_bytes(same)
        assert shop.migrate() == []
    path.write_bytes(content + b" ")
    shop.file("2_next.sql", "INSERT INTO NS.t VALUES (1)")
    with pytest.raises(HistoryDisagrees) as caught:
        shop.migrate()
    assert (caught.value.code, caught.value.exit_code) == ("CHECKSUM_MISMATCH", 3)
    assert caught.value.data["recorded_checksum"] != caught.value.data["file_checksum"]
    assert shop.values() == []


def test_the_lock_is_refused_to_a_second_run_inside_the_first(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of two runs on one catalog names the first."""
    shop.file("1_create.sql", CREATE)
    shop.migrate()
    shop.file("2_next.sql", "INSERT INTO NS.t VALUES (1)")
    from glacierbase.history.recorder import Recorder

    def second(recorder: Recorder, *_: object) -> None:
        monkeypatch.undo()
        with pytest.raises(LockHeld) as caught:
            shop.migrate()
        errors.append(caught.value)

    errors: list[LockHeld] = []
    original = Recorder.flush
    monkeypatch.setattr(Recorder, "flush", wrap(original, second))
    assert shop.migrate() == ["2"]
    assert errors[0].code == "LOCK_HELD"
    assert shop.values() == [1]


def wrap(original: Callable[..., None], before: Callable[..., None]) -> Callable[..., None]:
    def wrapped(self: object, *arguments: object) -> None:
        before(self, *arguments)
        original(self, *arguments)

    return wrapped


def test_a_session_that_differs_from_the_catalog_file_is_refused(shop: Shop) -> None:
    """The catalog file must describe where its tables are."""
    path = shop.folder.root / "catalogs" / f"{shop.name}.yaml"
    path.write_text(path.read_text().replace("cache-enabled: true", "cache-enabled: false"))
    shop.file("1_create.sql", CREATE)
    with pytest.raises(GlacierbaseError) as caught:
        shop.project.migrate(spark=shop.lake.spark)
    assert (caught.value.code, caught.value.exit_code) == ("SESSION_DIFFERS", 2)


def test_the_lease_is_renewed_while_a_long_statement_fills_every_core(shop: Shop) -> None:
    """The heartbeat uses the statement's Spark: in a first-in-first-out queue it would wait for the last task."""
    shop.folder.catalog(f"store: {{lockLease: 3s}}\n{shop.lake.text}", shop.name)
    tasks = 8 * shop.lake.spark.sparkContext.defaultParallelism
    sleep = f"SELECT java_method('java.lang.Thread', 'sleep', 1000L + id * 0) FROM range(0, {tasks}, 1, {tasks})"
    shop.file("1_slow.sql", sleep)
    assert shop.migrate() == ["1"]
    events, lock = (f"lake.glacierbase.{kind}_{shop.name}" for kind in ("history", "lock"))
    [[begin, end]] = shop.lake.rows(f"SELECT min(recorded_at), max(recorded_at) FROM {events}")
    beats = shop.lake.rows(
        f"SELECT committed_at FROM {lock}.snapshots"
        f" WHERE committed_at > TIMESTAMP '{begin}' + INTERVAL 1 SECOND AND committed_at < TIMESTAMP '{end}' - INTERVAL 3 SECONDS"
    )
    assert len(beats) >= 1


def test_a_plan_file_is_applied_to_real_tables_or_not_at_all(shop: Shop, tmp_path: Path) -> None:
    """The history is read through the real store: a run since the plan outdates it, and the plan made again is applied."""
    plan = tmp_path / "plan.json"
    shop.file("1_create.sql", CREATE)
    shop.file("2_fill.sql", "INSERT INTO NS.t VALUES (1)")
    shop.project.plan(output=plan, spark=shop.lake.spark)
    shop.project.migrate(to="1", spark=shop.lake.spark)
    with pytest.raises(HistoryDisagrees) as caught:
        shop.project.migrate(plan=plan, spark=shop.lake.spark)
    assert (caught.value.code, shop.values()) == ("PLAN_OUTDATED", [])
    shop.project.plan(output=plan, spark=shop.lake.spark)
    [result] = shop.project.migrate(plan=plan, spark=shop.lake.spark)
    assert ([file.version for file in result.applied], shop.values()) == (["2"], [1])


def test_views_are_replaced_when_their_repeatable_changes(shop: Shop) -> None:
    """A view on a view, in the order of the header; each run replaces what exists. A failed one resumes after the cause is gone."""
    shop.file("1_create.sql", CREATE)
    shop.file("2_fill.sql", "INSERT INTO NS.t VALUES (1), (2), (3)")
    shop.file("repeatable/above.sql", "CREATE OR REPLACE VIEW NS.above AS SELECT a FROM NS.t WHERE a > 1")
    path = shop.folder.root / "migrations" / shop.name / "repeatable/a_total.sql"
    shop.file("repeatable/a_total.sql", "CREATE OR REPLACE VIEW NS.a_total AS SELECT sum(a) AS a FROM NS.above")
    path.write_text(path.read_text().replace("\n\n", "\n-- MIGRATION_AFTER: above\n\n", 1))
    assert shop.migrate() == ["1", "2", "above", "a_total"]
    assert shop.migrate() == []

    def total() -> list[Any]:
        return [row[0] for row in shop.lake.rows(f"SELECT a FROM {shop.namespace}.a_total")]

    assert total() == [5]
    shop.file("repeatable/above.sql", "CREATE OR REPLACE VIEW NS.above AS SELECT a FROM NS.t WHERE a > 2")
    assert shop.migrate() == ["above"]
    assert total() == [3]
    shop.file("repeatable/above.sql", "DROP VIEW NS.a_total; CREATE OR REPLACE VIEW NS.above AS SELECT a FROM NS.later")
    with pytest.raises(MigrationFailed):
        shop.migrate()
    shop.lake.rows(f"CREATE TABLE {shop.namespace}.later (a BIGINT) USING iceberg")
    [result] = shop.project.migrate(spark=shop.lake.spark)
    assert [(file.name, file.resumed_at) for file in result.applied] == [("above", 2)]
    stored = {event for event, version, _ in shop.history() if version is None}
    assert {"started", "failed", "applied"} <= stored
    [status] = shop.project.status(spark=shop.lake.spark)
    assert {each.name: each.state.value for each in status.repeatables} == {"above": "applied", "a_total": "applied"}


def test_a_change_of_a_table_by_a_repeatable_is_attributed_to_it(shop: Shop) -> None:
    """`blame` names the repeatable, and the next file finds no change that no migration made."""
    shop.file("1_create.sql", CREATE)
    shop.file("repeatable/owner.sql", "ALTER TABLE NS.t SET TBLPROPERTIES ('acme.owner'='web')")
    assert shop.migrate() == ["1", "owner"]
    shop.file("2_more.sql", "ALTER TABLE NS.t ADD COLUMN b INT")
    shop.file("repeatable/owner.sql", "ALTER TABLE NS.t SET TBLPROPERTIES ('acme.owner'='shop')")
    [result] = shop.project.migrate(spark=shop.lake.spark)
    assert ([file.label for file in result.applied], result.warnings) == (["2", "owner"], ())
    [blamed] = shop.project.blame(f"{shop.name}.t", spark=shop.lake.spark)
    lines = {each.name: (each.type, each.version, each.outside) for each in blamed.lines_}
    assert lines["acme.owner"] == ("shop", "owner", False)
    assert lines["b"] == ("int", "2", False)
    [drifted] = shop.project.drift(spark=shop.lake.spark)
    assert (drifted.drifts, drifted.warnings) == ((), ())
    [shown] = shop.project.show("owner", spark=shop.lake.spark)
    assert [(each.table, str(each.change)) for each in shown.tables] == [(f"{shop.namespace}.t", "altered")] * 2
    [listed] = shop.project.history(table=f"{shop.name}.t", spark=shop.lake.spark)
    assert [(outcome.version, outcome.name) for outcome in listed.outcomes] == [
        ("1", None), (None, "owner"), ("2", None), (None, "owner"),
    ]  # fmt: skip
    [state] = shop.project.export_state(shop.folder.root / "state.json", spark=shop.lake.spark)
    assert [each.name for each in state.repeatables] == ["owner"]


@pytest.mark.parametrize(("ansi", "number"), [("true", "number"), ("false", "CAST(number AS DECIMAL(38, 0))")])
def test_the_key_macros_compute_what_python_computes(lake: LakeBed, tmp_path: Path, ansi: str, number: str) -> None:
    """For 10,000 ids, numbers and texts, and for NULL, with ANSI mode on and off."""
    ids = {"number": [*numbers(5000), None], "text": [*texts(5000), None]}
    rows = [dict(zip(("at", *ids), row, strict=True)) for row in zip(range(5001), *ids.values(), strict=True)]
    (tmp_path / "ids.json").write_text("\n".join(map(json.dumps, rows)))
    session = lake.spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", ansi)
    session.read.json(str(tmp_path / "ids.json"), "at INT, number BIGINT, text STRING").createOrReplaceTempView("ids")
    columns = [*expressions("spark", number).values(), *expressions("spark", "text").values()]
    found = [tuple(row) for row in session.sql(f"SELECT {', '.join(columns)} FROM ids ORDER BY at").collect()]
    in_python = zip(expected(numbers(5000)), expected(texts(5000)), strict=True)
    assert found[:-1] == [(*of_number.values(), *of_text.values()) for of_number, of_text in in_python]
    assert found[-1] == (None,) * len(columns)


def test_the_key_of_the_reference_is_a_column_of_an_iceberg_table(shop: Shop) -> None:
    """The example puts the last digit of the id before the day; 100 is in folder 0."""
    [block] = [block.text for block in blocks(DOCS / "reference" / "migration-file.md") if block.marker == "iceberg"]
    arrived = "SELECT id AS customer_id, TIMESTAMP '2026-11-24 00:00:00' AS ts FROM range(90, 101)"
    shop.file("1_create.sql", f"CREATE NAMESPACE NS; CREATE TABLE NS.arrived USING iceberg AS {arrived}")
    shop.file("2_example.sql", block.partition("\n\n")[2].replace("lake.sleep", "NS"))
    assert shop.migrate() == ["1", "2"]
    rows = f"SELECT customer_id_reversed, input_file_name() FROM {shop.namespace}.readings"
    folders = {row[0]: row[1].split("/data/")[1].split("/")[0] for row in shop.lake.rows(rows)}
    assert folders == {str(id)[::-1]: f"customer_id_reversed_trunc={id % 10}" for id in range(90, 101)}
