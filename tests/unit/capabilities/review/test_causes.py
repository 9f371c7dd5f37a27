"""`review` on a branch: one finding for one cause, and the cost of each change of a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from glacierbase.capabilities.review.results import ReviewResult
from glacierbase.errors import StatementRefused
from glacierbase.model.catalog import Catalog
from glacierbase.run.run import Run
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all
from tests.unit.capabilities.review.copies import LATER, TABLE, FakeCopy
from tests.unit.capabilities.review.test_review import ADD, CATALOG, DROP, branch, codes, reviewed

__all__ = ["branch"]
SNOWFLAKE = "migrationExecutor: {type: snowflake, conf: {connection: {account: acme, database: LAKE}}}"


class MapCopy(FakeCopy):
    """A copy whose column `device` is a map."""

    def metadata(self, location: str) -> str:
        document = json.loads(super().metadata(location))
        for field in document["schemas"][0]["fields"]:
            if field["name"] == "device":
                field["type"] = {
                    "type": "map", "key-id": 8, "key": "string", "value-id": 9, "value": "int", "value-required": False,
                }  # fmt: skip
        return json.dumps(document)


class NewTable(FakeCopy):
    """A copy whose table `lake.sleep.event` exists again after DROP and CREATE, with another uuid."""

    def locations(self) -> dict[str, str]:
        is_dropped = any("DROP TABLE" in sql for sql in self.ran)
        return {
            TABLE: f"later{'-DROP COLUMN device' if 'device' not in self.ran[-1] else ''}" if is_dropped else "first"
        }


class ChangedTable(FakeCopy):
    """A copy whose table `lake.sleep.event` loses a column with the first statement on it after the base."""

    def locations(self) -> dict[str, str]:
        return {TABLE: "DROP COLUMN device" if any("ADD COLUMN x" in sql for sql in self.ran) else "first"}


class Unreadable(FakeCopy):
    """A copy that cannot describe the table `lake.sleep.event` after a statement on its column x."""

    def locations(self) -> dict[str, str]:
        return {TABLE: "unreadable" if any("ADD COLUMN x" in sql for sql in self.ran) else "first"}

    def metadata(self, location: str) -> str:
        if location == "unreadable":
            raise StatementRefused("X", "its files are gone")
        return super().metadata(location)


class Restarted(FakeCopy):
    """A copy that forgets its statements whenever it is started."""

    def _open(self, catalog: Catalog, run: Run, folder: Path, names: Sequence[str]) -> FakeCopy:
        self.ran.clear()
        return super()._open(catalog, run, folder, names)


def of_statement(result: ReviewResult, index: int) -> list[str]:
    """Return the codes of the errors about a statement."""
    return [finding.code for finding in result.findings if finding.is_error and finding.statement_index == index]


def test_a_table_that_can_no_longer_be_described_is_not_shown_as_dropped(branch: ProjectFolder) -> None:
    """A warning says that it is not compared."""
    branch.file("0002_add.sql", ADD)
    [result] = reviewed(branch, Unreadable())
    assert result.tables == ()
    assert [warning for warning in result.warnings if TABLE in warning] == [
        f"on the throw-away copy: the table {TABLE} is not compared: neither the copy nor PyIceberg can describe it"
    ]


def test_a_dropped_map_is_one_finding(branch: ProjectFolder) -> None:
    """The key and the value of a dropped map are lost with it; the difference lists them."""
    branch.file("0002_drop.sql", DROP)
    [result] = reviewed(branch, MapCopy())
    assert codes(result) == [("error", "DS103")]
    assert "the column device (map<string,int>)" in result.findings[0].message
    assert len(result.tables[0].diff) == 3


def test_a_table_that_is_dropped_and_created_is_one_finding(branch: ProjectFolder) -> None:
    """DROP and CREATE have the code of the rule about DROP, so that one comment allows both."""
    create = f"CREATE TABLE {TABLE} (id STRING, device STRING) USING iceberg"
    branch.file("0002_again.sql", f"DROP TABLE {TABLE};\n{create}")
    [result] = reviewed(branch, NewTable())
    assert codes(result) == [("error", "DS101")]
    assert "replaced by a new one" in result.findings[0].message
    branch.file("0002_again.sql", f"-- GLACIERBASE_ALLOW: DS101 no rows yet\nDROP TABLE {TABLE};\n{create}")
    [result] = reviewed(branch, NewTable())
    assert (result.error, [finding.allowed for finding in result.findings]) == (None, ["no rows yet"])


def test_columns_that_the_created_table_lacks_are_lost_with_the_dropped_one(branch: ProjectFolder) -> None:
    """DROP and CREATE of a table of the base loses its rows, and breaks its readers and writers, whatever columns it has."""
    branch.file("0002_again.sql", f"DROP TABLE {TABLE};\nCREATE TABLE {TABLE} (id STRING) USING iceberg")
    [result] = reviewed(branch, NewTable())
    assert codes(result) == [("error", "DS101")]
    [table] = result.tables
    assert [difference.name for difference in table.diff] == ["", "device"]
    assert (str(table.cost), list(map(str, table.affects))) == ("destructive", ["readers", "writers"])
    assert [undo.sql for undo in table.undo] == [
        f"DROP TABLE {TABLE}",
        "CALL lake.system.register_table('sleep.event', '<last metadata file>')",
    ]


def test_a_refused_statement_is_one_finding_with_the_words_of_the_engine(branch: ProjectFolder) -> None:
    """The finding has the code of the rule that predicts the refusal, and the words of the engine."""
    required = f"ALTER TABLE {TABLE} ADD COLUMN x INT NOT NULL"
    branch.file("0002_add.sql", f"SELECT 1;\n{required}")
    copy = FakeCopy()
    copy.refusals["ADD COLUMN x"] = StatementRefused("X", "Incompatible change: cannot add required column")
    [result] = reviewed(branch, copy)
    assert of_statement(result, 2) == ["TY103"]
    assert result.findings[0].message == "on the throw-away copy: Incompatible change: cannot add required column"
    assert result.findings[0].why.startswith("Iceberg refuses")
    branch.file("0002_add.sql", f"-- GLACIERBASE_ALLOW: TY103 the table is empty\n{required}")
    [result] = reviewed(branch, copy)
    assert result.error is None


def test_a_refused_statement_is_about_its_table_and_has_no_undo(branch: ProjectFolder) -> None:
    """The cost of a table is that of the statements that ran, and of those that were not tried."""
    branch.file(
        "0002_type.sql", f"{ADD};\nALTER TABLE {TABLE} ALTER COLUMN id TYPE INT;\nALTER TABLE {TABLE} ADD COLUMN y INT"
    )
    copy = ChangedTable()
    copy.refusals["TYPE INT"] = StatementRefused("X", "no")
    [result] = reviewed(branch, copy)
    assert [finding.table for finding in result.findings if finding.statement_index == 2 and finding.is_error] == [
        TABLE
    ]
    [table] = result.tables
    assert [undo.sql for undo in table.undo] == [f"ALTER TABLE {TABLE} DROP COLUMN `{name}`" for name in "yx"]
    assert list(map(str, table.affects)) == ["writers"]


def test_an_unpredicted_refusal_keeps_its_code(branch: ProjectFolder) -> None:
    """A refusal hides no finding of a rule that objects to the statement for another reason."""
    branch.file("0002_drop.sql", f"DELETE FROM {TABLE}")
    copy = FakeCopy()
    copy.refusals["DELETE FROM"] = StatementRefused("X", "no")
    [result] = reviewed(branch, copy)
    assert sorted(of_statement(result, 1)) == ["DS107", "REPLAY_REFUSED"]


def test_environments_that_render_differently_share_an_equal_finding(branch: ProjectFolder) -> None:
    """A finding of several groups of environments names all of them; the text has it once."""
    (branch.root / "catalogs/shop.yaml").write_text(
        CATALOG + "environments: {dev: {}, test: {}, prod: {variables: {n: 2}}}\nvariables: {n: 1}\n"
    )
    branch.file("0002_drop.sql", f"SELECT {{{{ variables.n }}}};\n{DROP}")
    results = reviewed(branch, Restarted())
    assert [result.environments for result in results] == [("dev", "test"), ("prod",)]
    assert [[finding.environments for finding in result.findings] for result in results] == [
        [("dev", "test", "prod")],
        [("dev", "test", "prod")],
    ]
    text = "\n".join(str(line) for result in results for line in result.lines())
    assert text.count("error DS103") == 1
    assert "(in dev, test, prod)" in text
    assert all(result.error for result in results)


def test_a_table_has_a_cost_an_undo_and_who_breaks(branch: ProjectFolder) -> None:
    """Views that files declare on it, and views on these, are named where readers break."""
    branch.file("0002_views.sql", f"CREATE VIEW lake.sleep.v AS SELECT device FROM {TABLE}")
    branch.file("0003_more.sql", "CREATE VIEW lake.sleep.w AS SELECT * FROM lake.sleep.v;\nCREATE VIEW lake.sleep.gone AS "
                f"SELECT * FROM {TABLE};\nDROP VIEW lake.sleep.gone")  # fmt: skip
    commit_all(branch.root, "views")
    branch.file("0004_drop.sql", f"{ADD};\n{DROP}")
    [result] = reviewed(branch)
    [table] = result.tables
    assert (table.table, str(table.cost)) == (TABLE, "destructive")
    assert list(map(str, table.affects)) == ["readers", "writers"]
    assert table.views == ("lake.sleep.v", "lake.sleep.w")
    assert [undo.sql for undo in table.undo] == [
        f"SELECT * FROM {TABLE} VERSION AS OF <snapshot before>",
        f"ALTER TABLE {TABLE} DROP COLUMN `x`",
    ]
    assert [str(statement.cost) for statement in result.files[0].statements] == ["metadata only", "destructive"]
    text = "\n".join(map(str, result.lines()))
    assert "  cost: destructive\n  breaks: readers and writers; views on it: lake.sleep.v, lake.sleep.w\n" in text
    assert f"  undo: ALTER TABLE {TABLE} DROP COLUMN `x`\n" in text
    assert "on the throw-away copy: 1 migration, 1 table to change, 2 errors; no real table was changed" in text


def test_a_table_that_the_branch_creates_loses_nothing(branch: ProjectFolder) -> None:
    """A table of the branch has no readers and no writers yet."""
    branch.file("0002_create.sql", f"CREATE TABLE {LATER} (id STRING, device STRING) USING iceberg")
    branch.file("0003_drop.sql", f"ALTER TABLE {LATER} DROP COLUMN device")
    [result] = reviewed(branch)
    [table] = result.tables
    assert (str(table.cost), table.affects, table.views) == ("expensive", (), ())
    assert [undo.sql for undo in table.undo][-1] == f"DROP TABLE {LATER}"


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("CREATE TABLE a.b (x INT); ALTER TABLE a.b ADD COLUMN y INT", [("a.b", "created", "metadata only")]),
        (
            "ALTER TABLE a.b ADD COLUMN y INT; DROP TABLE a.c",
            [("a.b", "altered", "metadata only"), ("a.c", "dropped", "destructive")],
        ),
        ("ALTER TABLE a.b RENAME TO a.c", [("a.c", "renamed", "metadata only")]),
        ("CREATE TABLE a.b (x INT); ALTER TABLE a.b RENAME TO a.c", [("a.c", "created", "metadata only")]),
        ("CREATE TABLE a.b (x INT); DROP TABLE a.b", []),
        ("CREATE VIEW a.v AS SELECT 1; DROP STREAM a.s", []),
    ],
)  # fmt: skip
def test_tables_of_an_engine_without_a_copy_are_listed_from_the_text(
    sql: str, tables: list[tuple[str, str, str]], branch: ProjectFolder
) -> None:
    """Tables on Snowflake have no shapes and no differences, and the form of those that were replayed."""
    (branch.root / "catalogs/shop.yaml").write_text(SNOWFLAKE)
    branch.file("0002_new.sql", sql)
    [result] = reviewed(branch)
    listed = [(table.table.lower(), str(table.change), str(table.cost)) for table in result.tables]
    assert listed == tables
    assert all((table.before, table.after, table.diff) == (None, None, ()) for table in result.tables)
    if "STREAM" in sql:
        assert str(result.files[0].statements[-1].cost) == "destroys state"


def test_a_replaced_table_is_lost_also_without_a_copy(branch: ProjectFolder) -> None:
    """OR REPLACE, and DROP and CREATE, lose the rows of a table, but not of one that the branch creates."""
    (branch.root / "catalogs/shop.yaml").write_text(SNOWFLAKE)
    replaced = "CREATE OR REPLACE TABLE a.{} (y INT)"
    branch.file("0002_new.sql", f"{replaced.format('b')}; CREATE TABLE a.c (x INT); {replaced.format('c')}")
    branch.file("0003_again.sql", "DROP TABLE a.d; CREATE TABLE a.d (x INT)")
    [result] = reviewed(branch)
    assert [(table.table.lower(), str(table.change), table.loses_rows) for table in result.tables] == [
        ("a.b", "altered", True), ("a.c", "created", False), ("a.d", "altered", True),
    ]  # fmt: skip
