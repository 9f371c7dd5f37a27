"""The catalog to which history and lock belong: one spelling for each, and none for two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.glue import GlueCatalog as PyIcebergGlue

from glacierbase.catalogs.declared_catalogs import HADOOP
from glacierbase.executors.pyiceberg.glue import GlueCatalog
from glacierbase.model.catalog import Catalog
from glacierbase.stores.origin import DELETES, TableOrigin, table_origin

SPARK_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
Settings = dict[str, str]


def declared(catalog: Catalog, settings: Settings, **conf: str) -> Catalog:
    """Return the catalog with other settings of the catalog of history and lock."""
    lake = {f"spark.sql.catalog.lake.{key}": value for key, value in settings.items()}
    return replace(catalog, spark_conf={"spark.sql.catalog.lake": SPARK_CATALOG, **lake, **conf})


def placed(catalog: Catalog, settings: Settings) -> str | None:
    return table_origin(declared(catalog, settings), "history_shop").table


def jdbc(uri: str, **more: str) -> Settings:
    return {"type": "jdbc", "uri": f"jdbc:{uri}", **more}


SAME: list[tuple[Settings, Settings]] = [
    (jdbc("sqlite:/a/b.db?busy_timeout=1"), jdbc("sqlite:file:/a/x/../b.db")),
    (jdbc("sqlite:b.db"), jdbc(f"sqlite:{Path.cwd()}/b.db")),
    (jdbc("postgresql://ann:secret@DB/x"), jdbc("postgresql://db:5432/x?ssl=true", **{"jdbc.user": "bob"})),
    (
        jdbc("postgresql://db/x"),
        {"catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog", "uri": "jdbc:postgresql://db/x"},
    ),
    (jdbc("postgresql:x"), jdbc("postgresql://localhost/x")),
    (jdbc("mysql://db:3306/x"), jdbc("mysql://db/x", warehouse="s3://elsewhere")),
    ({"type": "rest", "uri": "https://ann:secret@h:443/api/"}, {"type": "rest", "uri": "https://H/api?token=secret"}),
    ({"type": "rest", "uri": "http://h", "credential": "a:b"}, {"type": "REST", "uri": "http://h", "token": "secret"}),
    ({"type": "hive", "uri": "thrift://a:9083,thrift://b"}, {"uri": "thrift://b:9083,thrift://a"}),
    ({"type": "glue", "glue.id": "1"}, {"type": "glue", "glue.id": "1", "s3.endpoint": "http://h"}),
    ({"type": "hadoop", "warehouse": "file:///a/b/"}, {"catalog-impl": HADOOP, "warehouse": "/a/b"}),
    (
        {"type": "nessie", "uri": "http://h", "ref": "a"},
        {"type": "nessie", "uri": "http://h/", "ref": "a", "password": "x"},
    ),
]
OTHER: list[tuple[Settings, Settings]] = [
    (jdbc("sqlite:/a/b.db"), jdbc("sqlite:/a/c.db")),
    (jdbc("postgresql://db/x"), jdbc("postgresql://db/y")),
    (jdbc("postgresql://db/x"), jdbc("postgresql://db:5433/x")),
    (jdbc("postgresql://db/x"), jdbc("postgresql://copy/x")),
    (jdbc("postgresql://db/x"), jdbc("mysql://db/x")),
    (jdbc("postgresql://db/x"), jdbc("postgresql://db/x?currentSchema=y")),
    (jdbc("postgresql://db/x"), jdbc("postgresql://db/x", **{"jdbc.currentSchema": "y"})),
    ({"type": "rest", "uri": "http://h/a"}, {"type": "rest", "uri": "http://h/b"}),
    ({"type": "rest", "uri": "http://h"}, {"type": "rest", "uri": "http://h", "prefix": "branch"}),
    ({"type": "rest", "uri": "http://h", "warehouse": "a"}, {"type": "rest", "uri": "http://h", "warehouse": "b"}),
    ({"type": "hive", "uri": "thrift://a"}, {"type": "hive", "uri": "thrift://b"}),
    ({"type": "glue", "glue.id": "1"}, {"type": "glue", "glue.id": "2"}),
    ({"type": "glue", "glue.id": "1"}, {"type": "glue", "glue.id": "1", "client.region": "eu-west-1"}),
    ({"type": "hadoop", "warehouse": "/a/b"}, {"type": "hadoop", "warehouse": "/a/c"}),
    ({"type": "hadoop", "warehouse": "hdfs://a/b"}, {"type": "hadoop", "warehouse": "hdfs://c/b"}),
    ({"type": "nessie", "uri": "http://h", "ref": "a"}, {"type": "nessie", "uri": "http://h", "ref": "b"}),
]
UNKNOWN: list[Settings] = [
    jdbc("oracle:thin:ann/secret@db:1521/x"),
    {"type": "rest"},
    {"type": "hive"},
    {"type": "glue"},
    {"type": "hadoop"},
    {"catalog-impl": "com.example.Catalog", "address": "ann/secret@db"},
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_two_spellings_of_one_catalog_are_the_same(one: Settings, two: Settings, iceberg_catalog: Catalog) -> None:
    """Login, parameters, capitals of a host, default ports and relative paths do not matter, and no login is in the text."""
    place = placed(iceberg_catalog, one)
    assert place == placed(iceberg_catalog, two) != None  # noqa: E711 (a chain)
    assert "secret" not in str(place)


@pytest.mark.parametrize(("one", "two"), OTHER)
def test_two_catalogs_are_not_the_same(one: Settings, two: Settings, iceberg_catalog: Catalog) -> None:
    """A copy of a database, another branch, account, region or folder is another catalog."""
    assert placed(iceberg_catalog, one) != placed(iceberg_catalog, two)


@pytest.mark.parametrize("settings", UNKNOWN)
def test_where_the_catalog_is_not_known_nothing_is_deleted(settings: Settings, iceberg_catalog: Catalog) -> None:
    """Not even files of a table that was made there, and nothing is said: nobody can change it."""
    unknown = table_origin(declared(iceberg_catalog, settings), "history_shop")
    assert unknown.table is None
    assert not unknown.may_delete(unknown.properties)
    assert unknown.properties[DELETES] == "false"
    assert unknown.other({}) is None


def test_the_server_of_spark_connect_is_the_catalog_that_it_configures(iceberg_catalog: Catalog) -> None:
    """A catalog file has only the address of the server then, whose token is left out."""
    remote = replace(iceberg_catalog, spark_conf={"spark.remote": "sc://h:15002/;token=secret"})
    assert table_origin(remote, "history_shop").table == "connect sc://h:15002 lake glacierbase.history_shop"


@pytest.mark.parametrize(
    ("properties", "is_own", "may_delete"),
    [
        ({}, False, False),
        ({"glacierbase.catalog": "here"}, True, True),
        ({"glacierbase.catalog": "there"}, False, False),
        ({"glacierbase.catalog": "here", "glacierbase.catalog-server": "main"}, True, True),
        ({"glacierbase.catalog": "here", "glacierbase.catalog-server": "other"}, False, False),
        ({"glacierbase.catalog": "here", "gc.enabled": "false"}, True, False),
    ],
)
def test_files_are_deleted_only_where_a_table_names_its_catalog(
    properties: Settings, is_own: bool, may_delete: bool
) -> None:
    """A table without the property may be anybody's; what its server says counts where it was recorded."""
    here = TableOrigin("here", "main")
    assert (here.is_own(properties), here.may_delete(properties)) == (is_own, may_delete)
    after = properties | here.changes(properties)
    assert after[DELETES] == ("true" if may_delete else "false")
    assert here.changes(after) == {}
    assert (here.other(properties) is None) is is_own


def test_the_account_that_answers_belongs_to_a_catalog_of_glue(
    iceberg_catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A profile of AWS chooses it, where the catalog file names none."""
    glue: Any = object.__new__(GlueCatalog)
    glue.glue = type("Client", (), {"meta": type("Meta", (), {"region_name": "eu-west-1"})})
    monkeypatch.setattr(PyIcebergGlue, "_get_glue_table", lambda *_: {"CatalogId": "12"})
    glue._get_glue_table("glacierbase", "history_shop")
    assert glue.server == "12 eu-west-1"
    made = table_origin(declared(iceberg_catalog, {"type": "glue"}), "history_shop", glue.server)
    assert made.is_own(made.properties)
    assert not replace(made, server="13 eu-west-1").is_own(made.properties)
