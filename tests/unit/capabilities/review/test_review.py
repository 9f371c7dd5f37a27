"""The command `review`, with a copy in memory in place of Spark."""

from __future__ import annotations

import re
import time
from pathlib import Path
from threading import Event
from unittest.mock import Mock

import pytest

from glacierbase.capabilities.review import replay
from glacierbase.capabilities.review import review as reviewing
from glacierbase.capabilities.review.results import ReviewResult
from glacierbase.capabilities.review.review import explained
from glacierbase.errors import (
    ConfigurationError,
    EngineUnavailable,
    GlacierbaseError,
    OutcomeUnknown,
    SeveralErrors,
    StatementRefused,
    TableNotFound,
)
from glacierbase.executors import CopiedView
from glacierbase.model.migration import checksum
from glacierbase.project.project import Project
from glacierbase.run.waiting import NoAnswer
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all
from tests.unit.capabilities.review.copies import LATER, TABLE, FakeCopy

CATALOG = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf: {spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog}
"""
DROP = f"ALTER TABLE {TABLE} DROP COLUMN device"
# A loss in another table, which is allowed.
OTHER = "-- GLACIERBASE_ALLOW: DS104 unused\nALTER TABLE lake.sleep.other REPLACE COLUMNS (id STRING)"
ADD = f"ALTER TABLE {TABLE} ADD COLUMN x INT"


@pytest.fixture
def branch(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """A branch without new migrations; its base has one. The user's cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.root.parent / "cache"))
    project.catalog(CATALOG)
    project.file("0001_create.sql", f"CREATE TABLE {TABLE} (id STRING, device STRING) USING iceberg")
    commit_all(project.root)
    return project


def reviewed(project: ProjectFolder, copy: FakeCopy | None = None) -> tuple[ReviewResult, ...]:
    """Return the results, also where the review fails."""
    with (copy or FakeCopy()).in_use():
        try:
            return Project.load(project.root).review("main")
        except GlacierbaseError as error:
            return tuple(result for result in error.results if isinstance(result, ReviewResult))


def codes(result: ReviewResult) -> list[tuple[str, str]]:
    return [(finding.severity, finding.code) for finding in result.findings]


def of_replay(result: ReviewResult) -> list[tuple[str, str]]:
    """Return the findings that only a replay has."""
    return [each for each in codes(result) if each[1].startswith("REPLAY_")]


def test_the_rules_are_applied_and_a_loss_is_found_once(branch: ProjectFolder) -> None:
    """What a rule says of a new file is a finding of the review; files of the base have none."""
    branch.file("0002_add.sql", f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('commit.retry.num-retries' = 'ten')")
    [result] = reviewed(branch, FakeCopy())
    assert codes(result) == [("error", "PR102")]
    assert result.error is not None
    assert (result.error.code, result.error.exit_code) == ("REVIEW_FAILED", 3)
    assert "glacierbase rules PR102" in result.error.hint


def test_a_loss_on_another_statement_of_the_file_stays_a_finding(branch: ProjectFolder) -> None:
    """The copy shows one drop, which is allowed; it lacks the table of the other, about which the rule has an error."""
    allowed = f"-- GLACIERBASE_ALLOW: DS103 no readers since October\n{DROP}"
    branch.file("0002_drop.sql", f"{allowed};\nALTER TABLE elsewhere.sleep.event DROP COLUMN device")
    copy = FakeCopy()
    copy.refusals["elsewhere"] = TableNotFound("there is no such table", "")
    [result] = reviewed(branch, copy)
    losses = [(each.statement_index, each.is_error) for each in result.findings if each.code == "DS103"]
    assert losses == [(1, False), (2, True)]
    assert result.error is not None


@pytest.mark.parametrize(
    ("sql", "code", "index"),
    [
        (f"ALTER TABLE {TABLE} REPLACE COLUMNS /* DROP COLUMN device */ (id STRING)", "DS104", 1),
        (f"{DROP};\nALTER TABLE {TABLE} ADD COLUMN device INT", "DS105", 1),
        (f"DROP TABLE {TABLE} PURGE", "DS102", 1),
        (f"USE lake.sleep;\nALTER TABLE /* {TABLE} */ event DROP COLUMN device", "DS103", 2),
        (f"USE lake.sleep;\nALTER TABLE /* {TABLE} */ event DROP COLUMN device;\n{OTHER}", "DS103", 2),
        (f"ALTER TABLE {TABLE} RENAME TO sleep.old;\nDROP TABLE lake.sleep.old", "DS101", 2),
    ],
)
def test_a_loss_that_a_rule_and_the_replay_find_is_one_finding(
    sql: str, code: str, index: int, branch: ProjectFolder
) -> None:
    """The finding has the rule's code and the place of the statement, so that one comment there allows it."""
    branch.file("0002_loss.sql", sql)
    [result] = reviewed(branch)
    assert [(each.code, each.statement_index) for each in result.findings if each.is_error] == [(code, index)]


@pytest.mark.parametrize("is_new", [True, False])
def test_a_catalog_file_that_names_an_unknown_rule_fails_the_review(is_new: bool, branch: ProjectFolder) -> None:
    """The review has the error of `lint`, once, whether or not there are new migrations."""
    (branch.root / "catalogs/shop.yaml").write_text(CATALOG + "lint: {rules: {SD103: off}}\n")
    if is_new:
        branch.file("0002_add.sql", ADD)
    [result] = reviewed(branch)
    assert result.error is not None
    assert (result.error.code, result.error.exit_code) == ("UNKNOWN_RULE", 2)


def test_rules_that_cannot_be_loaded_fail_the_review(branch: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rules of a package, the review does not show all that is wrong."""
    error = ConfigurationError("BROKEN_RULES", "the rules acme cannot be used", "uninstall the package")
    monkeypatch.setattr("glacierbase.capabilities.review.lint.all_rules", Mock(side_effect=error))
    branch.file("0002_add.sql", ADD)
    with FakeCopy().in_use(), pytest.raises(ConfigurationError, match="the rules acme cannot be used"):
        Project.load(branch.root).review("main")


def test_an_error_of_a_file_is_listed_once(branch: ProjectFolder) -> None:
    """The rules and the replay both read the file."""
    branch.file("0002_add.sql", "SELECT {{ variables.nope }}")
    [result] = reviewed(branch)
    assert result.error is not None
    assert result.error.code == "UNDEFINED_VARIABLE"
    assert not isinstance(result.error, SeveralErrors)


def test_a_branch_without_new_migrations_starts_no_engine(branch: ProjectFolder) -> None:
    """Nothing is replayed, and the review succeeds."""
    copy = FakeCopy()
    [result] = reviewed(branch, copy)
    assert (result.error, result.files, result.replay, copy.folder) == (None, (), None, None)
    assert list(result.lines()) == ["no new migrations"]


def test_a_dropped_column_fails_the_review_and_names_its_statement(branch: ProjectFolder) -> None:
    """The finding has the file, line and statement that dropped it, and says that it happened on a copy."""
    branch.file("0002_drop.sql", f"{ADD};\n{DROP}")
    [result] = reviewed(branch)
    assert result.error is not None
    assert (result.error.code, result.error.exit_code) == ("REVIEW_FAILED", 3)
    [finding] = result.findings
    assert (finding.code, finding.severity, finding.line, finding.statement_index) == ("DS103", "error", 5, 2)
    assert finding.message.startswith("on the throw-away copy: the column device")
    assert (finding.column, finding.why, finding.fix) == (1, *explained("DS103"))
    assert [f"    why: {finding.why}", f"    fix: {finding.fix}"] == list(result.lines())[-2:]
    assert [(each.table, [one.line() for one in each.diff]) for each in result.tables] == [
        (TABLE, ["- column device: string"])
    ]
    assert [file.kind for file in result.files] == ["destructive"]


def test_every_finding_of_a_replay_is_explained() -> None:
    """The codes are those in the code of the room; each has a reason and a fix, in a sentence."""
    room = Path(reviewing.__file__).parent
    written = {code for path in room.glob("*.py") for code in re.findall(r'"(REPLAY_[A-Z_]*[A-Z])"', path.read_text())}
    assert written == set(reviewing.REPLAY)
    for code in (*written, "DS101", "DS103", "DS106"):
        assert [text[-1] for text in explained(code)] == [".", "."]


def test_the_result_names_the_command_that_makes_it_again(branch: ProjectFolder) -> None:
    """The result names the base and the place of the project in its work tree; a file has its statements."""
    branch.file("0002_drop.sql", f"{ADD};\n{DROP}")
    [result] = reviewed(branch)
    assert result.origin.command == f"glacierbase review --base main --project {branch.root}"
    assert result.origin.folder == "."
    [file] = result.files
    assert [(each.index, each.line, each.sql) for each in file.statements] == [(1, 4, ADD), (2, 5, DROP)]


def test_a_loss_that_a_comment_allows_fails_nothing(branch: ProjectFolder) -> None:
    """The reason is in the finding. A comment without one, or above another statement, allows nothing."""
    branch.file("0002_drop.sql", f"{ADD};\n-- GLACIERBASE_ALLOW: DS103 no readers since October\n{DROP}")
    [result] = reviewed(branch)
    assert result.error is None
    assert [finding.allowed for finding in result.findings] == ["no readers since October"]
    assert "    reason: no readers since October" in list(result.lines())
    for comment in ("-- GLACIERBASE_ALLOW: DS103", "-- GLACIERBASE_ALLOW: DS101 gone"):
        branch.file("0002_drop.sql", f"-- GLACIERBASE_ALLOW: DS103 no readers\n{ADD};\n{comment}\n{DROP}")
        [result] = reviewed(branch)
        assert result.error is not None


def test_a_replaced_table_is_a_loss_even_with_the_same_columns(branch: ProjectFolder) -> None:
    """Iceberg keeps uuid and columns of a replaced table, so the metadata alone does not show that its rows are gone."""
    branch.file("0002_add.sql", ADD)
    branch.file("0003_replace.sql", f"CREATE OR REPLACE TABLE {TABLE} (id STRING, device STRING) USING iceberg")
    [result] = reviewed(branch)
    assert codes(result) == [("error", "DS106")]
    assert [file.kind for file in result.files] == ["metadata only", "destructive"]
    assert [(each.table, each.change) for each in result.tables] == [(TABLE, "altered")]


def test_a_table_that_the_branch_creates_holds_nothing_to_lose(branch: ProjectFolder) -> None:
    """A later file of the branch may drop its columns."""
    branch.file("0002_create.sql", f"CREATE TABLE {LATER} (id STRING, device STRING) USING iceberg")
    branch.file("0003_drop.sql", f"ALTER TABLE {LATER} DROP COLUMN device")
    [result] = reviewed(branch)
    assert (result.error, result.findings) == (None, ())
    assert [file.kind for file in result.files] == ["metadata only", "metadata only"]


def test_a_column_that_the_branch_adds_holds_nothing_to_lose(branch: ProjectFolder) -> None:
    """A later file of the branch may drop it, and no other column."""
    branch.file("0002_add.sql", ADD)
    branch.file("0003_drop.sql", f"ALTER TABLE {TABLE} DROP COLUMN x")
    [result] = reviewed(branch)
    assert (result.error, result.findings) == (None, ())
    branch.file("0004_drop.sql", DROP)
    [result] = reviewed(branch)
    assert codes(result) == [("error", "DS103")]


def test_a_dropped_table_is_a_loss(branch: ProjectFolder) -> None:
    """A dropped table is a finding with the code of the rule about dropped tables."""
    branch.file("0002_drop.sql", f"DROP TABLE {TABLE}")
    [result] = reviewed(branch)
    assert codes(result) == [("error", "DS101")]


def test_a_harmless_change_succeeds(branch: ProjectFolder) -> None:
    """The kind of a file is that of its statements: data is rewritten, or only metadata."""
    branch.file("0002_add.sql", ADD)
    branch.file("0003_fill.sql", f"UPDATE {TABLE} SET x = 1 WHERE true")
    [result] = reviewed(branch)
    assert result.error is None
    assert [file.kind for file in result.files] == ["metadata only", "rewrites data"]


def test_a_refused_statement_ends_its_file_and_fails_the_review(branch: ProjectFolder) -> None:
    """The file after it is replayed as well, so that all its errors are shown."""
    copy = FakeCopy()
    copy.refusals["ADD COLUMN x"] = StatementRefused(
        "X", "Cannot add column x SQLSTATE: 42710; line 1 pos 0;\nAddColumns"
    )
    branch.file("0002_add.sql", f"{ADD};\nSELECT 1;\nSELECT 2")
    branch.file("0003_other.sql", "SELECT 3")
    [result] = reviewed(branch, copy)
    assert result.replay
    [untried] = result.replay.skipped
    assert (untried.line, untried.why) == (5, "2 statements in lines 5, 6, after the refused one in line 4")
    assert [(each.code, each.message) for each in result.findings] == [
        ("REPLAY_REFUSED", "on the throw-away copy: Cannot add column x")
    ]
    assert copy.ran[1:] == [ADD, "SELECT 3"]


def test_a_table_that_no_file_makes_is_an_error_which_names_fixtures(branch: ProjectFolder) -> None:
    """A typo in a table's name fails the review; a table that was made elsewhere belongs into the fixtures."""
    copy = FakeCopy()
    copy.refusals["lake.sleep.evnt"] = TableNotFound("X", "no such table")
    branch.file("0002_add.sql", "ALTER TABLE lake.sleep.evnt ADD COLUMN x INT")
    [result] = reviewed(branch, copy)
    assert codes(result) == [("error", "REPLAY_UNKNOWN_TABLE")]
    assert "review.fixtures" in result.findings[0].fix
    assert result.error is not None
    assert result.error.exit_code == 3


@pytest.mark.parametrize(
    ("base", "sql"),
    [
        ("CALL lake.system.register_table('sleep.made', 's3://x')", "ALTER TABLE lake.sleep.made ADD COLUMN x INT"),
        (
            "ADD JAR '/x.jar'; CREATE VIEW lake.sleep.Made AS SELECT x()",
            "USE lake; INSERT INTO t SELECT * FROM sleep.made",
        ),
        ("SELECT 1", "ALTER TABLE spark_catalog.a.made ADD COLUMN x INT"),
        ("SELECT 1", "DROP NAMESPACE lake.made"),
    ],
)
def test_a_table_that_may_exist_all_the_same_is_a_warning(base: str, sql: str, branch: ProjectFolder) -> None:
    """A statement of the base that makes it did not run, or the copy does not hold its catalog."""
    branch.file("0002_base.sql", base)
    commit_all(branch.root, "more")
    branch.file("0003_new.sql", sql)
    copy = FakeCopy()
    copy.refusals["made"] = TableNotFound("X", "no such table")
    copy.refusals["Made"] = StatementRefused("X", "no such function")
    [result] = reviewed(branch, copy)
    assert (of_replay(result), result.error) == ([("warning", "REPLAY_UNKNOWN_TABLE")], None)


def test_a_new_name_in_another_namespace_is_refused(branch: ProjectFolder) -> None:
    """RENAME TO with a catalog looks for a namespace of the catalog's name; the table itself is known."""
    copy = FakeCopy()
    copy.refusals["RENAME TO"] = TableNotFound("X", "Namespace does not exist: lake.sleep")
    branch.file("0002_rename.sql", f"ALTER TABLE {TABLE} RENAME TO lake.sleep.night")
    [result] = reviewed(branch, copy)
    assert of_replay(result) == [("error", "REPLAY_REFUSED")]
    copy.refusals["DESCRIBE"] = TableNotFound("X", "no such table")
    [result] = reviewed(branch, copy)
    assert of_replay(result) == [("error", "REPLAY_UNKNOWN_TABLE")]


def test_a_loss_after_a_statement_on_an_unknown_table_is_shown(branch: ProjectFolder) -> None:
    """Where the table exists, the rest of the file runs as well, so that the copy runs it too."""
    copy = FakeCopy()
    copy.refusals["ADD COLUMN y"] = TableNotFound("X", "no such table")
    branch.file("0002_drop.sql", f"ALTER TABLE lake.other.t ADD COLUMN y INT;\n{DROP}")
    [result] = reviewed(branch, copy)
    assert sorted(codes(result)) == [("error", "DS103"), ("error", "REPLAY_UNKNOWN_TABLE")]


def test_an_allowed_refusal_hides_nothing_after_it(branch: ProjectFolder) -> None:
    """The comment says that the statement succeeds elsewhere, where the rest of the file runs too."""
    copy = FakeCopy()
    copy.refusals["ADD COLUMN x"] = StatementRefused("X", "Cannot add column x")
    branch.file("0002_drop.sql", f"-- GLACIERBASE_ALLOW: REPLAY_REFUSED x is a view there\n{ADD};\n{DROP}")
    [result] = reviewed(branch, copy)
    assert [(each.code, each.allowed) for each in result.findings] == [
        ("REPLAY_REFUSED", "x is a view there"),
        ("DS103", None),
    ]


def test_a_file_that_did_not_run_to_its_end_is_not_called_metadata_only(branch: ProjectFolder) -> None:
    """What its other statements do is not known from the copy; what rewrites data is known from the text."""
    copy = FakeCopy()
    copy.refusals["ADD COLUMN x"] = StatementRefused("X", "refused")
    branch.file("0002_add.sql", f"SELECT 1;\n{ADD};\nSELECT 2")
    branch.file("0003_fill.sql", f"{ADD};\nINSERT INTO {TABLE} VALUES (1)")
    branch.file("0004_local.sql", "CREATE TABLE lake.sleep.l (a INT) USING iceberg LOCATION '/l'")
    [result] = reviewed(branch, copy)
    assert [file.kind for file in result.files] == ["replayed in part", "rewrites data", "metadata only"]


def test_views_are_listed_by_name(branch: ProjectFolder) -> None:
    """Created, replaced, altered, renamed and dropped ones; their queries are not compared."""
    branch.file("0002_views.sql", "SELECT 2")

    def view(uuid: str, version: int, location: str = "") -> CopiedView:
        return CopiedView(uuid, version, location)

    copy = FakeCopy()
    copy.views_after[1] = {"v.kept": view("k", 1), "v.old": view("o", 1), "v.gone": view("g", 1), "v.a": view("a", 1)}
    copy.views_after[1] |= {"v.again": view("x", 1), "v.more": view("m", 1)}
    copy.views_after[2] = {
        "v.kept": view("k", 1),
        "v.new": view("o", 1),
        "v.here": view("h", 1),
        "v.a": view("a", 1, "2"),
    }
    copy.views_after[2] |= {"v.again": view("y", 1), "v.more": view("m", 2)}
    [result] = reviewed(branch, copy)
    assert [(each.view, str(each.change)) for each in result.views] == [
        ("v.a", "altered"), ("v.again", "replaced"), ("v.gone", "dropped"), ("v.here", "created"), ("v.more", "replaced"),
        ("v.new", "renamed"),
    ]  # fmt: skip
    assert "view v.here: created" in list(map(str, result.lines()))


def test_the_tables_of_a_squash_are_not_created(branch: ProjectFolder) -> None:
    """A squash in a branch makes the tables of the base, in place of the files that it replaces; its refusals are findings."""
    replaced = next((branch.root / "migrations/shop").iterdir())
    header = f"-- MIGRATION_SQUASHES: 0001 {checksum(replaced.read_bytes())}"
    replaced.unlink()
    squash = branch.file("0001_squash.sql", f"CREATE TABLE {LATER} (id STRING, device STRING) USING iceberg; SELECT 1")
    squash.write_text(squash.read_text().replace("\n\n", f"\n{header}\n\n", 1))
    branch.file("0002_drop.sql", f"ALTER TABLE {LATER} DROP COLUMN device")
    copy = FakeCopy()
    copy.refusals["SELECT 1"] = StatementRefused("X", "refused")
    [result] = reviewed(branch, copy)
    assert [(each.table, each.change) for each in result.tables] == [(LATER, "altered")]
    assert codes(result) == [("error", "REPLAY_REFUSED"), ("error", "DS103")]
    assert [file.kind for file in result.files] == ["squash", "destructive"]
    assert "0001_squash.sql replaces files of the base" in result.warnings[0]


@pytest.mark.parametrize("comes_from", ["migration", "fixtures"])
def test_a_statement_that_takes_too_long_to_read_starts_no_engine(
    comes_from: str, branch: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statements are read in the process that renders them, inside of its limits."""
    monkeypatch.setattr("glacierbase.migrations.sandbox._SECONDS", 1.5)
    script = f"BEGIN {'SELECT 1;' * 190} SELECT {'a,' * 250_000} 1; END"
    branch.file("0002_add.sql", script if comes_from == "migration" else ADD)
    if comes_from == "fixtures":
        (branch.root / "catalogs/shop.yaml").write_text(CATALOG + "review: {fixtures: tables.sql}\n")
        (branch.root / "tables.sql").write_text(script)
    copy = FakeCopy()
    [result] = reviewed(branch, copy)
    assert result.error is not None
    assert result.error.code == "TEMPLATE_TOO_COSTLY"
    assert copy.folder is None


def test_an_error_of_the_base_is_a_warning_and_the_base_goes_on(branch: ProjectFolder) -> None:
    """The base is applied elsewhere; a branch is not to blame for it."""
    branch.file("0001_create.sql", "SELECT 0;\nSELECT 1")
    commit_all(branch.root, "more")
    branch.file("0002_add.sql", "SELECT 2")
    copy = FakeCopy()
    copy.refusals["SELECT 0"] = OutcomeUnknown("X", "refused")
    [result] = reviewed(branch, copy)
    assert result.error is None
    assert copy.ran == ["SELECT 0", "SELECT 1", "SELECT 2"]
    place = "migrations/shop/0001_create.sql, line 4"
    assert result.warnings == (
        f"on the throw-away copy: 1 statement of the base did not run; the first is {place}: refused",
    )


def test_statements_that_load_code_do_not_reach_the_engine(branch: ProjectFolder) -> None:
    """Each is a finding; what is skipped because of the copy is listed, and is none."""
    branch.file("0002_x.sql", "ADD JAR '/tmp/evil.jar';\nVACUUM spark_catalog.sleep.event;\nSELECT 2")
    copy = FakeCopy()
    [result] = reviewed(branch, copy)
    assert codes(result) == [("error", "REPLAY_NOT_RUN")]
    assert result.replay is not None
    assert [(each.line, "VACUUM" in each.why) for each in result.replay.skipped] == [(5, True)]
    assert ":5: on the throw-away copy: not replayed: VACUUM" in result.replay.skipped[0].text()
    assert copy.ran[1:] == ["SELECT 2"]


def test_the_folder_is_removed_and_the_engine_closed_whatever_happens(branch: ProjectFolder) -> None:
    """The folder is removed and the engine closed, also where reading the tables fails in the middle."""
    branch.file("0002_add.sql", ADD)
    copy = FakeCopy()
    copy.refusals["ADD COLUMN"] = KeyError("a bug")
    with copy.in_use(), pytest.raises(KeyError):
        Project.load(branch.root).review("main")
    assert copy.is_closed
    assert copy.folder is not None
    assert not copy.folder.exists()


def test_an_engine_that_does_not_start_is_the_error_of_its_catalog(branch: ProjectFolder) -> None:
    """The catalog's files are listed, without a kind. The message says that it is about the copy."""
    branch.file("0002_add.sql", ADD)
    [result] = reviewed(branch, FakeCopy(EngineUnavailable("SPARK_DID_NOT_START", "no Java", "see /tmp/x/log")))
    assert result.error is not None
    assert (result.error.code, result.error.exit_code) == ("COPY_NOT_STARTED", 5)
    assert result.error.message == "on the throw-away copy: no Java"
    assert "/tmp/x/log" not in result.error.hint
    assert [file.kind for file in result.files] == [None]


@pytest.mark.parametrize(
    ("reason", "allowed", "ran"), [("", None, False), (" on the copy only", "on the copy only", True)]
)
def test_only_an_allow_with_a_reason_allows_a_refused_statement(
    reason: str, allowed: str | None, ran: bool, branch: ProjectFolder
) -> None:
    """With FL120 off, the statement without one fails, and the one below it is not run."""
    branch.catalog(CATALOG + "lint: {rules: {FL120: off}}\n")
    commit_all(branch.root, "off")
    branch.file("0002_add.sql", f"-- GLACIERBASE_ALLOW: REPLAY_REFUSED{reason}\n{ADD};\nSELECT 'below'")
    copy = FakeCopy()
    copy.refusals["ADD COLUMN x"] = StatementRefused("AnalysisException", "no")
    [result] = reviewed(branch, copy)
    assert [(each.code, each.allowed) for each in result.findings] == [("REPLAY_REFUSED", allowed)]
    assert (result.error is None, "SELECT 'below'" in copy.ran) == (ran, ran)


def test_the_time_of_a_replay_passes_while_statements_run(
    branch: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All statements share one time limit: the first ends in time, the second never ends, the third is not run."""
    monkeypatch.setattr(replay, "_BUDGET_SECONDS", 6.0)
    branch.file("0002_add.sql", f"SELECT 'in time';\n{ADD};\nSELECT 'below'")
    released = Event()

    class SlowCopy(FakeCopy):
        def execute(self, sql: str) -> None:
            super().execute(sql)
            if "ADD COLUMN x" in sql:
                released.wait(40)

    copy = SlowCopy()
    began = time.monotonic()
    try:
        [result] = reviewed(branch, copy)
    finally:
        released.set()
    assert time.monotonic() - began < 30
    assert of_replay(result) == [("error", "REPLAY_TIMEOUT")]
    assert copy.ran[-2:] == ["SELECT 'in time'", ADD]
    assert copy.is_closed


def test_a_replay_ends_when_its_time_is_up(branch: ProjectFolder) -> None:
    """The statement that runs then is the finding, which no comment allows; the engine is closed, and nothing after it runs."""
    branch.file("0002_add.sql", f"-- GLACIERBASE_ALLOW: REPLAY_TIMEOUT it is slow\n{ADD}; SELECT 1")
    copy = FakeCopy()
    copy.refusals["ADD COLUMN x"] = NoAnswer()  # As where the time passes while the statement runs.
    [result] = reviewed(branch, copy)
    found = [each for each in result.findings if each.code.startswith("REPLAY_")]
    assert [(each.code, each.line, each.allowed) for each in found] == [("REPLAY_TIMEOUT", 5, None)]
    assert result.error is not None
    assert copy.ran[-1] == ADD
    assert copy.is_closed


def test_environments_that_render_equally_are_replayed_once(branch: ProjectFolder) -> None:
    """An environment with other variables has a separate replay and result, in the same engine and on the same base.

    The engine is started again if something is left in it that a copy cannot be emptied of.
    """
    (branch.root / "catalogs/shop.yaml").write_text(
        CATALOG + "environments: {dev: {}, test: {}, prod: {variables: {n: 2}}}\nvariables: {n: 1}\n"
    )
    branch.file("0002_add.sql", "SELECT {{ variables.n }}")
    copy = FakeCopy()
    copy.held = None  # Nothing is cached.
    results = reviewed(branch, copy)
    assert [result.environments for result in results] == [("dev", "test"), ("prod",)]
    assert sum("CREATE TABLE" in sql for sql in copy.ran) == 1
    assert [sql for sql in copy.ran if "SELECT" in sql] == ["SELECT 1", "SELECT 2"]
    assert copy.starts == 1
    copy.is_whole = False
    reviewed(branch, copy)
    assert copy.starts == 3


def test_namespaces_that_no_file_creates_exist_on_the_copy(branch: ProjectFolder) -> None:
    """Namespaces that no file creates exist on the copy; the others are left to their files."""
    branch.file("0002_add.sql", "CREATE NAMESPACE lake.new; CREATE TABLE lake.new.t (a INT) USING iceberg")
    copy = FakeCopy()
    reviewed(branch, copy)
    assert copy.namespaces == [("lake", "sleep")]


def test_a_namespace_that_use_names_exists_on_the_copy(branch: ProjectFolder) -> None:
    """USE alone needs it, unless a file creates it; the name of a catalog is no namespace."""
    branch.file(
        "0002_use.sql", "USE lake.silver; USE NAMESPACE lake.`gold`; CREATE NAMESPACE lake.new; USE lake.new; USE lake"
    )
    copy = FakeCopy()
    reviewed(branch, copy)
    assert copy.namespaces == [("lake", "sleep"), ("lake", "silver"), ("lake", "gold")]


def test_fixtures_run_before_the_base(branch: ProjectFolder) -> None:
    """The file has neither headers nor templates, and belongs to the branch as all files do."""
    (branch.root / "catalogs/shop.yaml").write_text(CATALOG + "review: {fixtures: tables.sql}\n")
    (branch.root / "tables.sql").write_text(
        "CREATE TABLE lake.bronze.a (a INT) USING iceberg;\nADD JAR '/x'; SELECT '{{'"
    )
    branch.file("0002_add.sql", ADD)
    copy = FakeCopy()
    [result] = reviewed(branch, copy)
    assert copy.ran[:2] == ["CREATE TABLE lake.bronze.a (a INT) USING iceberg", "SELECT '{{'"]
    assert "tables.sql, line 2" in result.warnings[0]
    assert result.error is None


@pytest.mark.parametrize("path", ["../key", "/etc/passwd", "link.sql", "gone.sql"])
def test_fixtures_outside_of_the_project_are_refused(branch: ProjectFolder, path: str) -> None:
    """Nothing is read from there, not through a link either, and no engine starts."""
    (branch.root.parent / "key").write_text("canary-4711")
    (branch.root / "link.sql").symlink_to(branch.root.parent / "key")
    (branch.root / "catalogs/shop.yaml").write_text(CATALOG + f"review: {{fixtures: {path}}}\n")
    branch.file("0002_add.sql", ADD)
    copy = FakeCopy()
    [result] = reviewed(branch, copy)
    assert result.error is not None
    assert result.error.code in ("OUTSIDE_PROJECT", "UNREADABLE_FILE")
    assert "canary-4711" not in str(result.error)
    assert copy.folder is None


def test_a_session_is_new_after_a_file_that_changes_it(branch: ProjectFolder) -> None:
    """Files of DDL share a session, because a new one costs as much as a statement."""
    branch.file("0002_add.sql", ADD)
    branch.file("0003_use.sql", "USE lake.sleep")
    branch.file("0004_add.sql", ADD)
    copy = FakeCopy()
    reviewed(branch, copy)
    assert copy.sessions == 2


def test_a_catalog_on_snowflake_is_rendered_only(branch: ProjectFolder) -> None:
    """A warning says that the files on Snowflake are only rendered; the files have no kind."""
    (branch.root / "catalogs/shop.yaml").write_text(
        "migrationExecutor: {type: snowflake, conf: {connection: {account: acme, database: LAKE}}}"
    )
    branch.file("0002_add.sql", "ALTER TABLE a.b ADD COLUMN c INT")
    copy = FakeCopy()
    [result] = reviewed(branch, copy)
    assert copy.folder is None
    assert result.error is None
    assert [file.kind for file in result.files] == [None]
    assert "snowflake has no engine on this machine" in result.warnings[0]


@pytest.mark.parametrize(
    ("implementation", "why"),
    [
        ("org.apache.spark.sql.delta.catalog.DeltaCatalog", "`dependencies` name no jar io.delta:delta-spark_…"),
        ("org.apache.iceberg.spark.SparkSessionCatalog", "only Iceberg's SparkCatalog, Delta's and Hudi's are copied"),
        ("org.apache.spark.sql.hudi.catalog.HoodieCatalog", "`dependencies` name no jar org.apache.hudi:hudi-spark…"),
    ],
)
def test_a_catalog_that_cannot_be_copied_is_rendered_only(implementation: str, why: str, branch: ProjectFolder) -> None:
    """The warning names the catalog, its class and what the copy lacks, and no engine starts."""
    conf = CATALOG.replace("lake: org.apache.iceberg.spark.SparkCatalog", f"spark_catalog: {implementation}")
    (branch.root / "catalogs/shop.yaml").write_text(conf)
    branch.file("0002_add.sql", ADD)
    copy = FakeCopy()
    [result] = reviewed(branch, copy)
    assert (copy.folder, result.replay, result.error) == (None, None, None)
    assert [file.kind for file in result.files] == [None]
    assert f"the catalog spark_catalog ({implementation}): {why}" in result.warnings[0]


def test_a_review_starts_no_program_that_a_catalog_file_names(branch: ProjectFolder) -> None:
    """`migrationExecutor.python` may be any program of a branch. The copy runs on this Python, if its Spark fits the jars."""
    program = branch.root / "evil"
    program.write_text(f"#!/bin/sh\ntouch {branch.root}/ran\n")
    program.chmod(0o755)
    file = branch.root / "catalogs/shop.yaml"
    text = CATALOG.replace("type: spark", "type: spark\n  python: ./evil")
    branch.file("0002_add.sql", f"{ADD}; INSERT INTO {TABLE} VALUES ('1', '2', 3)")  # Plain DDL has no Python.
    file.write_text(text)
    copy = FakeCopy()
    [result] = reviewed(branch, copy)
    assert copy.catalog
    assert (copy.catalog.python, result.warnings) == (None, ())
    file.write_text(f"{text}    dependencies: ['org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0']\n")
    [result] = reviewed(branch, FakeCopy())
    assert (result.replay, result.error) == (None, None)
    assert "a review does not start `migrationExecutor.python`" in result.warnings[0]
    assert "is built for Spark 3.5, but pyspark" in result.warnings[0]
    assert not (branch.root / "ran").exists()


def test_the_copy_gets_no_value_of_the_environment(branch: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """References in the catalog file are placeholders, in the configuration and in the SQL."""
    monkeypatch.setenv("CANARY", "canary-4711")
    conf = CATALOG.replace("SparkCatalog}", "SparkCatalog, spark.sql.iceberg.x: '${env:CANARY}'}")
    (branch.root / "catalogs/shop.yaml").write_text(conf + "variables: {x: '${env:CANARY}'}\n")
    branch.file("0002_add.sql", "SELECT '{{ variables.x }}'")
    copy = FakeCopy()
    reviewed(branch, copy)
    assert copy.catalog is not None
    assert "canary-4711" not in f"{copy.ran} {copy.catalog.spark_conf} {copy.catalog.variables}"
    assert "SELECT 'env_CANARY'" in copy.ran


def test_the_json_document_fits_its_schema(branch: ProjectFolder, tmp_path: Path) -> None:
    """The command prints it on success; a base that git does not have is a wrong configuration."""
    output = branch.ask("review", "--base", "main", environ={"XDG_CACHE_HOME": str(tmp_path)})
    assert output.code == 0
    assert output.entry()["files"] == []
    assert branch.ask("review", "--base", "gone").code == 2
