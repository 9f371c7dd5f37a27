"""`blame` of a real Iceberg table that was there before its first record."""

from __future__ import annotations

from datetime import datetime, timezone

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from tests.support.project_folder import ProjectFolder
from tests.support.recorded import RecordedTables

CREATE = "CREATE TABLE lake.a.t (id bigint, name string) USING iceberg"


def times_of(client: SqlCatalog) -> list[int]:
    """Return when each metadata file of the table was written, in milliseconds."""
    table = client.load_table("a.t")
    return [*(each.timestamp_ms for each in table.metadata.metadata_log), table.metadata.last_updated_ms]


def dates(tables: RecordedTables) -> dict[str, tuple[str, bool]]:
    """Return when each column was changed last, and whether it may have been before."""
    output = tables.run("blame", "a.t", "--format", "json")
    assert output.code == 0, output.stderr
    lines = [each for each in output.entry()["lines"] if each["kind"] == "column"]
    return {each["name"]: (each["at"], each["since"]["at_most"]) for each in lines}


def test_the_metadata_files_date_what_is_older_than_the_record(project: ProjectFolder) -> None:
    """Each column has the time of the file that has it first, as an upper bound; where that file is gone, that of the record."""
    tables = RecordedTables(project)
    table = tables.client.create_table("a.t", Schema(NestedField(1, "id", LongType())))
    with table.update_schema() as update:
        update.add_column("name", StringType())
    tables.apply("1_make.sql", CREATE, lambda _: None, "lake.a.t")
    created, added = times_of(tables.client)
    found = dates(tables)
    assert [text[:19] for text, _ in found.values()] == [iso(created), iso(added)]
    assert [is_bound for _, is_bound in found.values()] == [True, True]
    for file in (project.root / "warehouse").rglob("00000-*.metadata.json"):
        if "/t/" in str(file):
            file.unlink()
    assert [text[:19] for text, _ in dates(tables).values()] == [iso(added), iso(added)]


def iso(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).isoformat()[:19]
