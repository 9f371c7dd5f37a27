"""Environments that differ in every way that `compare` names."""

from __future__ import annotations

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import LongType, NestedField, StringType

from glacierbase.model.migration import EventType
from tests.support.fleet import Change, Fleet
from tests.support.project_folder import ProjectFolder

ENVIRONMENTS = (
    "{dev: {variables: {ns: dev, buckets: 4}}, staging: {variables: {ns: live, buckets: 4}},"
    " prod: {variables: {ns: live, buckets: 32}}}"
)
FILES = {
    "0001_orders.sql": (
        "Create the orders",
        "CREATE TABLE lake.{{ variables.ns }}.orders (id BIGINT NOT NULL) USING iceberg"
        " PARTITIONED BY (bucket({{ variables.buckets }}, id))",
    ),
    "0002_users.sql": ("Create the users", "CREATE TABLE lake.a.users (id BIGINT NOT NULL) USING iceberg"),
    "0003_name.sql": ("Name the users", "ALTER TABLE lake.a.users ADD COLUMN name STRING"),
    "0004_step.sql": ("Set a property", "ALTER TABLE lake.a.users SET TBLPROPERTIES ('x'='1')"),
    "0005_drop.sql": ("Drop the legacy column", "ALTER TABLE lake.a.users DROP COLUMN legacy"),
    "0006_hotfix.sql": ("Hotfix", "ALTER TABLE lake.a.users SET TBLPROPERTIES ('y'='1')"),
    "0007_events.sql": ("Create the events", "CREATE TABLE lake.a.events (id BIGINT NOT NULL) USING iceberg"),
}
ID = NestedField(1, "id", LongType(), required=True)


def created(table: str, buckets: int | None = None) -> Change:
    """Return what creates a table of one column, partitioned where `buckets` is given."""

    def create(client: SqlCatalog) -> None:
        client.create_namespace_if_not_exists(table.rpartition(".")[0])
        fields = (
            [PartitionField(source_id=1, field_id=1000, name="id_bucket", transform=BucketTransform(buckets))]
            if buckets
            else []
        )
        client.create_table(table, Schema(ID), partition_spec=PartitionSpec(*fields))

    return create


def added(table: str, column: str) -> Change:
    """Return what adds a column."""

    def add(client: SqlCatalog) -> None:
        with client.load_table(table).update_schema() as update:
            update.add_column(column, StringType())

    return add


def fleet_of(project: ProjectFolder, more: str = "") -> Fleet:
    """Return three environments in which nothing is applied yet, and seven files.

    Args:
        more: further keys of the catalog file.
    """
    for name, (description, sql) in FILES.items():
        project.file(name, sql, description=description)
    return Fleet(project, ENVIRONMENTS, more)


def apply_all(fleet: Fleet) -> None:
    """Apply the files: each of them, from the third on, differs in another way; then alter a table of prod by hand."""
    for name, namespace, buckets in (("dev", "dev", 4), ("staging", "live", 4), ("prod", "live", 32)):
        place = fleet[name]
        place.apply("0001", created(f"{namespace}.orders", buckets))
        place.apply("0002", created("a.users"))
        if name != "prod":
            place.apply("0003", added("a.users", "name"))
        place.apply("0004", checksum="v1:sha256:77ab91" + "0" * 58) if name == "staging" else place.apply("0004")
        if name == "staging":
            place.apply("0005", end=EventType.FAILED, statement_index=1)
        elif name == "dev":
            place.apply("0005")
        if name == "prod":
            place.apply("0006")
        place.apply("0007", created("a.events"))
    (fleet.project.root / "migrations/shop/0006_hotfix.sql").unlink()
    added("a.events", "debug_flag")(fleet["prod"].client)
