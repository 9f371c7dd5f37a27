"""What `drift` says of a table that a migration may be changing, and which tables it looks at."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from glacierbase.model.migration import EventType
from glacierbase.record.live import LiveTables, TableShapes
from tests.support.fleet import Fleet
from tests.support.program import call_program
from tests.support.project_folder import Output, ProjectFolder
from tests.support.recorded import RecordedTables
from tests.unit.capabilities.tables.test_drift import CREATE, create, drifts
from tests.unit.inspect.scenes import added, created, fleet_of

Found = list[tuple[str, str, str]]


@pytest.fixture
def fleet(project: ProjectFolder) -> Fleet:
    """The table `lake.a.users` in dev, made by version 2."""
    fleet = fleet_of(project)
    fleet["dev"].apply("0002", created("a.users"))
    return fleet


def run(fleet: Fleet, *arguments: str) -> Output:
    return call_program([*arguments, "--env", "dev", "--project", str(fleet.project.root)])


def found(fleet: Fleet, *arguments: str) -> tuple[int, Found]:
    """Return the exit code, and table, subject and class of each difference."""
    output = run(fleet, "drift", "--format", "json", *arguments)
    [entry] = output.document["catalogs"]
    return output.code, [(each["table"], each["what"], each["class"]) for each in entry["drifts"]]


def test_a_migration_that_ends_while_tables_are_read_is_no_drift(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The history is read again where a table is not as its record says."""
    read, runs = LiveTables.read, ["0003"]

    def meanwhile(*arguments: Any) -> Any:
        while runs:
            fleet["dev"].apply(runs.pop(), added("a.users", "name"))
        return read(*arguments)

    monkeypatch.setattr(LiveTables, "read", meanwhile)
    assert found(fleet) == (0, [])


def test_while_migrations_run_all_the_time_nothing_is_claimed(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reads end, and a difference is listed as one that a file may have made."""
    added("a.users", "legacy")(fleet["dev"].client)
    created("a.events")(fleet["dev"].client)
    read, reads = LiveTables.read, []

    def meanwhile(tables: LiveTables, names: Iterable[str]) -> Any:
        if "lake.a.users" in (wanted := list(names)):
            fleet["dev"].apply("0007", end=EventType.FAILED, statement_index=1)
            reads.append(wanted)
        return read(tables, wanted)

    monkeypatch.setattr(LiveTables, "read", meanwhile)
    assert found(fleet) == (0, [("lake.a.users", "column legacy", "not recorded")])
    assert len(reads) == 3


@pytest.mark.parametrize("columns", [{}, {"event": "started", "state": "running"}])
def test_a_table_of_a_statement_without_an_outcome_has_not_drifted(fleet: Fleet, columns: dict[str, str]) -> None:
    """The statement may have made the difference, or may be about to: its run recorded that, or has died before."""
    unknown: dict[str, Any] = {"statement_index": 1, **columns}
    fleet["dev"].apply("0003", added("a.users", "name"), end=EventType.UNKNOWN, is_recorded=False, **unknown)
    assert found(fleet) == (0, [("lake.a.users", "column name", "not recorded")])
    assert "not from a migration" not in run(fleet, "blame", "lake.a.users.name").stdout


def test_after_a_file_that_failed_the_record_of_what_it_did_counts(fleet: Fleet) -> None:
    """The record of a failed file holds what its statements left; a change after it is a drift."""
    fleet["dev"].apply("0003", added("a.users", "name"), end=EventType.FAILED, statement_index=1)
    assert found(fleet) == (0, [])
    added("a.users", "legacy")(fleet["dev"].client)
    assert found(fleet) == (7, [("lake.a.users", "column legacy", "structural")])


def test_after_a_file_that_may_have_touched_any_table_nothing_is_claimed(project: ProjectFolder) -> None:
    """The targets of a statement that is not understood are not known."""
    tables = RecordedTables(project)
    tables.apply("1_make.sql", CREATE, create, "lake.a.t")

    def add(client: SqlCatalog) -> None:
        with client.load_table("a.t").update_schema() as update:
            update.add_column("legacy", LongType())

    tables.apply("2_call.sql", "CALL lake.system.unheard_of('x')", add)
    assert drifts(tables) == (0, [("column legacy", "not recorded", None, "bigint")])
    blamed = tables.run("blame", "lake.a.t.legacy").stdout
    assert "not from a migration" not in blamed


def test_the_tables_are_read_at_the_same_time(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read that waits for another one gets it, which one after the other never would."""
    tables = RecordedTables(project)
    names = [f"t{number}" for number in range(8)]

    def make(client: SqlCatalog) -> None:
        for name in names:
            client.create_table(f"a.{name}", Schema(NestedField(1, "id", LongType())))

    sql = ";\n".join(f"CREATE TABLE lake.a.{name} (id bigint) USING iceberg" for name in names)
    tables.apply("1_make.sql", sql, make, *(f"lake.a.{name}" for name in names))
    both, read = threading.Barrier(2, timeout=30), TableShapes.read

    def waiting(*arguments: Any) -> Any:
        both.wait()
        return read(*arguments)

    monkeypatch.setattr(TableShapes, "read", waiting)
    assert "8 tables as recorded" in tables.run("drift").stdout


def test_only_the_chosen_tables_are_compared(fleet: Fleet) -> None:
    """Differences, unmanaged tables and the number of compared tables are those of the pattern."""
    fleet["dev"].apply("0007", created("a.events"))
    for each in ("a.users", "a.events"):
        added(each, "legacy")(fleet["dev"].client)
    created("a.by_hand")(fleet["dev"].client)
    assert found(fleet, "--table", "LAKE.a.ev*") == (7, [("lake.a.events", "column legacy", "structural")])
    output = run(fleet, "drift", "--table", "lake.a.users", "--list")
    assert "lake.a.users" in output.stdout
    assert "by_hand" not in output.stdout


@pytest.mark.parametrize(
    "action", [(), ("adopt", "--yes", "--author", "Team"), ("revert", "--author", "Team"), ("ignore",)]
)
def test_a_pattern_that_fits_no_table_is_an_error(fleet: Fleet, action: tuple[str, ...]) -> None:
    """The nearest table is named; `as recorded` would be said of no table at all."""
    added("a.users", "legacy")(fleet["dev"].client)
    why = ("--reason", "why") if action else ()
    output = run(fleet, "drift", *action, *why, "--table", "lake.a.user")
    assert output.code == 2
    assert "UNKNOWN_TABLE" in output.stderr
    assert "did you mean lake.a.users?" in output.stderr
    named = run(fleet, "drift", "--table", "x*")
    assert "the tables are lake.a.users" in named.stderr
    assert run(fleet, "drift", "--table", " ").code == 2


def test_a_table_that_its_file_named_in_part_is_compared(project: ProjectFolder) -> None:
    """A table that its file names in part is recorded under its qualified name, and not listed as one without a record."""
    fleet = Fleet(project, "{dev: {}}")
    path = project.root / "catalogs" / "shop.yaml"
    path.write_text(
        path.read_text().replace("    dependencies", "      spark.sql.defaultCatalog: lake\n    dependencies")
    )
    project.file("0001_users.sql", "CREATE TABLE a.users (id BIGINT NOT NULL) USING iceberg")
    fleet["dev"].apply("0001", created("a.users"), names={"a.users": "lake.a.users"})
    assert run(fleet, "drift").stdout.count("not recorded") == 0


def test_a_property_that_holds_a_secret_is_as_recorded(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record has it masked, and so is what is compared with it."""
    monkeypatch.setenv("KEY_ID", "hunter2-and-more")
    tables = RecordedTables(project, "hooks: {}\n")
    path = project.root / "catalogs" / "shop.yaml"
    path.write_text(path.read_text().replace("    dependencies", "      spark.x: ${secret:KEY_ID}\n    dependencies"))

    def make(client: SqlCatalog) -> None:
        create(client)
        with client.load_table("a.t").transaction() as transaction:
            transaction.set_properties({"endpoint": "https://hunter2-and-more.example", "s3.session-token": "canary-7"})

    tables.apply("1_make.sql", CREATE, make, "lake.a.t")
    assert drifts(tables, "--fail-on", "any") == (0, [])
    tables.client.load_table("a.t").transaction().set_properties({"s3.session-token": "canary-8"}).commit_transaction()
    assert drifts(tables, "--fail-on", "any") == (0, [])
    blamed = tables.run("blame", "lake.a.t").stdout
    assert "not from a migration" not in blamed
    assert "canary" not in blamed
