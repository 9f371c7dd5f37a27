"""Tables with columns of types that PyIceberg does not know: described as their metadata writes them, and changed by the engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyiceberg.exceptions import ValidationError
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField, StringType

from glacierbase.errors import NotPlain
from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from glacierbase.executors.pyiceberg.glue import GlueCatalog
from glacierbase.executors.pyiceberg.metadata import parsed
from glacierbase.executors.pyiceberg.shape import ShapeReader, shape_from_json
from glacierbase.model.shape import Column
from glacierbase.sql import read
from glacierbase.sql.dialects import SPARK
from tests.support.catalog_files import LAKE
from tests.support.hostileserver import CATALOG, HostileServer, hostile_server, metadata_file
from tests.support.program import ask_here
from tests.support.project_folder import ProjectFolder, only_catalog

# https://iceberg.apache.org/spec/#primitive-types, as JSON, and a type of a specification to come. PyIceberg knows some of them.
PRIMITIVE = (
    "variant", "geometry", "geometry(srid:4326)", "geography", "geography(srid:4326)", "geography(srid:4326,vincenty)",
    "timestamp_ns", "timestamptz_ns", "unknown", "interval_of_2031", "time", "uuid", "fixed[16]", "decimal(9, 2)",
)  # fmt: skip
UNKNOWN = ("variant", "geometry(srid:4326)", "geography(srid:4326,vincenty)", "interval_of_2031")
NAMED_AS_IN_SPARK = {"fixed[16]": "fixed(16)", "decimal(9, 2)": "decimal(9,2)"}
WRAPPERS: tuple[tuple[Any, str], ...] = (
    ("{}", "{}"),
    ({"type": "list", "element-id": 11, "element": "{}", "element-required": False}, "array<{}>"),
    ({"type": "map", "key-id": 11, "key": "string", "value-id": 12, "value": "{}", "value-required": False}, "map<string,{}>"),
    ({"type": "struct", "fields": [{"id": 11, "name": "in", "required": False, "type": "{}"}]}, "struct<in:{}>"),
)  # fmt: skip
# Defaults by https://iceberg.apache.org/spec/#json-single-value-serialization.
DEFAULTS: tuple[tuple[Any, Any], ...] = (
    ("int", 5), ("string", "it's"), ("boolean", True), ("double", 1.5), ("decimal(9, 2)", "14.20"), ("date", "2017-11-16"),
    ("time", "22:31:08.123456"), ("timestamp", "2017-11-16T22:31:08.123456"),
    ("timestamptz", "2017-11-16T22:31:08.123456+00:00"), ("timestamp_ns", "2017-11-16T22:31:08.123456789"),
    ("timestamptz_ns", "2017-11-16T22:31:08.123456789+00:00"), ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
    ("fixed[2]", "000f"), ("binary", "000fff"), ("interval_of_2031", {"days": [1]}),
    ({"type": "struct", "fields": []}, {}), ({"type": "list", "element-id": 11, "element": "int", "element-required": False}, []),
)  # fmt: skip


def filled(pattern: Any, name: str) -> Any:
    return json.loads(json.dumps(pattern).replace("{}", name)) if isinstance(pattern, dict) else name


def document(type_: Any, **more: Any) -> dict[str, Any]:
    """Return the metadata of a table of format version 3 with the columns `id` and `x`, partitioned by `id`."""
    fields = [
        {"id": 1, "name": "id", "required": True, "type": "int"},
        {"id": 2, "name": "x", "required": False, "type": type_, **more},
    ]
    schema = {"type": "struct", "schema-id": 0, "fields": fields}
    partitioned = {"spec-id": 0, "fields": [{"field-id": 1000, "source-id": 1, "name": "id", "transform": "identity"}]}
    return {
        "format-version": 3, "table-uuid": "11111111-1111-4111-8111-111111111111", "location": "file:///lake/t",
        "last-sequence-number": 0, "last-updated-ms": 1, "last-column-id": 20, "next-row-id": 0,
        "schemas": [schema], "current-schema-id": 0, "partition-specs": [partitioned], "default-spec-id": 0,
        "last-partition-id": 1000, "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0,
        "properties": {"owner": "me"}, "snapshots": [], "snapshot-log": [], "metadata-log": [],
    }  # fmt: skip


def column_x(metadata: dict[str, Any]) -> Column:
    shape = shape_from_json("lake.a.t", json.dumps(metadata))
    assert [str(field.source) for field in shape.partitioning] == ["id"]
    return next(column for column in shape.columns if column.name == "x")


def rewrite(client: Any, type_: Any, name: str = "a.t") -> Path:
    """Give the column `x` of a table another type, as a client that knows the type would, and return the metadata file."""
    file = metadata_file(client.load_table(name))
    metadata = json.loads(file.read_text()) | {"format-version": 3, "next-row-id": 0}
    next(field for field in metadata["schemas"][0]["fields"] if field["name"] == "x")["type"] = type_
    file.write_text(json.dumps(metadata))
    return file


@pytest.fixture
def kept(project: ProjectFolder) -> ProjectFolder:
    """A catalog with the tables `lake.a.t`, whose column `x` is a variant, and `lake.a.u`."""
    text = LAKE.replace("WAREHOUSE", str(project.root / "warehouse")).replace(
        "type: spark\n", "type: spark\n  direct: auto\n"
    )
    project.catalog(text)
    with closing(PyIcebergCatalogs(only_catalog(project.root))) as lakes:
        client = lakes.open("lake")
        client.create_namespace("a")
        for name in ("a.t", "a.u"):
            columns = Schema(NestedField(1, "id", IntegerType()), NestedField(2, "x", StringType()))
            client.create_table(name, columns, properties={"format-version": "2"})
        rewrite(client, "variant")
    return project


@pytest.mark.parametrize("name", PRIMITIVE)
@pytest.mark.parametrize(("pattern", "shown"), WRAPPERS)
def test_a_type_is_described_as_its_metadata_writes_it(name: str, pattern: Any, shown: str) -> None:
    """At the top, and inside lists, maps and structs; the other parts of the table are described, too."""
    type_ = column_x(document(filled(pattern, name))).type
    assert type_ == shown.format(NAMED_AS_IN_SPARK.get(name, name))


@pytest.mark.parametrize(("type_", "default"), DEFAULTS)
def test_a_default_is_described_as_its_metadata_writes_it(type_: Any, default: Any) -> None:
    """For new rows, as JSON, also where PyIceberg reads no default of the type."""
    metadata = document(type_, **{"initial-default": default, "write-default": default})
    assert json.loads(column_x(metadata).default or "null") == default


@pytest.mark.parametrize("name", ["variant", "string"])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda metadata: metadata.update(schemas=7),
        lambda metadata: metadata.pop("location"),
        lambda metadata: metadata["schemas"][0]["fields"][0].update(type={"type": "list"}),
        lambda metadata: metadata["schemas"][0]["fields"][0].update(type=None),
        lambda metadata: metadata["schemas"][0]["fields"][0].update(id="one"),
        lambda metadata: metadata["schemas"][0]["fields"].append([]),
        lambda metadata: metadata["partition-specs"][0]["fields"][0].update(transform=3),
    ],
)
def test_metadata_that_is_invalid_in_another_way_is_refused(spoil: Callable[[Any], object], name: str) -> None:
    """The error is PyIceberg's, with an unknown type beside it or without one."""
    metadata = document(name)
    spoil(metadata)
    with pytest.raises(ValidationError):
        parsed(json.dumps(metadata))


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_server_sends_a_table_with_an_unknown_type(name: str, project: ProjectFolder) -> None:
    """The table is read from the answer of a REST catalog, with the other tables."""
    with hostile_server() as server:
        project.catalog(CATALOG.replace("ADDRESS", server.address))
        server.tables = {"t": document(name), "u": document("string")}
        with closing(ShapeReader(only_catalog(project.root))) as reader:
            shapes = [reader.read(f"lake.a.{table}") for table in ("t", "u")]
    assert [shape and shape.columns[1].type for shape in shapes] == [name, "string"]
    assert asked(server) == 3, "an answer that PyIceberg reads is requested once"


def asked(server: HostileServer) -> int:
    return sum("/tables/" in request for request in server.requests)


def test_glue_reads_a_table_with_an_unknown_type(tmp_path: Path) -> None:
    """From the file that it names."""
    file = tmp_path / "1.metadata.json"
    file.write_text(json.dumps(document("variant")))
    parameters = {"table_type": "ICEBERG", "metadata_location": f"file://{file}"}
    glue = GlueCatalog("lake", client=SimpleNamespace())
    table = glue._convert_glue_to_iceberg({"DatabaseName": "a", "Name": "t", "Parameters": parameters})
    assert (table.name(), str(table.schema().find_type("x"))) == (("a", "t"), "variant")


@pytest.mark.parametrize(
    ("type_", "says"),
    [
        ("variant", "does not know the type variant"),
        ({"type": "list", "element-id": 3, "element": "variant", "element-required": False}, "does not know the type variant"),
        ("string", None),
    ],
)  # fmt: skip
def test_a_table_with_an_unknown_type_is_not_changed_directly(
    kept: ProjectFolder, type_: Any, says: str | None
) -> None:
    """Whatever the change: PyIceberg would write the whole metadata again."""
    name = read("ALTER TABLE lake.a.t ADD COLUMN y int", SPARK.name).targets[0]
    with closing(PyIcebergCatalogs(only_catalog(kept.root))) as lakes:
        rewrite(lakes.open("lake"), type_)
        if says is None:
            assert lakes.table(name).schema().find_type("x") == StringType()
            return
        with pytest.raises(NotPlain, match=says):
            lakes.table(name)


def test_a_default_that_is_kept_is_not_changed_directly(kept: ProjectFolder) -> None:
    """PyIceberg does not write a default of such a type."""
    name = read("ALTER TABLE lake.a.u ADD COLUMN y int", SPARK.name).targets[0]
    with closing(PyIcebergCatalogs(only_catalog(kept.root))) as lakes:
        file = rewrite(lakes.open("lake"), "timestamp_ns", "a.u")
        metadata = json.loads(file.read_text())
        metadata["schemas"][0]["fields"][1]["write-default"] = "2017-11-16T22:31:08.123456789"
        file.write_text(json.dumps(metadata))
        with pytest.raises(NotPlain, match="does not write the metadata"):
            lakes.table(name)


def test_a_plan_names_the_engine_that_a_table_needs(kept: ProjectFolder) -> None:
    """By the metadata of the table; a file of other tables stays direct, and nothing is written."""
    kept.file("0001_t.sql", "DROP TABLE IF EXISTS lake.a.gone;\nALTER TABLE lake.a.t ADD COLUMN y int")
    kept.file("0002_u.sql", "ALTER TABLE lake.a.u ADD COLUMN y int;\nCREATE TABLE lake.a.new (id int)")
    before = sorted(kept.root.rglob("*"))
    first, second = ask_here(kept, "plan").entry()["plan"]
    assert (first["engine"], second["engine"], second["needs_engine"]) == ("spark", "direct", None)
    assert first["needs_engine"] == "statement 2: lake.a.t: PyIceberg does not know the type variant"
    assert sorted(kept.root.rglob("*")) == before


def test_a_catalog_with_an_unknown_type_is_adopted_whole(kept: ProjectFolder) -> None:
    """`import tables` writes the type, and `drift` compares the table after `baseline`."""
    done = ask_here(kept, "import", "tables", "lake.a.*", "--author", "Data Platform")
    assert done.code == 0, done.stderr
    [text] = [path.read_text() for path in kept.root.glob("migrations/shop/*_lake_a_t.sql")]
    assert "`x` variant" in text
    assert ask_here(kept, "baseline", "--to", "2", "--reason", "they exist", "--yes").code == 0
    with closing(PyIcebergCatalogs(only_catalog(kept.root))) as lakes:
        rewrite(lakes.open("lake"), "geometry(srid:4326)")
    drifted = ask_here(kept, "drift")
    [found] = drifted.entry()["drifts"]
    assert (drifted.code, found["table"], found["expected"], found["actual"]) == (
        7,
        "lake.a.t",
        "variant",
        "geometry(srid:4326)",
    )
