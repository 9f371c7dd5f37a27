"""`import tables` on real Iceberg tables, without an engine: the files that it writes, and what `baseline` and `drift` say then."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import (
    DecimalType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from glacierbase.capabilities.adopt import tables as adopting
from glacierbase.executors.pyiceberg.shape import ShapeReader
from tests.support.hostile import PAYLOAD
from tests.support.project_folder import Output, ProjectFolder
from tests.support.recorded import RecordedTables
from tests.unit.capabilities.adopt.test_listing import CREATE, create

WHO = ("--author", "Data Platform")
# PyIceberg writes no surrogate.
HOSTILE = PAYLOAD.encode("utf-8", "ignore").decode()


@pytest.fixture
def tables(project: ProjectFolder) -> RecordedTables:
    """A catalog with the plain table `lake.a.t`, and a rich one, `lake.a.rich`."""
    tables = RecordedTables(project)
    create(tables.client, "a.t")
    rich(tables.client)
    return tables


def rich(client: SqlCatalog, name: str = "a.rich") -> None:
    columns = Schema(
        NestedField(1, "id", LongType(), required=True, doc="the key"),
        NestedField(2, "at", TimestamptzType()),
        NestedField(
            3,
            "address",
            StructType(NestedField(4, "city", StringType()), NestedField(5, "it's {{ x }}", DecimalType(9, 2))),
        ),
        NestedField(6, "tags", ListType(7, StringType(), element_required=False)),
        NestedField(8, "prices", MapType(9, StringType(), 10, LongType(), value_required=False)),
        identifier_field_ids=[1],
    )
    client.create_table(
        name,
        columns,
        partition_spec=PartitionSpec(
            PartitionField(1, 1000, BucketTransform(4), "id_bucket"), PartitionField(2, 1001, DayTransform(), "at_day")
        ),
        sort_order=SortOrder(SortField(2, IdentityTransform(), SortDirection.DESC, NullOrder.NULLS_LAST)),
        properties={"format-version": "2", "comment": "it's {{ x }}", "acme.team": "data", "write.data.path": "/x"},
    )


def imported(tables: RecordedTables, *arguments: str) -> Output:
    return tables.run("import", "tables", *arguments, *WHO, "--format", "json")


def files(tables: RecordedTables) -> dict[str, str]:
    """Return the text of each migration file by its words."""
    found = (tables.project.root / "migrations" / "shop").glob("*.sql")
    return {path.stem.partition("_")[2]: path.read_text() for path in sorted(found)}


def test_a_file_for_each_new_table(tables: RecordedTables) -> None:
    """The result lists each file with its table and the number of its statements, and names the next command."""
    output = imported(tables, "lake.a.*")
    assert output.code == 0, output.stderr
    found = {each["table"]: each for each in output.entry()["files"]}
    assert set(found) == {"lake.a.t", "lake.a.rich"}
    assert set(files(tables)) == {"create_lake_a_t", "create_lake_a_rich"}
    for each in found.values():
        text = (tables.project.root / each["path"]).read_text()
        assert text.startswith(
            f"-- MIGRATION_DESCRIPTION: Create {each['table']}\n-- MIGRATION_AUTHOR: Data Platform\n"
        )
        assert text.count(";\n") == each["statements"]
    assert "glacierbase baseline --to 0002 " in output.entry()["next"]
    assert tables.run("validate").code == 0


def test_the_files_are_those_that_baseline_proves_and_drift_says_nothing(tables: RecordedTables) -> None:
    """Each file declares the table as it is: no difference is accepted, nothing is left uncompared."""
    [*_, last] = imported(tables, "*").entry()["files"]
    version = Path(last["path"]).name.partition("_")[0]
    done = tables.run("baseline", "--to", version, "--reason", "adopted", "--yes", "--format", "json")
    assert done.code == 0, done.stderr
    assert (len(done.entry()["baselined"]), done.entry()["warnings"]) == (2, [])
    drift = tables.run("drift", "--fail-on", "any", "--format", "json").entry()
    assert (drift["drifts"], drift["compared"], drift["unmanaged"]) == ([], 2, [])


def test_the_baseline_is_part_of_the_command_on_request(tables: RecordedTables) -> None:
    """The reason is recorded; the tables are recorded, and a second call has nothing to do."""
    output = imported(tables, "*", "--baseline", "--reason", "adopted", "--yes")
    assert output.code == 0, output.stderr
    assert len(output.entry()["baselined"]) == 2
    events = tables.run("history", "--format", "json").entry()["events"]
    assert [each["reason"] for each in events] == ["adopted", "adopted"]
    again = imported(tables, "*", "--baseline", "--reason", "adopted", "--yes").entry()
    assert (again["files"], again["baselined"]) == ([], [])
    assert {each["state"] for each in again["tables"]} == {"recorded"}


def test_a_second_run_writes_only_what_is_missing(tables: RecordedTables, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interrupt, the files that were written are whole, and the others are written by the next call."""
    for number in range(40):
        create(tables.client, f"a.more{number:02}")
    read = ShapeReader.read
    count = 0

    def interrupted(self: ShapeReader, table: str) -> Any:
        nonlocal count
        count += 1
        if table.endswith("more20"):
            raise KeyboardInterrupt
        return read(self, table)

    monkeypatch.setattr(ShapeReader, "read", interrupted)
    stopped = imported(tables, "*")
    assert stopped.code == 130
    assert "16 files written" in stopped.document["error"]["message"]
    written = files(tables)
    assert len(written) == 16
    monkeypatch.setattr(ShapeReader, "read", read)
    output = imported(tables, "*")
    assert len(output.entry()["files"]) == 26
    assert {name: text for name, text in files(tables).items() if name in written} == written
    recorded = imported(tables, "*", "--baseline", "--reason", "adopted", "--yes")
    assert len(recorded.entry()["baselined"]) == 42, recorded.stderr


def test_two_runs_at_once_write_one_file_for_each_table(
    tables: RecordedTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run listed the tables before the first one wrote their files."""
    write = adopting.write_table_file

    def overtaken(*arguments: Any) -> str:
        monkeypatch.setattr(adopting, "write_table_file", write)
        assert len(imported(tables, "*").entry()["files"]) == 2
        return write(*arguments)

    monkeypatch.setattr(adopting, "write_table_file", overtaken)
    output = imported(tables, "*")
    assert output.code == 0, output.stderr
    assert output.entry()["files"] == []
    assert {each["what"] for each in output.entry()["not_exact"]} == {
        "no file was written: another file has this description"
    }
    assert len(list((tables.project.root / "migrations" / "shop").glob("*.sql"))) == 2


def test_a_dry_run_writes_nothing(tables: RecordedTables) -> None:
    """The result has the same tables, and the versions are chosen when the files are written."""
    output = tables.run("import", "tables", "*", "--dry-run", "--format", "json")
    assert [each["path"] for each in output.entry()["files"]] == [
        "migrations/shop/VERSION_create_lake_a_rich.sql",
        "migrations/shop/VERSION_create_lake_a_t.sql",
    ]
    assert files(tables) == {}


def test_managed_and_unmanaged_tables_get_no_file(project: ProjectFolder) -> None:
    """A table of the history, of a pending file, and one that is left to others."""
    tables = RecordedTables(project, "unmanaged: [{pattern: lake.a.raw, reason: ingestion}]\n")
    tables.apply("1_make.sql", CREATE.format("made"), lambda client: create(client, "a.made"), "lake.a.made")
    tables.project.file("2_more.sql", CREATE.format("later"))
    for name in ("later", "raw", "t"):
        create(tables.client, f"a.{name}")
    shown = tables.run("import", "tables", "*", *WHO).stdout
    assert "wrote 1 file" in shown
    assert "without a new file: 1 recorded, 1 declared, 1 unmanaged" in shown
    assert set(files(tables)) == {"make", "more", "create_lake_a_t"}


def odd(client: SqlCatalog) -> None:
    columns = Schema(
        NestedField(1, "id", UUIDType()),
        NestedField(2, "at", TimeType()),
        NestedField(3, "tags", ListType(4, StringType(), element_required=True)),
        NestedField(5, "s", StructType(NestedField(6, "t", TimeType()))),
    )
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "at"))
    client.create_table("a.odd", columns, partition_spec=spec)


def test_what_has_no_statement_is_a_comment_of_the_file_and_in_the_result(tables: RecordedTables) -> None:
    """The file creates the nearest table; `baseline` then names each difference."""
    odd(tables.client)
    output = imported(tables, "lake.a.odd")
    notes = [each["what"] for each in output.entry()["not_exact"]]
    assert notes == [
        "id is of type uuid", "at is of type time", "s.t is of type time", "tags.element refuses nulls",
        "the column at is left out", "the column s is left out",
    ]  # fmt: skip
    text = files(tables)["create_lake_a_odd"]
    assert [line for line in text.splitlines() if line.startswith("-- Not exact")] == [
        f"-- Not exact: {what}" for what in notes
    ]
    assert "`id` string" in text
    assert "`at`" not in text
    refused = imported(tables, "lake.a.odd", "--baseline", "--reason", "adopted", "--yes")
    assert refused.code == 3
    assert refused.document["error"]["code"] == "BASELINE_REFUSED"
    assert "lake.a.odd, type id: declared string, actual uuid" in refused.document["error"]["message"]


def test_a_secret_of_a_property_is_not_written(tables: RecordedTables) -> None:
    """The file has no trace of it, and the result says what is left out."""
    with tables.client.load_table("a.t").transaction() as change:
        change.set_properties({"s3.secret-access-key": "canary-of-a-table"})
    output = imported(tables, "lake.a.t")
    assert [each["what"] for each in output.entry()["not_exact"]] == [
        "the property s3.secret-access-key holds a secret, and is left out"
    ]
    assert "canary" not in "".join(files(tables).values()) + output.stdout


def test_a_table_that_cannot_be_read_has_no_file(tables: RecordedTables) -> None:
    """The other tables have theirs; the next call tries again."""
    location = tables.client.load_table("a.t").metadata_location.removeprefix("file://")
    content = Path(location).read_bytes()
    Path(location).write_bytes(b"{}")
    output = imported(tables, "*")
    assert [each["table"] for each in output.entry()["files"]] == ["lake.a.rich"]
    [left] = [each for each in output.entry()["not_exact"] if each["table"] == "lake.a.t"]
    assert left["what"].startswith("no file was written: ")
    Path(location).write_bytes(content)
    assert [each["table"] for each in imported(tables, "*").entry()["files"]] == ["lake.a.t"]


def test_files_below_that_are_pending_are_not_recorded_with_them(tables: RecordedTables) -> None:
    """Nobody proved that these have run: they stay pending, and are not out of order."""
    tables.project.file("1_insert.sql", "INSERT INTO lake.b.u VALUES (1)")
    output = imported(tables, "lake.a.*", "--baseline", "--reason", "adopted", "--yes")
    assert (output.code, output.entry()["baselined"]) == (0, ["2", "3"]), output.stderr
    pending = tables.run("pending", "--format", "json").document["catalogs"][0]["pending"]
    assert [file["version"] for file in pending] == ["1"]


@pytest.mark.parametrize("statement", ["INSERT INTO {} VALUES (1)", "ALTER TABLE {} ADD COLUMN z int"])
@pytest.mark.parametrize("name", ["made", "raw"])
def test_a_pending_file_of_a_recorded_or_an_unmanaged_table_stays_pending(
    project: ProjectFolder, name: str, statement: str
) -> None:
    """No comparison proves that it ran: the table has another state than it would leave."""
    tables = RecordedTables(project, "unmanaged: [{pattern: lake.a.raw, reason: ingestion}]\n")
    tables.apply("1_make.sql", CREATE.format("made"), lambda client: create(client, "a.made"), "lake.a.made")
    create(tables.client, "a.raw")
    tables.project.file("2_change.sql", statement.format(f"lake.a.{name}"))
    output = imported(tables, "*", "--baseline", "--reason", "adopted", "--yes")
    assert (output.code, output.entry()["baselined"]) == (0, []), output.stderr
    create(tables.client, "a.t")
    output = imported(tables, "*", "--baseline", "--reason", "adopted", "--yes")
    assert (output.code, output.entry()["baselined"]) == (0, ["3"]), output.stderr
    [pending] = tables.run("pending", "--format", "json").document["catalogs"][0]["pending"]
    assert pending["version"] == "2"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), "EMPTY_VALUE"),
        (("lake.nope.*",), "UNKNOWN_TABLE"),
        (("lake.a.*", "lake.nope.*"), "UNKNOWN_TABLE"),
        (("lake.a.*", "lake.nope.*", "--baseline", "--reason", "x", "--yes"), "UNKNOWN_TABLE"),
        (("*", "--reason", "x"), "USAGE"),
        (("*", "--baseline"), "USAGE"),
        (("*", "--list", "--baseline", "--reason", "x"), "USAGE"),
        (("*", "--baseline", "--reason", " ", "--yes"), "REASON_MISSING"),
    ],
)
def test_a_wrong_call_writes_nothing(tables: RecordedTables, arguments: tuple[str, ...], code: str) -> None:
    """The exit code is 2."""
    output = imported(tables, *arguments)
    assert (output.code, output.document["error"]["code"]) == (2, code)
    assert files(tables) == {}


def test_a_project_of_several_catalogs_names_the_one(tables: RecordedTables) -> None:
    """Two catalogs may reach the same tables."""
    tables.project.catalog((tables.project.root / "catalogs" / "shop.yaml").read_text(), "web")
    output = imported(tables, "*")
    assert output.document["error"]["code"] == "CATALOG_NOT_CHOSEN"
    assert imported(tables, "*", "--catalog", "web").code == 0


def test_recording_in_a_protected_environment_needs_its_name(project: ProjectFolder) -> None:
    """Without a terminal, --yes."""
    tables = RecordedTables(project, "protected: true\n")
    create(tables.client, "a.t")
    output = imported(tables, "*", "--baseline", "--reason", "x")
    assert output.document["error"]["code"] == "CONFIRMATION_MISSING"
    assert files(tables) == {}
    typed = tables.run("import", "tables", "*", *WHO, "--baseline", "--reason", "x", typed="default\n")
    assert typed.code == 0, typed.stderr


def test_hostile_texts_of_a_table_stay_texts(tables: RecordedTables) -> None:
    """What a stranger wrote into comments and properties is neither a template nor a statement."""
    with tables.client.load_table("a.t").transaction() as change:
        change.set_properties({"comment": HOSTILE, HOSTILE: "x", "y": "{% set a %}'; DROP TABLE lake.a.rich; --"})
    output = imported(tables, "lake.a.t", "--baseline", "--reason", "adopted", "--yes")
    assert output.code == 0, output.document["error"]
    assert tables.run("drift", "--fail-on", "any").code == 0


def test_three_hundred_tables_in_one_run(
    project: ProjectFolder, record_property: Callable[[str, object], None]
) -> None:
    """Each is written and recorded; `drift` then reads them all and finds no difference."""
    tables = RecordedTables(project)
    for number in range(300):
        create(tables.client, f"n{number % 7}.t{number:03}")
    begin = time.monotonic()
    output = imported(tables, "*")
    written = time.monotonic() - begin
    assert len(output.entry()["files"]) == 300
    begin = time.monotonic()
    recorded = imported(tables, "*", "--baseline", "--reason", "adopted", "--yes")
    baselined = time.monotonic() - begin
    assert len(recorded.entry()["baselined"]) == 300, recorded.stderr
    assert recorded.entry()["warnings"] == []
    record_property("seconds", (written, baselined))
    assert written < 60
    assert baselined < 120
    drift = tables.run("drift", "--fail-on", "any", "--format", "json")
    assert (drift.code, drift.entry()["compared"]) == (0, 300)
