"""The three ways out of a drift, on real Iceberg tables that another client changes."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from glacierbase import Project
from glacierbase.apply.locked import locked
from glacierbase.capabilities.tables import drift_files
from glacierbase.capabilities.tables.drift_files import DriftFileResult
from glacierbase.errors import GlacierbaseError
from glacierbase.history.state import read_state
from glacierbase.model.shape import Column, Shape
from glacierbase.record.drift import TableDrift
from tests.support.documents import checked
from tests.support.project_folder import Output, ProjectFolder
from tests.support.recorded import RecordedTables

CREATE = "CREATE TABLE lake.a.t (id bigint, name string) USING iceberg"
ENVIRONMENTS = "environments: {default: {}, other: {store: {namespace: elsewhere}}}\ndefaultEnvironment: default\n"
WHY = ("--reason", "the loader's column", "--author", "Ann")


@pytest.fixture
def tables(project: ProjectFolder) -> RecordedTables:
    """The table `lake.a.t`, made and recorded by version 1, in one of two environments."""
    return made(project)


def made(project: ProjectFolder, more: str = "") -> RecordedTables:
    tables = RecordedTables(project, ENVIRONMENTS + more)
    tables.apply("1_make.sql", CREATE, create, "lake.a.t")
    return tables


def create(client: SqlCatalog) -> Table:
    columns = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
    return client.create_table("a.t", columns, properties={"format-version": "2", "x": "1"})


def change(tables: RecordedTables) -> None:
    """Drop a column and add another, outside of migrations."""
    with tables.client.load_table("a.t").update_schema() as update:
        update.delete_column("name")
        update.add_column("legacy", StringType(), doc="{{ it }}")


def settle(tables: RecordedTables, action: str) -> Output:
    """Run an action with its reason, and confirmed where it changes the history."""
    return tables.run("drift", action, *WHY, *([] if action == "ignore" else ["--yes"]))


def rendered(tables: RecordedTables, environment: str) -> list[str]:
    """Return the statements of the newest file as an environment renders it, without comments."""
    output = tables.run("render", "--env", environment, "--format", "json")
    files = checked(json.loads(output.stdout))["catalogs"][0]["files"]
    lines = files[-1]["sql"].split("\n")
    return [line for line in lines if line and not line.startswith("--")]


def test_adopt_records_here_what_other_environments_run(tables: RecordedTables) -> None:
    """Here nothing is pending and nothing differs any more; elsewhere the statements make the change."""
    change(tables)
    adopted = tables.run("drift", "adopt", *WHY, "--yes", "--format", "json")
    assert adopted.code == 0, adopted.stderr
    [entry] = adopted.document["catalogs"]
    assert (entry["settled"], entry["tables"]) == (True, ["lake.a.t"])
    assert rendered(tables, "other") == [
        "ALTER TABLE lake.a.t DROP COLUMN `name`;",
        "ALTER TABLE lake.a.t ADD COLUMN `legacy` string COMMENT '{{ it }}';",
    ]
    assert tables.run("drift").stdout.endswith("\n  1 table as recorded\n")
    assert tables.run("pending", "--exit-code").code == 0
    shown = tables.run("show", entry["version"]).stdout
    assert "the loader's column" in shown
    assert "Ann" in shown


def test_blame_names_who_adopted_a_change(tables: RecordedTables) -> None:
    """What is adopted is the doing of that migration: its version, its author and its reason."""
    change(tables)
    adopted = tables.run("drift", "adopt", *WHY, "--yes", "--format", "json").document["catalogs"][0]
    [entry] = tables.run("blame", "lake.a.t", "--format", "json").document["catalogs"]
    found = {each["name"]: each for each in entry["lines"] if each["kind"] == "column"}
    legacy = found["legacy"]
    assert (legacy["version"], legacy["author"], legacy["description"]) == (adopted["version"], "Ann", WHY[1])
    assert not legacy["outside"]
    assert found["id"]["version"] == "1"
    [shown] = tables.run("show", adopted["version"], "--format", "json").document["catalogs"]
    [made_change] = shown["tables"]
    assert {each["name"] for each in made_change["diff"]} == {"name", "legacy"}


def test_a_secret_in_a_property_is_not_written_into_a_file(tables: RecordedTables) -> None:
    """Another environment has its own, and what is masked is no value."""
    with tables.client.load_table("a.t").transaction() as transaction:
        transaction.set_properties({"y": "3", "endpoint": "https://ann:hunter2-and-more@host/"})
    adopted = settle(tables, "adopt")
    assert adopted.code == 0
    assert "not in it: the value of the property endpoint holds a secret" in adopted.stdout
    [statement] = rendered(tables, "other")
    assert statement == "ALTER TABLE lake.a.t SET TBLPROPERTIES ('y' = '3');"
    text = "".join(each.read_text() for each in tables.project.root.rglob("*.sql"))
    assert "hunter2" not in text
    assert tables.run("drift", "--fail-on", "any").code == 0


def test_revert_writes_a_file_that_does_nothing_elsewhere(tables: RecordedTables) -> None:
    """The file of `revert` is pending here; the one before it makes the changes, and is recorded as applied."""
    change(tables)
    reverted = settle(tables, "revert")
    assert reverted.code == 0, reverted.stderr
    assert rendered(tables, "default") == [
        "ALTER TABLE lake.a.t DROP COLUMN `legacy`;",
        "ALTER TABLE lake.a.t ADD COLUMN `name` string;",
    ]
    assert rendered(tables, "other") == []
    assert "recorded the changes in migrations/shop/2_record_what_changed_outside_of_migrations" in reverted.stdout
    assert tables.run("pending", "--exit-code").code == 7
    assert tables.run("drift").code == 0


def test_a_part_of_a_table_is_not_reverted_alone(project: ProjectFolder) -> None:
    """Recorded with the rest, a wider type would be drift no more, although nobody accepted it."""
    tables = RecordedTables(project, ENVIRONMENTS)
    schema = Schema(NestedField(1, "id", IntegerType()))
    tables.apply("1_make.sql", CREATE, lambda client: client.create_table("a.t", schema), "lake.a.t")
    with tables.client.load_table("a.t").update_schema() as update:
        update.update_column("id", LongType())
        update.add_column("legacy", StringType())
    refused = settle(tables, "revert")
    assert (refused.code, "id cannot change from bigint to int" in refused.stderr) == (3, True), refused
    assert files(tables) == ["1_make.sql"]
    assert tables.run("drift").code == 7


@pytest.mark.parametrize("action", ["drift_adopt", "drift_revert"])
def test_an_interrupt_before_the_record_leaves_no_file(
    tables: RecordedTables, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    """Neither the draft nor the file above it remains."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    change(tables)
    monkeypatch.setattr(drift_files, "_settled", interrupted)
    with pytest.raises((KeyboardInterrupt, GlacierbaseError)):
        getattr(Project.load(tables.project.root), action)(reason="why", author="Ann")
    assert [path.name for path in (tables.project.root / "migrations/shop").iterdir()] == ["1_make.sql"]


def test_a_new_environment_runs_what_revert_wrote(tables: RecordedTables) -> None:
    """The environment makes the changes and undoes them: the statements of the two files lead from the recorded table to itself."""
    change(tables)
    assert settle(tables, "revert").code == 0
    output = tables.run("render", "--env", "default", "--format", "json")
    sql = [file["sql"] for file in checked(json.loads(output.stdout))["catalogs"][0]["files"][1:]]
    statements = [line for text in sql for line in text.split("\n") if line and not line.startswith("--")]
    assert statements == [
        "ALTER TABLE lake.a.t DROP COLUMN `name`;",
        "ALTER TABLE lake.a.t ADD COLUMN `legacy` string COMMENT '{{ it }}';",
        "ALTER TABLE lake.a.t DROP COLUMN `legacy`;",
        "ALTER TABLE lake.a.t ADD COLUMN `name` string;",
    ]
    assert tables.run("lint").code == 0


def test_ignore_shows_rules_by_which_nothing_differs(tables: RecordedTables) -> None:
    """What it prints is YAML for the catalog file, whatever the names and the reason contain. It writes nothing."""
    path = tables.project.root / "catalogs" / "shop.yaml"
    before = path.read_text()
    change(tables)
    with tables.client.load_table("a.t").transaction() as transaction:
        transaction.set_properties({"a[b]*\n": "1"})
    assert tables.run("drift", "--fail-on", "any").code == 7
    shown = tables.run("drift", "ignore", "--reason", 'it\'s "theirs": # no\n key')
    assert (shown.code, path.read_text()) == (0, before)
    path.write_text(before + shown.stdout[shown.stdout.index("drift:\n") :])
    assert tables.run("drift", "--fail-on", "any").code == 0
    assert "no managed table differs" in tables.run("drift", "ignore", "--reason", "again").stdout


def test_beside_an_ignored_column_nothing_is_settled(tables: RecordedTables) -> None:
    """The statements would settle the ignored column, too."""
    change(tables)
    with (tables.project.root / "catalogs" / "shop.yaml").open("a") as file:
        file.write(
            "drift:\n  ignore:\n    - {table: lake.a.t, what: column name, reason: theirs}\n"
            "    - {table: lake.a.t, what: column legacy, reason: theirs}\n"
        )
    with tables.client.load_table("a.t").update_schema() as update:
        update.add_column("more", StringType())
    refused = settle(tables, "revert")
    assert refused.code == 3
    assert "ignore column name, column legacy, and other changes" in refused.stderr


@pytest.mark.parametrize("action", ["adopt", "revert"])
def test_ignored_properties_are_not_settled(project: ProjectFolder, action: str) -> None:
    """`adopt` and `revert` leave properties that a rule ignores."""
    tables = made(project, "drift:\n  ignore:\n    - {table: lake.a.t, what: property x, reason: by hand}\n")
    with tables.client.load_table("a.t").transaction() as transaction:
        transaction.set_properties({"x": "2", "y": "3", "numRows": "9"})
    assert settle(tables, action).code == 0
    [statement] = rendered(tables, "default")
    assert "'y'" in statement
    assert "'x'" not in statement
    assert "numRows" not in statement


def test_adopt_is_refused_while_files_are_pending(tables: RecordedTables) -> None:
    """Pending files would be out of order afterwards; no file is left."""
    tables.project.file("2_next.sql", "ALTER TABLE lake.a.t ADD COLUMN z int")
    change(tables)
    refused = settle(tables, "adopt")
    assert refused.code == 3
    assert "DRIFT_REFUSED: these versions are pending: 2; nothing was written" in refused.stderr
    assert [each.name for each in sorted((tables.project.root / "migrations" / "shop").iterdir())] == [
        "1_make.sql", "2_next.sql",
    ]  # fmt: skip


@pytest.mark.parametrize("action", ["adopt", "revert", "ignore"])
def test_after_a_file_without_a_record_nothing_is_settled(tables: RecordedTables, action: str) -> None:
    """The file may have made the change."""
    tables.apply("2_add.sql", "ALTER TABLE lake.a.t ADD COLUMN z int", lambda _: change(tables), is_recorded=False)
    refused = settle(tables, action)
    assert refused.code == 3
    assert "left no record" in refused.stderr


@pytest.mark.parametrize("action", ["adopt", "revert"])
def test_what_no_statement_does_is_refused(tables: RecordedTables, action: str) -> None:
    """Another table under the recorded name is neither made nor undone by statements."""
    tables.client.drop_table("a.t")
    create(tables.client)
    refused = settle(tables, action)
    assert refused.code == 3
    assert "is another table than the recorded one" in refused.stderr


@pytest.mark.parametrize("namespace", [None, "a", "b"])
def test_a_table_that_is_gone_is_dropped_nowhere_else(tables: RecordedTables, namespace: str | None) -> None:
    """A table that is gone may have been renamed, also into another namespace; a `DROP TABLE` elsewhere would destroy its rows."""
    if namespace is None:
        tables.client.drop_table("a.t")
    else:
        tables.client.create_namespace_if_not_exists(namespace)
        tables.client.rename_table("a.t", f"{namespace}.u")
    assert "drift adopt" not in tables.run("drift").stdout
    # A namespace of recorded tables is searched for the new name.
    renamed = "lake.a.t was renamed to lake.a.u" if namespace == "a" else ""
    for action, why in (
        ("adopt", renamed or "lake.a.t was dropped or renamed"),
        ("revert", renamed or "lake.a.t is gone"),
    ):
        refused = settle(tables, action)
        assert (refused.code, why in refused.stderr) == (3, True), refused.stderr
    assert files(tables) == ["1_make.sql"]


def test_a_table_is_adopted_as_a_whole_or_not_at_all(tables: RecordedTables) -> None:
    """What no statement does is not recorded as done: it would be missing in other environments, and be no drift here."""
    change(tables)
    with tables.client.load_table("a.t").update_schema(allow_incompatible_changes=True) as update:
        update.update_column("id", required=True)
    refused = settle(tables, "adopt")
    assert refused.code == 3
    assert "id cannot begin to refuse nulls" in refused.stderr
    assert files(tables) == ["1_make.sql"]
    assert tables.run("drift").code == 7


@pytest.mark.parametrize("action", ["adopt", "revert"])
def test_without_a_difference_nothing_is_written(tables: RecordedTables, action: str) -> None:
    """`adopt` and `revert` succeed where nothing differs."""
    output = settle(tables, action)
    assert output.code == 0
    assert "nothing was written" in output.stdout


def test_adopt_asks_before_it_records(tables: RecordedTables) -> None:
    """Off a terminal it requires --yes."""
    change(tables)
    refused = tables.run("drift", "adopt", *WHY)
    assert refused.code == 2
    assert "CONFIRMATION_MISSING" in refused.stderr
    assert tables.run("drift").code == 7


def test_an_action_requires_its_reason(tables: RecordedTables) -> None:
    """An action without `--reason` is a usage error."""
    assert tables.run("drift", "adopt").code == 2


def files(tables: RecordedTables) -> list[str]:
    return sorted(each.name for each in (tables.project.root / "migrations" / "shop").iterdir())


@pytest.mark.parametrize("action", ["adopt", "revert"])
@pytest.mark.parametrize("start", ["{{ it }}", "{% it", "{# it"])
def test_a_reason_is_never_read_as_a_template(tables: RecordedTables, action: str, start: str) -> None:
    """A reason with template syntax is refused before a file is written: a comment of a template would hide statements."""
    change(tables)
    refused = tables.run("drift", action, "--reason", f"why {start}", "--author", "Ann", "--yes")
    assert refused.code == 2
    assert "INVALID_VALUE" in refused.stderr
    assert files(tables) == ["1_make.sql"]


def test_no_file_is_left_that_was_not_recorded(tables: RecordedTables, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal while the written file is read, before it is recorded, deletes the file."""
    change(tables)
    opened, drafts = os.open, list[str]()

    def signalled(path: str, flags: int, *more: int, **named: int | None) -> int:
        if str(path).endswith(".draft") and flags & os.O_ACCMODE == os.O_RDONLY:
            drafts[:] = [each for each in files(tables) if each.endswith(".draft")]
            signal.raise_signal(signal.SIGINT)
        return opened(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", signalled)
    assert settle(tables, "adopt").code == 130
    assert (len(drafts), files(tables)) == (1, ["1_make.sql"])
    assert tables.run("drift").code == 7


def adopted(tables: RecordedTables, lock_timeout: float = 0) -> Sequence[DriftFileResult]:
    return Project.load(tables.project.root).drift_adopt(reason="why", author="Ann", lock_timeout=lock_timeout)


class OtherRun(logging.Handler):
    """A thread that holds the lock until another run waits for it, and then adopts the changes first."""

    def __init__(self, tables: RecordedTables) -> None:
        super().__init__(logging.INFO)
        self._tables, self._held, self._ended = tables, threading.Event(), threading.Event()
        self.adopted: Sequence[DriftFileResult] = ()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._held.wait(30)

    def _run(self) -> None:
        with self._tables.target().opened() as opened, locked(opened, read_state(opened), 0):
            self._held.set()
            self._ended.wait(60)
        self.adopted = adopted(self._tables)

    def emit(self, record: logging.LogRecord) -> None:
        if "waiting for the lock" in record.getMessage():
            self._ended.set()
            self._thread.join()


def test_what_another_run_settled_meanwhile_is_not_settled_again(
    tables: RecordedTables, caplog: pytest.LogCaptureFixture
) -> None:
    """Under the lock nothing differs any more: that is no error, and no second file is written."""
    change(tables)
    other, logger = OtherRun(tables), logging.getLogger("glacierbase")
    logger.addHandler(other)
    try:
        with caplog.at_level(logging.INFO, logger.name):
            [result] = adopted(tables, lock_timeout=60)
    finally:
        logger.removeHandler(other)
    assert [each.settled for each in other.adopted] == [True]
    assert (result.path, result.settled, files(tables)) == ("", False, ["1_make.sql", "2_why.sql"])


@pytest.mark.parametrize("changes", [{"id": None}, {"format": "delta"}])
def test_without_ids_of_columns_no_statement_is_written(changes: dict[str, str | None]) -> None:
    """By name, a renamed column is a dropped one beside a new one, whose values would be lost."""
    column = Column(1, "id", "bigint")
    recorded = Shape("lake.a.t", "u", "iceberg", 2, (column,))
    format_ = changes.get("format") or "iceberg"
    changed = replace(column, name="other", id=None if "id" in changes else 1)
    actual = replace(recorded, format=format_, columns=(changed,))
    for way in (drift_files._adopting, drift_files._reverting):
        alters = way(TableDrift(recorded, actual, (), is_certain=True))
        assert alters.statements == ()
        assert len(alters.impossible) == 1
