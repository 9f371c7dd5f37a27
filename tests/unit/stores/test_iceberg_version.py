"""The version of a user's table as the store through PyIceberg reads it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from glacierbase.executors import STATEMENT_TAG
from glacierbase.history.lockrow import Terms, free_row
from glacierbase.model.catalog import Catalog
from glacierbase.model.shape import TableVersion
from glacierbase.run.waiting import CALL_SECONDS
from glacierbase.stores.iceberg import IcebergStore, open_store

LAKE = "spark.sql.catalog.lake"


@pytest.fixture
def store(iceberg_catalog: Catalog) -> IcebergStore:
    """A store with existing tables."""
    store = open_store(iceberg_catalog)
    store.create(free_row(Terms("shop", "default", 60)))
    return store


@pytest.fixture
def vendor(iceberg_catalog: Catalog, store: IcebergStore) -> SqlCatalog:
    """The store's catalog, opened by another client, with the namespace `a`."""
    file = iceberg_catalog.spark_conf[f"{LAKE}.uri"].removeprefix("jdbc:sqlite:").partition("?")[0]
    vendor = SqlCatalog("lake", uri=f"sqlite:///{file}", warehouse=iceberg_catalog.spark_conf[f"{LAKE}.warehouse"])
    vendor.create_namespace("a")
    return vendor


ROWS = pyarrow.table({"a": pyarrow.array([1], pyarrow.int64())})


def create(vendor: SqlCatalog, version: str = "2") -> Any:
    return vendor.create_table("a.t", ROWS.schema, properties={"format-version": version})


def test_every_commit_makes_a_version_that_names_the_one_before(vendor: SqlCatalog, store: IcebergStore) -> None:
    """Metadata alone makes one too; only a snapshot moves the sequence, and names its statement."""
    table = create(vendor)
    first = store.table_version("lake.a.t")
    table.append(ROWS, snapshot_properties={STATEMENT_TAG: "tag"})
    second = store.table_version("lake.a.t")
    with table.transaction() as transaction:
        transaction.set_properties(x="y")
    third = store.table_version("lake.a.t")
    assert first
    assert second
    assert third
    assert (first.sequence, first.previous, first.tag) == (0, None, None)
    assert (second.sequence, second.previous, second.tag) == (1, first.metadata, "tag")
    assert (third.sequence, third.previous) == (1, second.metadata)
    assert {first.uuid, second.uuid, third.uuid} == {str(table.metadata.table_uuid)}
    table.append(ROWS)
    assert (store.table_version("lake.a.t") or third).tag is None


def test_a_table_of_format_version_1_has_no_sequence(vendor: SqlCatalog, store: IcebergStore) -> None:
    """Nothing shows which of its snapshots is new, so a commit proves nothing; no commit still does."""
    create(vendor, "1").append(ROWS, snapshot_properties={STATEMENT_TAG: "tag"})
    found = store.table_version("lake.a.t")
    assert found
    assert (found.sequence, found.tag) == (0, None)


def test_a_table_that_is_created_again_has_another_uuid(vendor: SqlCatalog, store: IcebergStore) -> None:
    """A table that is gone has a version without a metadata file: the store can tell it from a table of another catalog."""
    create(vendor)
    before = store.table_version("lake.a.t")
    vendor.drop_table("a.t")
    assert store.table_version("lake.a.t") == TableVersion.absent("lake.a.t")
    create(vendor)
    after = store.table_version("lake.a.t")
    assert before
    assert after
    assert before.uuid != after.uuid


@pytest.mark.parametrize(
    "name",
    ["t", "a.t", "other.a.t", "LAKE.a.t", "lake.t", "lake.`a.t`", "lake.`a.t`.t", "`lake.a`.t", "", ".", "lake..t"],
)
def test_a_name_that_may_mean_another_table_has_no_version(vendor: SqlCatalog, store: IcebergStore, name: str) -> None:
    """Only catalog, namespace and name say beyond `USE` which table it is."""
    create(vendor)
    assert store.table_version(name) is None


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
    assert open_store(replace(iceberg_catalog, spark_conf=conf)).commit_seconds == seconds


def test_glue_and_hive_set_no_bound() -> None:
    """Neither Glue nor Hive could be tested truthfully, so nothing is concluded from a table there."""
    from glacierbase.executors.iceberg.guard import Guarded
    from glacierbase.executors.iceberg.sql import SqlCatalog as Sql

    assert Guarded.commit_seconds is None
    assert issubclass(Sql, Guarded)
