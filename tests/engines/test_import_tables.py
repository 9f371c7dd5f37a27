"""`import tables` on real engines: the files create the same tables anew, `baseline` proves them, and `drift` says nothing."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

import pytest

from glacierbase import Project
from glacierbase.declared.writer import creation
from glacierbase.executors.pyiceberg.shape import ShapeReader
from glacierbase.migrations.statements import split_statements
from glacierbase.model.shape import Shape
from tests.engines.test_creates import EVOLVED, WHOLE
from tests.engines.test_migrate_delta import with_delta
from tests.support.beds import LakeBed, SnowBed, WebBed
from tests.support.one_engine import steps_of
from tests.support.project_folder import ProjectFolder
from tests.support.shapes import comparable

ENVIRONMENTS = "environments: {full: {store: {namespace: FULL}}, empty: {store: {namespace: EMPTY}}}\n"
WHO = ("--author", "Data Platform")
# The columns and the rest of CREATE TABLE, and what is altered afterwards.
ICEBERG: dict[str, Sequence[str]] = {
    "(id int) USING iceberg TBLPROPERTIES ('format-version' = '1')": (),
    "(id bigint NOT NULL, at timestamp, local timestamp_ntz, day date, ok boolean, raw binary, f float, d double,"
    " amount decimal(38, 18)) USING iceberg PARTITIONED BY (bucket(16, id), months(at), truncate(4, amount))"
    " COMMENT 'it''s {{ x }} ${y}' TBLPROPERTIES ('format-version' = '2', 'acme.note' = 'a\\nb')": (
        "SET IDENTIFIER FIELDS id", "WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY day DESC NULLS LAST, bucket(4, id)",
    ),
    "(s struct<a: int NOT NULL COMMENT 'x', b: array<struct<c: string>>>, m map<string, array<int>>, `odd name` string)"
    " USING iceberg PARTITIONED BY (s.a) TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read')": (),
    "(id int) USING iceberg": ("UNSET TBLPROPERTIES ('write.parquet.compression-codec')",),
    **EVOLVED,
}  # fmt: skip


def configured(project: ProjectFolder, text: str) -> None:
    """Write a catalog file with two environments, whose histories are new."""
    environments = ENVIRONMENTS.replace("FULL", f"f{uuid.uuid4().hex[:8]}").replace("EMPTY", f"e{uuid.uuid4().hex[:8]}")
    project.catalog(text + environments)


def test_iceberg_tables_of_every_shape(project: ProjectFolder, lake: LakeBed) -> None:
    """Format versions 1 to 3, nested types, transforms, sort orders, identifiers, tables that have evolved."""
    namespace = f"i{uuid.uuid4().hex[:8]}"
    configured(project, lake.text)
    names = [f"lake.{namespace}.t{number}" for number in range(len(ICEBERG))]
    with closing(lake.executor.open_session()) as session, closing(ShapeReader(lake.catalog)) as reader:
        session.execute(f"CREATE NAMESPACE lake.{namespace}")
        for name, (create, alters) in zip(names, ICEBERG.items(), strict=True):
            for sql in (f"CREATE TABLE {name} {create}", *(f"ALTER TABLE {name} {alter}" for alter in alters)):
                session.execute(sql)

        def shapes() -> dict[str, Shape]:
            return {name: comparable(shape) for name in names if (shape := reader.read(name))}

        full = Project.load(project.root, environment="full")
        [done] = full.import_tables([f"lake.{namespace}.*"], author="Ann", reason="adopted", spark=lake.spark)
        assert (done.not_exact, done.warnings) == ((), ())
        assert len(done.files) == len(done.baselined) == len(names)
        unset = [text for file in done.files if "UNSET" in (text := (project.root / file.path).read_text("utf-8"))]
        assert all("-- Iceberg gives every new table these properties" in text for text in unset)
        assert unset
        [drift] = full.drift(tables=[f"lake.{namespace}.*"], spark=lake.spark)
        assert (drift.drifts, drift.compared, drift.unmanaged) == ((), len(names), ())
        before = shapes()
        for sql in (*(f"DROP TABLE {name}" for name in names), f"DROP NAMESPACE lake.{namespace}"):
            session.execute(sql)
        Project.load(project.root, environment="empty").migrate(spark=lake.spark)
        assert len(before) == len(names)
        assert shapes() == before
    assert {result.error for result in full.validate()} == {None}


def test_the_whole_shape_is_imported(project: ProjectFolder, lake: LakeBed) -> None:
    """Hostile comments, properties and names are those of the table that exists."""
    namespace = f"w{uuid.uuid4().hex[:8]}"
    configured(project, lake.text)
    name = f"lake.{namespace}.t"
    with closing(lake.executor.open_session()) as session:
        session.execute(f"CREATE NAMESPACE lake.{namespace}")
        for sql in creation(replace(WHOLE, table=name)).statements:
            session.execute(sql)
    full = Project.load(project.root, environment="full")
    [done] = full.import_tables([name], author="Ann", reason="adopted", spark=lake.spark)
    assert (done.not_exact, len(done.baselined)) == ((), 1)
    [drift] = full.drift(tables=[name], spark=lake.spark)
    assert (drift.drifts, drift.compared) == ((), 1)


def test_requests_to_a_rest_catalog(project: ProjectFolder, web: WebBed) -> None:
    """Each table is loaded once to be written, and without an engine; its namespace is listed by two requests."""
    namespace, count = f"r{uuid.uuid4().hex[:8]}", 12
    configured(project, web.text)
    with closing(web.executor.open_session()) as session:
        session.execute(f"CREATE NAMESPACE lake.{namespace}")
        for number in range(count):
            session.execute(f"CREATE TABLE lake.{namespace}.t{number} (id int) USING iceberg")
    full = Project.load(project.root, environment="full")
    web.server.requests.clear()
    [done] = full.import_tables([f"lake.{namespace}.*"], author="Ann")
    inside = [request for request in web.server.requests if f"namespaces/{namespace}" in request]
    loads = [request for request in inside if "/tables/t" in request]
    assert len(done.files) == count
    assert sorted(loads) == sorted(f"GET /v1/namespaces/{namespace}/tables/t{number}" for number in range(count))
    assert [request for request in inside if request not in loads] == [f"GET /v1/namespaces/{namespace}/tables"]
    web.server.requests.clear()
    [recorded] = full.import_tables([f"lake.{namespace}.*"], author="Ann", reason="adopted")
    loads = [request for request in web.server.requests if f"{namespace}/tables/t" in request]
    assert len(recorded.baselined) == count
    assert len(loads) <= 3 * count


def test_views_get_files_that_replace_them(project: ProjectFolder, lake: LakeBed) -> None:
    """The statements of the file make the same view, also where its query has names without a catalog."""
    namespace = f"v{uuid.uuid4().hex[:8]}"
    configured(project, lake.text)
    made = (
        f"CREATE NAMESPACE lake.{namespace}",
        f"USE lake.{namespace}",
        "CREATE TABLE t (id int, b string) USING iceberg",
        "INSERT INTO t VALUES (1, 'x'), (2, 'a;b')",
        f"CREATE VIEW v (a COMMENT 'it''s {{{{ a }}}}', b) COMMENT 'c' TBLPROPERTIES ('x' = 'y') AS SELECT id, b FROM"
        f" lake.{namespace}.t WHERE b <> 'a;b'",
        "CREATE VIEW `odd name` AS SELECT v.a AS id FROM v JOIN t ON v.a = t.id",
    )
    with closing(lake.executor.open_session()) as session:
        for sql in made:
            session.execute(sql)
        full = Project.load(project.root, environment="full")
        [done] = full.import_tables([f"lake.{namespace}.*"], author="Ann", spark=lake.spark)
        folder = f"migrations/shop/repeatable/{namespace}"
        assert [file.path for file in done.files][1:] == [f"{folder}_odd_name.sql", f"{folder}_v.sql"]
        assert "--to" in done.next
        described = [session.query(f"DESCRIBE TABLE lake.{namespace}.{name}") for name in ("v", "`odd name`")]
        for file in done.files[1:]:
            text = (project.root / file.path).read_text()
            assert text.startswith(f"-- MIGRATION_DESCRIPTION: Create {file.table}\n-- MIGRATION_AUTHOR: Ann\n")
            assert "location" not in text
            assert ("AFTER" in text) is ("odd" in file.path)
            rendered = text.replace("{{ '{' }}", "{")
            for before in (
                "SELECT 1",
                f"DROP VIEW lake.{namespace}.{'v' if file.path.endswith('_v.sql') else '`odd name`'}",
            ):
                with closing(lake.executor.open_session()) as other:
                    for sql in (before, *(each.text for each in split_statements(rendered, "spark"))):
                        other.execute(sql)
        assert [session.query(f"DESCRIBE TABLE lake.{namespace}.{name}") for name in ("v", "`odd name`")] == described
        assert session.query(f"SELECT * FROM lake.{namespace}.v") == [(1, "x")]
        assert session.query(f"SELECT * FROM lake.{namespace}.`odd name`") == [(1,)]
        assert f"-- MIGRATION_AFTER: {namespace}_v\n" in (project.root / f"{folder}_odd_name.sql").read_text()


DELTA = (
    "CREATE TABLE a (id BIGINT NOT NULL COMMENT 'the key', tiny TINYINT, code VARCHAR(10), at TIMESTAMP, s STRUCT<x: INT, y:"
    " ARRAY<STRING>>, m MAP<STRING, DECIMAL(9, 2)>) USING delta PARTITIONED BY (code) COMMENT 'it''s'"
    " TBLPROPERTIES ('x' = 'a b', 'delta.appendOnly' = 'true')",
    "CREATE TABLE b (id BIGINT, a STRING) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    "ALTER TABLE b RENAME COLUMN a TO `odd name`",
    "CREATE TABLE c (id INT, n INT) USING delta TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
    "ALTER TABLE c ALTER COLUMN n SET DEFAULT 7",
    "ALTER TABLE c ADD CONSTRAINT positive CHECK (n > 0)",
    "CREATE TABLE d (id INT, s STRUCT<x: INT>) USING delta CLUSTER BY (id, s.x)",
)


@pytest.mark.delta
def test_delta_tables(project: ProjectFolder) -> None:
    """The tables of Spark's session catalog, which only the engine lists and reads."""
    place = f"      spark.sql.warehouse.dir: {project.root / 'spark'}\n"
    text = with_delta(project.root / "warehouse").replace("    sparkConf:\n", f"    sparkConf:\n{place}")
    configured(
        project, text.replace("store: {catalog: lake}\n", "") + "store: {catalog: lake}\ndefaultEnvironment: full\n"
    )
    imported = (
        "import",
        "tables",
        "spark_catalog.*",
        *WHO,
        "--baseline",
        "--reason",
        "adopted",
        "--yes",
        "--format",
        "json",
    )
    outputs = steps_of(project, [
        *(("sql", sql) for sql in DELTA),
        ("import", "tables", "--list", "--format", "json"),
        imported,
        ("drift", "--fail-on", "any", "--format", "json"),
        *(("sql", f"DROP TABLE {name}") for name in "abcd"),
        ("migrate", "--env", "empty"),
        ("compare", "full", "empty", "--exit-code", "--format", "json"),
    ])  # fmt: skip
    listed, done, drift, migrated, compared = outputs
    assert {each["table"]: each["state"] for each in listed.entry()["tables"]} == dict.fromkeys(
        (f"spark_catalog.default.{name}" for name in "abcd"), "new"
    )
    assert done.code == 0, done.document["error"]["message"]
    assert (len(done.entry()["files"]), len(done.entry()["baselined"])) == (4, 4)
    assert done.entry()["not_exact"] == []
    assert (drift.code, drift.entry()["drifts"], drift.entry()["compared"]) == (0, [], 4)
    assert migrated.code == 0, migrated.stderr
    assert {each["table"]: (each["verdict"], each["differences"]) for each in compared.entry()["tables"]} == {
        f"spark_catalog.default.{name}": ("equal", []) for name in "abcd"
    }


def test_snowflake_tables(project: ProjectFolder, emulated: SnowBed) -> None:
    """Names in capitals and quoted ones, types, NOT NULL, defaults, comments and primary keys."""
    schema = emulated.schema()
    project.catalog(
        emulated.text
        + ENVIRONMENTS.replace("FULL", f"f{uuid.uuid4().hex[:8]}").replace("EMPTY", f"e{uuid.uuid4().hex[:8]}")
        + f"store: {{catalog: {emulated.catalog.store.catalog}}}\n"
    )
    session = emulated.executor.open_session()
    session.execute(
        f"CREATE TABLE {schema}.orders (id INT PRIMARY KEY, a VARCHAR NOT NULL COMMENT 'it''s', b NUMBER(12, 2) DEFAULT 5,"
        ' "Mixed" BOOLEAN, ordered_at TIMESTAMP_NTZ, d VARIANT)'
    )
    session.execute(f'CREATE TABLE {schema}."odd name" (id INT)')
    session.execute(f"CREATE VIEW {schema}.v AS SELECT id FROM {schema}.orders")
    full = Project.load(project.root, environment="full")
    [listed] = full.import_tables([f"{schema}.*"], list_only=True)
    assert {found.table: (found.kind, str(found.state)) for found in listed.tables} == {
        f"{schema}.ORDERS": ("table", "new"), f'{schema}."odd name"': ("table", "new"), f"{schema}.V": ("view", "new"),
    }  # fmt: skip
    [done] = full.import_tables([f"{schema}.orders", f"{schema}.*odd*"], author="Ann", reason="adopted")
    assert (done.not_exact, len(done.files), len(done.baselined)) == ((), 2, 2)
    [drift] = full.drift()
    assert (drift.drifts, drift.compared) == ((), 2)
    with closing(emulated.executor.open_session()) as other:
        before = [other.shape(f"{schema}.ORDERS"), other.shape(f'{schema}."odd name"')]
        for sql in (f"DROP VIEW {schema}.v", f"DROP TABLE {schema}.orders", f'DROP TABLE {schema}."odd name"'):
            other.execute(sql)
        Project.load(project.root, environment="empty").migrate()
        assert [other.shape(f"{schema}.ORDERS"), other.shape(f'{schema}."odd name"')] == before
