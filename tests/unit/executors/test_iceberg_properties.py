"""Which catalogs of Spark's configuration PyIceberg opens, and with which properties."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.errors import ConfigurationError
from glacierbase.executors.pyiceberg.properties import PyIcebergSettings, opening
from glacierbase.model.catalog import Catalog, StoreOptions
from glacierbase.stores.iceberg import can_open

SPARK = "org.apache.iceberg.spark.SparkCatalog"
SESSION = "org.apache.iceberg.spark.SparkSessionCatalog"
S3 = "org.apache.iceberg.aws.s3.S3FileIO"

REST = {"type": "rest", "uri": "https://catalog.example/api"}
GLUE = {"type": "glue", "warehouse": "s3://bucket/lake"}
HIVE = {"type": "hive", "uri": "thrift://metastore:9083", "warehouse": "s3a://bucket/lake", "io-impl": S3}
SQLITE = {
    "type": "jdbc",
    "uri": "jdbc:sqlite:/data/catalog.db",
    "jdbc.schema-version": "V1",
    "warehouse": "file:///data/tables",
}
POSTGRESQL = {**SQLITE, "uri": "jdbc:postgresql://db.example:5433/lake"}
TIMEOUTS = "connect_timeout=10&tcp_user_timeout=30000"


@pytest.fixture(autouse=True)
def every_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of PyIceberg's clients are installed: the configuration alone decides."""
    monkeypatch.setattr("glacierbase.executors.pyiceberg.properties.find_spec", lambda _: True)


def catalog(properties: dict[str, str], implementation: str = SPARK, **conf: str) -> Catalog:
    """A catalog whose history and lock are in Spark's catalog `lake`, which has these properties."""
    declared = {f"spark.sql.catalog.lake.{key}": value for key, value in properties.items()}
    return Catalog(
        name="shop",
        file=Path("shop.yaml"),
        stem="shop",
        environment="dev",
        protected=False,
        executor_type="spark",
        dialect="spark",
        spark_conf={"spark.sql.catalog.lake": implementation, **declared, **conf},
        dependencies=(),
        connection={},
        variables={},
        out_of_order_allowed=False,
        store=StoreOptions("lake", "glacierbase", 60),
    )


def opened(properties: dict[str, str], implementation: str = SPARK, **conf: str) -> PyIcebergSettings:
    return opening(catalog(properties, implementation, **conf))


def refusal(properties: dict[str, str], implementation: str = SPARK, **conf: str) -> str:
    """The message of the error that opening raises."""
    assert not can_open(catalog(properties, implementation, **conf))
    with pytest.raises(ConfigurationError) as caught:
        opened(properties, implementation, **conf)
    assert caught.value.code == "STORE_NOT_ICEBERG"
    return caught.value.message


@pytest.mark.parametrize(
    ("properties", "kind"),
    [
        (REST, "rest"),
        ({"type": "REST", "uri": "http://localhost"}, "rest"),
        ({"catalog-impl": "org.apache.iceberg.rest.RESTCatalog", "uri": "http://localhost"}, "rest"),
        (GLUE, "glue"),
        ({"catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog", "warehouse": "s3://bucket/lake"}, "glue"),
        (HIVE, "hive"),
        ({key: value for key, value in HIVE.items() if key != "type"}, "hive"),
        (SQLITE, "sql"),
        (POSTGRESQL, "sql"),
    ],
)
def test_four_kinds_of_catalog_are_opened_under_sparks_name(properties: dict[str, str], kind: str) -> None:
    """The kind is given by `type`, in any case, or by `catalog-impl`; the default is Hive."""
    assert can_open(catalog(properties))
    found = opened(properties)
    assert (found.kind, found.name) == (kind, "lake")
    assert "type" not in found.properties
    assert "catalog-impl" not in found.properties


@pytest.mark.parametrize(
    ("properties", "implementation", "why"),
    [
        ({"type": "hadoop", "warehouse": "/data"}, SPARK, f"it is {SPARK} of hadoop"),
        ({"catalog-impl": "org.apache.iceberg.nessie.NessieCatalog"}, SPARK, "of org.apache.iceberg.nessie.NessieCatalog"),
        ({}, "org.apache.spark.sql.delta.catalog.DeltaCatalog", "it is org.apache.spark.sql.delta.catalog.DeltaCatalog"),
        ({}, "", "not declared in sparkConf"),
        (REST, SESSION, f"it is {SESSION} of rest"),
        (SQLITE, SESSION, f"it is {SESSION} of jdbc"),
    ],
)  # fmt: skip
def test_no_other_catalog_is_opened(properties: dict[str, str], implementation: str, why: str) -> None:
    """Catalogs that PyIceberg lacks, and those whose namespaces Spark stores elsewhere, are refused."""
    assert why in refusal(properties, implementation)


@pytest.mark.parametrize("properties", [GLUE, HIVE])
def test_sparks_session_catalog_is_opened_where_its_metastore_is(properties: dict[str, str]) -> None:
    """Spark and PyIceberg see the same namespaces in a Glue or Hive metastore."""
    assert opened(properties, SESSION) == opened(properties)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"credential": "id:key", "oauth2-server-uri": "https://login", "scope": "all", "audience": "a"}, None),
        ({"token": "t", "prefix": "p", "header.X-Team": "data"}, None),
        ({"rest.sigv4-enabled": "true", "rest.signing-name": "glue", "rest.signing-region": "eu-west-1"}, None),
        ({"s3.endpoint": "http://minio", "s3.access-key-id": "a", "s3.secret-access-key": "b"}, None),
        ({"s3.session-token": "c", "client.region": "eu-west-1"}, None),
        ({"s3.path-style-access": "true"}, {"s3.force-virtual-addressing": "false"}),
        ({"s3.path-style-access": "false"}, {"s3.force-virtual-addressing": "true"}),
        ({"cache-enabled": "false", "cache.expiration-interval-ms": "1", "io-impl": S3, "clients": "4"}, {}),
        ({"metrics-reporter-impl": "com.example.Reporter", "rest-metrics-reporting-enabled": "false"}, {}),
        ({"rest.auth.type": "oauth2", "token-refresh-enabled": "false", "default-namespace": "web"}, {}),
        ({"table-default.write.parquet.compression-codec": "zstd", "table-override.commit.retry.num-retries": "4"}, {}),
        ({"snapshot-loading-mode": "refs"}, {}),
        ({"rest.client.connection-timeout-ms": "500", "rest.client.socket-timeout-ms": "0"}, None),
    ],
)  # fmt: skip
def test_properties_keep_their_meaning(given: dict[str, str], made: dict[str, str] | None) -> None:
    """The properties are translated to PyIceberg's names; harmless properties are omitted."""
    assert opened({**REST, **given}).properties == {"uri": REST["uri"], **(given if made is None else made)}


@pytest.mark.parametrize(
    ("base", "key", "value"),
    [
        (REST, "io-impl", "com.example.EncryptingFileIO"),
        (REST, "rest.auth.type", "basic"),
        (REST, "rest.client.socket-timeout-ms", "-1"),
        (REST, "rest.client.connection-timeout-ms", "10s"),
        (REST, "rest.client.proxy.hostname", "gate.example"),
        (REST, "s3.sse.key", "arn:aws:kms:1"),
        (REST, "s3.acl", "public-read"),
        (REST, "s3.remote-signing-enabled", "true"),
        (REST, "client.credentials-provider", "com.example.Provider"),
        (REST, "client.factory", "com.example.Factory"),
        (REST, "hadoop.fs.s3a.endpoint", "http://minio"),
        (REST, "http-client.proxy-endpoint", "http://proxy"),
        (REST, "encryption.kms-impl", "com.example.Kms"),
        (REST, "table-default.write.data.path", "s3://elsewhere"),
        (REST, "table-override.encryption.key-id", "vault7"),
        (REST, "glue.id", "1"),
        (GLUE, "lock-impl", "org.apache.iceberg.aws.dynamodb.DynamoDbLockManager"),
        (GLUE, "glue.lakeformation-enabled", "true"),
        (HIVE, "kerberos", "yes"),
    ],
)
def test_a_property_that_is_not_understood_keeps_the_catalog_closed(base: dict[str, str], key: str, value: str) -> None:
    """The property could decide location or access; the message names it without its value."""
    message = refusal({**base, key: value})
    assert key in message
    assert value not in message


@pytest.mark.parametrize(
    ("base", "key"),
    [(REST, "uri"), (GLUE, "warehouse"), (HIVE, "uri"), (HIVE, "warehouse"), (SQLITE, "uri"), (SQLITE, "warehouse")],
)
def test_what_spark_would_take_from_elsewhere_is_missed(base: dict[str, str], key: str) -> None:
    """A property that Spark could read from hive-site.xml is required."""
    assert f"its {key} is not set" in refusal({other: value for other, value in base.items() if other != key})


@pytest.mark.parametrize(
    ("properties", "conf", "why"),
    [
        ({**SQLITE, "warehouse": "hdfs://name/data"}, {}, "neither on S3 nor on this machine"),
        ({**SQLITE, "warehouse": "gs://bucket/data"}, {}, "neither on S3 nor on this machine"),
        ({**SQLITE, "warehouse": "s3a://bucket/data"}, {}, f"set io-impl to {S3}"),
        ({**SQLITE, "warehouse": "/data"}, {"spark.hadoop.fs.defaultFS": "hdfs://name"}, "on another machine"),
        (SQLITE, {"spark.remote": "sc://server"}, "on another machine"),
        ({**SQLITE, "warehouse": "s3://b/d", "io-impl": S3}, {"spark.remote": "sc://server"}, "the server's machine"),
        (HIVE, {"spark.hadoop.hive.metastore.sasl.enabled": "true"}, "spark.hadoop.hive.metastore.sasl.enabled"),
        (HIVE, {"spark.hadoop.iceberg.engine.hive.lock-enabled": "false"}, "lock-enabled"),
    ],
)
def test_what_only_sparks_own_machine_or_hadoop_reaches_is_left_to_them(
    properties: dict[str, str], conf: dict[str, str], why: str
) -> None:
    """Hadoop's files and logins, Hive's lock and files on Spark's machine are refused."""
    assert why in refusal(properties, **conf)


@pytest.mark.parametrize(
    ("uri", "made", "file"),
    [
        ("jdbc:sqlite:/data/a.db", "sqlite:////data/a.db?timeout=3.0", "/data/a.db"),
        ("jdbc:sqlite:file:/data/a.db", "sqlite:////data/a.db?timeout=3.0", "/data/a.db"),
        ("jdbc:sqlite:file:///data/a%20b.db", "sqlite:////data/a b.db?timeout=3.0", "/data/a b.db"),
        ("jdbc:sqlite:/data/100%.db?busy_timeout=30000", "sqlite:////data/100%.db?timeout=30.0", "/data/100%.db"),
        ("jdbc:sqlite:data/a.db?journal_mode=WAL", "sqlite:///data/a.db?timeout=3.0", "data/a.db"),
        ("jdbc:postgresql://db/lake", f"postgresql+psycopg2://db/lake?{TIMEOUTS}", None),
        ("jdbc:postgresql://db:5433/lake", f"postgresql+psycopg2://db:5433/lake?{TIMEOUTS}", None),
        ("jdbc:postgresql://[::1]:5433/lake", f"postgresql+psycopg2://[::1]:5433/lake?{TIMEOUTS}", None),
        (
            "jdbc:postgresql://db/lake?user=a%40b&password=p%2Fw&sslmode=require&ApplicationName=x",
            f"postgresql+psycopg2://a%40b:p%2Fw@db/lake?sslmode=require&{TIMEOUTS}",
            None,
        ),
    ],
)
def test_a_databases_address_is_sqlalchemys(uri: str, made: str, file: str | None) -> None:
    """The file of SQLite is returned as well, because read-only commands must not create it."""
    found = opened({**SQLITE, "uri": uri})
    assert found.properties["uri"] == made
    assert found.file == (Path(file) if file else None)


def test_user_and_password_may_be_beside_the_address() -> None:
    """`jdbc.user` and `jdbc.password` are used; parameters of the address override such properties."""
    beside = {"jdbc.user": "migrator", "jdbc.password": "p@ss/word", "jdbc.sslmode": "require"}
    found = opened({**POSTGRESQL, **beside, "uri": "jdbc:postgresql://db/lake?sslmode=verify-full"})
    login = "migrator:p%40ss%2Fword"
    assert found.properties["uri"] == f"postgresql+psycopg2://{login}@db/lake?sslmode=verify-full&{TIMEOUTS}"
    assert "p%40ss" not in repr(found)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("", TIMEOUTS),
        ("?connectTimeout=3&socketTimeout=60", "connect_timeout=3&tcp_user_timeout=60000"),
        ("?connectTimeout=3&loginTimeout=5", "connect_timeout=5&tcp_user_timeout=30000"),
        ("?connectTimeout=0&socketTimeout=0", "connect_timeout=0&tcp_user_timeout=0"),
    ],
)
def test_the_jdbc_drivers_time_outs_are_libpqs(given: str, made: str) -> None:
    """The defaults are 10 s to connect and 30 s for an answer; 0 waits without limit."""
    uri = opened({**POSTGRESQL, "uri": f"jdbc:postgresql://db/lake{given}"}).properties["uri"]
    assert uri.partition("?")[2] == made


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"uri": "jdbc:sqlite::memory:"}, "in the memory of one process"),
        ({"uri": "jdbc:sqlite:file::memory:?cache=shared"}, "in the memory of one process"),
        ({"uri": "jdbc:sqlite:file:/data/a.db?mode=memory"}, "its address has mode"),
        ({"uri": "jdbc:oracle://db/lake"}, "opens SQLite, PostgreSQL and MySQL here, not oracle"),
        ({"uri": "jdbc:mysql://db/lake?sslMode=VERIFY_CA"}, "its sslMode is VERIFY_CA"),
        ({"uri": "jdbc:mysql://a,b/lake?sslMode=REQUIRED"}, "must name one server and one database"),
        ({"uri": "jdbc:mysql://db/lake?sslMode=REQUIRED&sessionVariables=x"}, "its address has sessionVariables"),
        ({"uri": "jdbc:postgresql:lake"}, "must name one server and one database"),
        ({"uri": "jdbc:postgresql://a,b/lake"}, "must name one server and one database"),
        ({"uri": "jdbc:postgresql://me@db/lake"}, "must name one server and one database"),
        ({"uri": "https://db/lake"}, "opens SQLite, PostgreSQL and MySQL here, not https"),
        ({"uri": "jdbc:postgresql://db/lake?currentSchema=other"}, "its address has currentSchema"),
        ({"uri": "jdbc:postgresql://db/lake?ssl=true"}, "its address has ssl"),
        ({"uri": "jdbc:postgresql://db/lake?socketTimeout=-1"}, "its socketTimeout is not a number of seconds"),
        ({"jdbc.connectTimeout": "soon"}, "its connectTimeout is not a number of seconds"),
        ({"jdbc.schema-version": "V0"}, "its jdbc.schema-version is not V1"),
        ({"jdbc.currentSchema": "other"}, "its address has currentSchema"),
    ],
)
def test_a_database_that_python_would_reach_otherwise_is_not_opened(properties: dict[str, str], why: str) -> None:
    """An address that Python cannot use, or would use with other settings, is refused."""
    assert why in refusal({**POSTGRESQL, **properties})


def test_a_jdbc_catalog_without_its_schema_version_is_refused() -> None:
    """Without V1, Spark writes rows without a type."""
    without = {key: value for key, value in SQLITE.items() if key != "jdbc.schema-version"}
    assert "its jdbc.schema-version is not V1" in refusal(without)


def test_only_the_properties_of_the_stores_catalog_count() -> None:
    """A catalog whose name begins with the same letters does not count."""
    found = opened(REST, **{"spark.sql.catalog.lakehouse": SPARK, "spark.sql.catalog.lakehouse.lock-impl": "x"})
    assert found == opened(REST)


@pytest.mark.parametrize(
    ("warehouse", "conf"),
    [
        ("hdfs://canary/data", {}),
        ("/canary", {"spark.hadoop.fs.defaultFS": "hdfs://name"}),
        ("s3://canary", {"spark.remote": "sc://server"}),
    ],
)
def test_a_refusal_does_not_show_where_the_warehouse_is(warehouse: str, conf: dict[str, str]) -> None:
    """The value may come from an environment variable."""
    uri = "jdbc:sqlite:/canary/a.db"
    assert "canary" not in refusal({**SQLITE, "uri": uri, "warehouse": warehouse, "io-impl": S3}, **conf)
