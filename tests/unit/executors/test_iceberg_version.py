"""The version of a user's table, or of a namespace, as PyIceberg reads it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from glacierbase.executors import STATEMENT_TAG
from glacierbase.executors.direct.table_versions import TableVersions
from glacierbase.model.catalog import Catalog
from glacierbase.model.shape import TableVersion
from glacierbase.run.waiting import CALL_SECONDS

LAKE = "spark.sql.catalog.lake"


@pytest.fixture
def reader(iceberg_catalog: Catalog) -> Iterator[TableVersions]:
    """A reader of the tables of the catalog."""
    with closing(TableVersions(iceberg_catalog)) as reader:
        yield reader


@pytest.fixture
def vendor(iceberg_catalog: Catalog) -> SqlCatalog:
    """The catalog `lake`, opened by another client, with the namespace `a`."""
    file = iceberg_catalog.spark_conf[f"{LAKE}.uri"].removeprefix("jdbc:sqlite:").partition("?")[0]
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    vendor = SqlCatalog("lake", uri=f"sqlite:///{file}", warehouse=iceberg_catalog.spark_conf[f"{LAKE}.warehouse"])
    vendor.create_namespace("a")
    return vendor


ROWS = pyarrow.table({"a": pyarrow.array([1], pyarrow.int64())})


def create(vendor: SqlCatalog, version: str = "2") -> Any:
    return vendor.create_table("a.t", ROWS.schema, properties={"format-version": version})


def test_every_commit_makes_a_version_that_names_the_one_before(vendor: SqlCatalog, reader: TableVersions) -> None:
    """Metadata alone makes one too; only a snapshot moves the sequence, and names its statement."""
    table = create(vendor)
    first = reader.version("lake.a.t")
    table.append(ROWS, snapshot_properties={STATEMENT_TAG: "tag"})
    second = reader.version("lake.a.t")
    with table.transaction() as transaction:
        transaction.set_properties(x="y")
    third = reader.version("lake.a.t")
    assert first
    assert second
    assert third
    assert (first.sequence, first.previous, first.tag) == (0, None, None)
    assert (second.sequence, second.previous, second.tag) == (1, first.metadata, "tag")
    assert (third.sequence, third.previous) == (1, second.metadata)
    assert {first.uuid, second.uuid, third.uuid} == {str(table.metadata.table_uuid)}
    table.append(ROWS)
    assert (reader.version("lake.a.t") or third).tag is None


def test_a_table_of_format_version_1_has_no_sequence(vendor: SqlCatalog, reader: TableVersions) -> None:
    """Nothing shows which of its snapshots is new, so a commit proves nothing; no commit still does."""
    create(vendor, "1").append(ROWS, snapshot_properties={STATEMENT_TAG: "tag"})
    found = reader.version("lake.a.t")
    assert found
    assert (found.sequence, found.tag) == (0, None)


def test_a_table_that_is_created_again_has_another_uuid(vendor: SqlCatalog, reader: TableVersions) -> None:
    """A table that is gone has a version without a metadata file: it can be told from a table that only the engine reads."""
    create(vendor)
    before = reader.version("lake.a.t")
    vendor.drop_table("a.t")
    assert reader.version("lake.a.t") == TableVersion.absent("lake.a.t")
    create(vendor)
    after = reader.version("lake.a.t")
    assert before
    assert after
    assert before.uuid != after.uuid


@pytest.mark.parametrize("store", [{"catalog": "other"}, {"type": "embedded", "catalog": "embedded"}])
def test_a_version_does_not_depend_on_where_history_and_lock_are(
    vendor: SqlCatalog, iceberg_catalog: Catalog, store: dict[str, str]
) -> None:
    """The table is read in the catalog that its name begins with."""
    table = create(vendor)
    with closing(TableVersions(replace(iceberg_catalog, store=replace(iceberg_catalog.store, **store)))) as reader:  # type: ignore[arg-type]
        found = reader.version("lake.a.t")
    assert found
    assert found.metadata == table.metadata_location


def test_a_namespace_has_another_version_for_other_properties(vendor: SqlCatalog, reader: TableVersions) -> None:
    """The version of a namespace that does not exist names no properties."""
    first = reader.version("lake.a", is_namespace=True)
    vendor.update_namespace_properties("a", updates={"p": "1"})
    second = reader.version("lake.a", is_namespace=True)
    assert first
    assert second
    assert (first.exists, second.exists, first.metadata == second.metadata) == (True, True, False)
    assert reader.version("lake.b", is_namespace=True) == TableVersion.absent("lake.b", is_namespace=True)


@pytest.mark.parametrize(
    "name",
    ["t", "a.t", "other.a.t", "LAKE.a.t", "lake.t", "lake.`a.t`", "lake.`a.t`.t", "`lake.a`.t", "", ".", "lake..t"],
)
def test_a_name_that_may_mean_another_table_has_no_version(
    vendor: SqlCatalog, reader: TableVersions, name: str
) -> None:
    """Only catalog, namespace and name say beyond `USE` which table it is."""
    create(vendor)
    assert reader.version(name) is None


REST = {"type": "rest", "uri": "http://localhost"}


@pytest.mark.parametrize(
    ("properties", "seconds"),
    [
        ({"type": "jdbc", "uri": "jdbc:sqlite:/x.db?busy_timeout=30000"}, 0.0),
        ({"type": "jdbc", "uri": "jdbc:postgresql://db/lake"}, 30.0),
        ({"type": "jdbc", "uri": "jdbc:postgresql://db/lake?socketTimeout=90"}, 90.0),
        ({"type": "jdbc", "uri": "jdbc:postgresql://db/lake?socketTimeout=0"}, CALL_SECONDS),
    ],
)
def test_a_commit_to_a_database_is_under_way_no_longer_than_its_time_out(
    properties: dict[str, str], seconds: float, iceberg_catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite runs in the process that has ended. A time-out of 0 has no limit, so the limit of every call counts."""
    monkeypatch.setattr(SqlCatalog, "_init_catalog", lambda self: None)
    more = {"jdbc.schema-version": "V1", "warehouse": "file:///x"}
    conf = {LAKE: iceberg_catalog.spark_conf[LAKE]} | {f"{LAKE}.{k}": v for k, v in (properties | more).items()}
    with closing(TableVersions(replace(iceberg_catalog, spark_conf=conf))) as reader:
        assert reader.commit_seconds("lake.a.t") == seconds


def test_glue_and_hive_set_no_bound() -> None:
    """Neither Glue nor Hive could be tested truthfully, so nothing is concluded from a table there."""
    from glacierbase.executors.pyiceberg.guard import Guarded
    from glacierbase.executors.pyiceberg.sql import SqlCatalog as Sql

    assert Guarded.commit_seconds is None
    assert issubclass(Sql, Guarded)
