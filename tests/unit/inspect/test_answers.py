"""What the read-only commands return about one catalog, and how it is printed."""

from __future__ import annotations

import json

import pytest

from glacierbase.errors import GlacierbaseError, MigrationFailed
from glacierbase.history.details import details_of
from glacierbase.inspect.results import StatusResult
from glacierbase.inspect.show import ShowResult, show, statements_of
from glacierbase.inspect.status import statuses
from glacierbase.migrations.allows import Allow
from glacierbase.model.result import WrittenResult
from glacierbase.model.text import Table
from glacierbase.output.documents import json_document, text_document
from glacierbase.secrets import register
from tests.support.world import FIVE, World

REFUSED = "INSERT INTO nowhere VALUES (1)"


def test_a_variable_that_changed_since_is_a_note_and_no_error(world: World) -> None:
    """The file is the one that was applied; today it would render differently, or not at all."""
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES ({{ variables.size }})")
    world.migrate()
    [(_, status)] = statuses(world.target(), world.state.history)
    assert (str(status.state), status.note) == ("applied", None)
    world.variables = "variables: {size: 5}\n"
    [(_, status)] = statuses(world.target(), world.state.history)
    assert (str(status.state), status.note) == (
        "applied",
        "a variable changed since: it would render differently today",
    )
    world.variables = ""
    [(_, status)] = statuses(world.target(), world.state.history)
    assert str(status.state) == "applied"
    assert "no longer renders" in (status.note or "")


def test_a_failed_file_is_shown_statement_by_statement(world: World) -> None:
    """The statements are those of the run, also where the file was edited since."""
    file = world.file("1_a.sql", FIVE.format("nowhere"))
    with pytest.raises(MigrationFailed):
        world.migrate()
    file.write_text(file.read_text().replace("nowhere", "t"))
    shown, _ = statements_of(world.target(), 1, world.state.history.records[1])
    assert [each.state for each in shown] == ["done", "done", "failed", "pending", "pending"]
    assert shown[2].sql == "INSERT INTO nowhere VALUES (2)"


@pytest.mark.parametrize("name", ["1_a.sql", "repeatable/a.sql"])
@pytest.mark.parametrize(
    "sql", [FIVE.format("nowhere"), REFUSED, f"CREATE TEMPORARY TABLE x AS SELECT 1 AS a; {REFUSED}"]
)
def test_a_failed_file_has_the_same_next_steps_in_the_error_and_in_show(name: str, sql: str, world: World) -> None:
    """Both name the statement at which the file continues, if it can, and the decisions that `repair` can record."""
    world.file(name, sql)
    with pytest.raises(MigrationFailed) as caught:
        world.migrate()
    [(item, _)] = statuses(world.target(), world.state.history)
    assert show(world.target(), ShowResult("shop", "dev"), item.key).next == caught.value.hint


def test_a_pending_file_has_no_number_of_completed_statements(world: World) -> None:
    """The number of its statements is recorded when it runs; until then `show` has no such row."""
    world.file("1_a.sql", "SELECT 1")
    [(_, status)] = statuses(world.target(), world.state.history)
    assert "done" not in ShowResult("shop", "dev", migration=status).as_text()
    world.migrate()
    [(_, status)] = statuses(world.target(), world.state.history)
    assert "1/1 statements" in ShowResult("shop", "dev", migration=status).as_text()


def test_status_is_a_table_with_the_engines_message(world: World) -> None:
    """The JSON document has the same content as the table."""
    world.file("1_a.sql", FIVE.format("nowhere"))
    world.file("2_b.sql", "SELECT 1")
    with pytest.raises(MigrationFailed):
        world.migrate()
    known = statuses(world.target(), world.state.history)
    result = StatusResult("shop", "dev", migrations=tuple(status for _, status in known))
    text = text_document([result]).splitlines()
    assert text[0] == "shop (dev)"
    assert text[1].split() == ["version", "state", "done", "applied", "at", "author", "description"]
    assert text[2].split()[:3] == ["1", "failed", "2/5"]
    assert text[3].split()[:2] == ["2", "pending"]
    assert text[4] == "  1 failed at statement 3 of 5: no such table: nowhere"
    entry = json.loads(json_document("status", [result], None))["catalogs"][0]
    assert [(each["version"], each["state"]) for each in entry["migrations"]] == [("1", "failed"), ("2", "pending")]
    assert entry["lock"] is None


def test_a_secret_of_letters_and_quotes_is_masked_in_a_document() -> None:
    """JSON escapes the quotes and leaves the letters."""
    register('canary"of"Zürich')
    document = json_document("new", [WrittenResult("shop", "", files=('a canary"of"Zürich',))], None)
    assert json.loads(document)["catalogs"][0]["files"] == ["a ***"]


def test_a_document_of_an_error_has_its_data() -> None:
    """The document has `code`, `exit_code`, `message`, `hint`, and the data of the error."""
    document = json.loads(
        json_document("migrate", [], GlacierbaseError("A_CODE", "what", "do this", path="x.sql", line=3))
    )
    assert (document["schema"], document["ok"], document["catalogs"]) == ("glacierbase/migrate/1", False, [])
    assert document["error"] == {
        "code": "A_CODE", "exit_code": 70, "message": "what", "hint": "do this", "path": "x.sql", "line": 3,
    }  # fmt: skip


def test_what_a_file_allows_is_recorded_when_it_starts_and_shown(world: World) -> None:
    """Before that, `show` reads it from the file; an edit of the comment later changes nothing."""
    file = world.file("1_a.sql", "SELECT 1;\n-- GLACIERBASE_ALLOW: DS103 no readers (#912)\nCREATE TABLE t (a INT)")
    allow = Allow(2, "DS103", "no readers (#912)")
    assert statements_of(world.target(), 1, world.state.history.records.get(1))[1] == (allow,)
    world.migrate()
    file.write_text(file.read_text().replace("no readers", "nobody"))
    assert statements_of(world.target(), 1, world.state.history.records.get(1))[1] == (allow,)
    assert details_of(world.events[0]).allows == (allow,)
    [(_, status)] = statuses(world.target(), world.state.history)
    table = ShowResult("shop", "dev", allows=(allow,), migration=status).lines()[1]
    assert isinstance(table, Table)
    assert ("allows DS103", "at statement 2: no readers (#912)") in table.rows
