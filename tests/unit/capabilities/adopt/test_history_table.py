"""The history tables of other tools, compared with the files that were imported."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from glacierbase.capabilities.adopt.alembic import ALEMBIC
from glacierbase.capabilities.adopt.baselining import AppliedHistory, compared, row_of, table_name
from glacierbase.capabilities.adopt.flyway import FLYWAY
from glacierbase.capabilities.adopt.foreign import ForeignScript, HistoryRow, Tool
from glacierbase.capabilities.adopt.importing import MappedFile
from glacierbase.capabilities.adopt.liquibase import LIQUIBASE
from glacierbase.capabilities.adopt.results import ImportedBaseline, ImportResult
from glacierbase.capabilities.adopt.schemachange import SCHEMACHANGE
from glacierbase.errors import ConfigurationError, HistoryDisagrees

AT = datetime(2024, 5, 6, tzinfo=timezone.utc)


def file(number: int, key: tuple[Any, ...], checksum: str | None = None) -> MappedFile:
    script = ForeignScript(f"V{number}.sql", 1, str(number), "d", None, "SELECT 1", key, checksum)
    return MappedFile(script, f"{number:04}_a.sql", f"{number:04}", "d", "a", "")


FILES = [file(number, ((number,),), f"c{number}") for number in (1, 2, 3, 4)]


def row(number: int, **values: Any) -> HistoryRow:
    return replace(HistoryRow(((number,),), f"V{number}", "ann", AT, f"c{number}"), **values)


def compare(*rows: HistoryRow, tool: Tool = FLYWAY) -> AppliedHistory:
    return compared(FILES, rows, tool)


def refused(*rows: HistoryRow) -> list[str]:
    with pytest.raises(HistoryDisagrees) as caught:
        compare(*rows)
    assert caught.value.code == "BASELINE_REFUSED"
    return list(caught.value.data["problems"])


def test_the_highest_applied_version_is_the_last_of_all_up_to_it() -> None:
    """Each version has who applied it and when."""
    found = compare(row(1), row(2, author="ben"))
    assert found.last is FILES[1]
    assert {number: (each.author, each.at) for number, each in found.rows.items()} == {1: ("ann", AT), 2: ("ben", AT)}
    assert compare() == AppliedHistory()


def test_the_order_in_which_versions_were_applied_does_not_matter() -> None:
    """All of them are applied."""
    assert compare(row(2), row(1), row(3)).last is FILES[2]


def test_a_gap_is_refused() -> None:
    """Each file below the highest applied one that is not applied is named."""
    assert [problem.partition(":")[0] for problem in refused(row(1), row(4))] == ["V2.sql", "V3.sql"]


def test_a_failed_script_is_refused() -> None:
    """A later success settles it."""
    assert [problem.partition(":")[0] for problem in refused(row(1), row(2, is_failed=True))] == ["V2"]
    assert compare(row(1), row(2, is_failed=True), row(2)).last is FILES[1]


def test_an_edited_script_is_refused() -> None:
    """A checksum that is not recorded, or cannot be computed, is not compared."""
    assert [problem.partition(":")[0] for problem in refused(row(1), row(2, checksum="other"))] == ["V2.sql"]
    assert compare(row(1, checksum=None)).last is FILES[0]


def test_an_undone_version_is_not_applied() -> None:
    """The last row of a version counts."""
    assert compare(row(1), row(2), row(2, is_applied=False)).last is FILES[0]


def test_a_baseline_covers_the_versions_below_it() -> None:
    """Versions below it have the author of the baseline; a version above it has its own."""
    found = compare(row(2, covers=True, author="base", checksum=None), row(3))
    assert {number: each.author for number, each in found.rows.items()} == {1: "base", 2: "base", 3: "ann"}


def test_rows_without_a_file_and_repeatables_are_named() -> None:
    """Such rows keep no file from being recorded."""
    found = compare(row(1), row(9, name="V9.java"), HistoryRow(("v",), "R__v.sql", is_repeatable=True))
    assert (found.last, found.unknown, found.repeatables) == (FILES[0], ("V9.java",), ("R__v.sql",))


def test_a_revision_of_alembic_stands_for_all_before_it() -> None:
    """The table has no author and no time."""
    files = [file(number, (name,)) for number, name in enumerate("abc", start=1)]
    read = ALEMBIC.history.row("b")
    assert read is not None
    found = compared(files, [read], ALEMBIC)
    assert (found.last, list(found.rows)) == (files[1], [1, 2])


def test_changesets_are_found_below_another_folder() -> None:
    """Liquibase records the path from its search path."""
    files = [file(1, ("1", "ann", "db/a.sql")), file(2, ("1", "ann", "db/b.sql"))]
    read = LIQUIBASE.history.row("1", "ann", "classpath:app/db/a.sql", "EXECUTED", AT)
    assert read is not None
    assert compared(files, [read], LIQUIBASE).last is files[0]


def test_the_name_of_the_table_is_a_name() -> None:
    """The tool's own by default; that of a configuration, which a stranger wrote, is checked."""
    assert table_name(FLYWAY.history, None, "snowflake") == '"flyway_schema_history"'
    assert table_name(FLYWAY.history, None, "spark") == "`flyway_schema_history`"
    assert table_name(SCHEMACHANGE.history, None, "snowflake") == "METADATA.SCHEMACHANGE.CHANGE_HISTORY"
    assert table_name(FLYWAY.history, 'a."b c".d', "snowflake") == 'a."b c".d'
    for given, dialect in (("t; DROP TABLE u", "spark"), ("t WHERE 1 = 1", "spark"), ("t", "sqlite")):
        with pytest.raises(ConfigurationError):
            table_name(FLYWAY.history, given, dialect)


@pytest.mark.parametrize(
    ("tool", "values"),
    [
        (FLYWAY, ("one", "a", "SQL", "V1__a.sql", 7, "ann", True, None)),
        (FLYWAY, (None, None, "SQL", "R__a.sql", 7, "ann", True, None)),
        (FLYWAY, ("1", "a", "SQL", "V1__a.sql", 7, "ann", True, 10**30)),
        (SCHEMACHANGE, (None, "V", "c", "Success", "ann", None)),
    ],
)
def test_a_row_that_the_tool_does_not_write_is_refused(tool: Tool, values: tuple[Any, ...]) -> None:
    """The message has the row and the table."""
    with pytest.raises(ConfigurationError, match="a row of web") as caught:
        row_of(tool.history, "web.t", values)
    assert caught.value.code == "HISTORY_TABLE_NOT_READ"


@pytest.mark.parametrize(
    ("to", "text"),
    [
        (None, "t: nothing to record, no imported version is applied"),
        ("0002", "t: nothing to record, all versions up to 0002 are recorded"),
    ],
)
def test_a_baseline_that_records_nothing_says_why(to: str | None, text: str) -> None:
    """An empty history table, and a command that runs again."""
    result = ImportResult("shop", "", baseline=ImportedBaseline("t", to))
    assert text in result.lines()
