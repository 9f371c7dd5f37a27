"""Catalog files: keys, merging, environments, references, secrets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.errors import ConfigurationError, GlacierbaseError, SeveralErrors
from glacierbase.model.catalog import Peak
from glacierbase.model.keys import parse_duration
from tests.unit.catalogs.yamlfolder import LAKE, Folder, with_conf


def test_a_catalog_file_names_an_engine_and_defaults_fill_the_rest(folder: Folder) -> None:
    """By default the file's stem is the catalog's name, and the only environment is `default`."""
    folder.write(LAKE)
    catalog = folder.catalog()
    assert (catalog.name, catalog.stem, catalog.environment) == ("shop", "shop", "default")
    assert (catalog.protected, catalog.out_of_order_allowed) == (False, False)
    assert (catalog.store.catalog, catalog.store.namespace, catalog.store.lease_seconds) == (
        "lake",
        "glacierbase",
        60.0,
    )
    assert catalog.spark_conf == {"spark.sql.catalog.lake": "x.SparkCatalog"}


def test_the_login_of_another_identity_may_be_a_secret(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor` tries with it what others may change. What is not written is not passed on."""
    monkeypatch.setenv("WRITER", "etl:canary")
    folder.write(f"{LAKE}access: {{probeAs: {{credential: '${{secret:WRITER}}'}}}}\n")
    catalog = folder.catalog()
    assert catalog.probe_as == {"credential": "etl:canary"}
    assert "canary" not in repr(catalog)
    folder.write(f"{LAKE}access: {{probeAs: {{tokken: x}}}}\n")
    with pytest.raises(ConfigurationError, match=r"unknown key tokken under access\.probeAs"):
        folder.catalog()


LAYOUT = """\
layout:
  peakPutPerSecond: 900
  peakGetPerSecond: 2500.0
  tables:
    - {table: lake.events.clicks, peakPutPerSecond: 5000}
    - {table: 'lake.events.*', peakPutPerSecond: 10, peakGetPerSecond: 0}
environments: {dev: {layout: {peakPutPerSecond: null, tables: []}}, prod: {layout: {peakGetPerSecond: 7}}}
"""


@pytest.mark.parametrize(
    ("environment", "table", "peak"),
    [
        ("prod", "lake.events.clicks", Peak(5000, 0)),
        ("prod", "LAKE.Events.views", Peak(10, 0)),
        ("prod", "lake.sales.orders", Peak(900, 7)),
        ("dev", "lake.events.clicks", Peak(None, 2500)),
    ],
)
def test_each_rate_of_a_table_is_that_of_the_first_pattern_that_has_it(
    environment: str, table: str, peak: Peak, folder: Folder
) -> None:
    """Without a pattern it is the catalog's. An environment merges as for other keys: its list replaces, null removes."""
    folder.write(f"{LAKE}{LAYOUT}")
    assert folder.catalog(environment).layout.peak_of(table) == peak
    folder.write(LAKE)
    assert folder.catalog().layout.peak_of(table) == Peak()


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("{peakPutPerSecond: -1}", "layout.peakPutPerSecond: '-1' is not a number from 0"),
        ("{peakGetPerSecond: .inf}", "layout.peakGetPerSecond: '.inf' is not a number from 0"),
        ("{peakGetPerSecond: '${env:RATE}'}", "is not a number from 0"),
        ("{tables: [{table: a, peakPutPerSecond: fast}]}", "layout.tables: peakPutPerSecond is not a number from 0"),
        ("{tables: [{peakPutPerSecond: 1}]}", "layout.tables: table is missing"),
        (f"{{tables: [{'{table: a}, ' * 501}]}}", "layout.tables: there are 501"),
    ],
)
def test_a_peak_that_is_no_number_from_0_is_an_error(layout: str, message: str, folder: Folder) -> None:
    """The error names key and line."""
    folder.write(f"{LAKE}layout: {layout}\n")
    error = folder.error()
    assert (error.code in ("INVALID_VALUE", "MISSING_KEY"), message in error.message) == (True, True)
    assert "shop.yaml, line " in error.message


def test_the_originals_spelling_is_read(folder: Folder) -> None:
    """Keys may be quoted, and `dependencies` may be under `conf` or beside it."""
    original = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      "spark.sql.catalog.glue": "org.apache.iceberg.spark.SparkCatalog"
    dependencies:
      - "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
"""
    folder.write(original)
    inside = folder.catalog()
    folder.write(original.replace("    dependencies:\n      -", "  dependencies:\n  -"))
    beside = folder.catalog()
    assert inside.dependencies == beside.dependencies == ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",)
    assert inside.store.catalog == "glue"


def test_spark_values_are_taken_as_they_are_written(folder: Folder) -> None:
    """Spark receives text as written: `true`, `1.10` and `on` do not change; null removes a key."""
    folder.write(with_conf(a="true", b="1.10", c="on", d="0x10", e="'q'", f="null", g="TRUE", h="007"))
    conf = dict(folder.catalog().spark_conf)
    assert conf.pop("spark.sql.catalog.lake") == "x"
    assert conf == {"a": "true", "b": "1.10", "c": "on", "d": "0x10", "e": "q", "g": "TRUE", "h": "007"}


GLUE_SHARED = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.extensions: org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
      spark.sql.catalog.glue: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.glue.type: glue
      spark.sql.catalog.glue.glue.id: ${variables.account}
      spark.sql.catalog.glue.warehouse: s3://${variables.bucket}/${catalog}
    dependencies:
      - org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0
      - org.apache.iceberg:iceberg-aws-bundle:1.12.0
variables: {bucket: "acme-lake-${environment}"}
environments:
  dev:     {variables: {account: 012345678901}}
  staging: {variables: {account: 123456789012}}
  prod:    {variables: {account: 234567890123}, protected: true}
defaultEnvironment: dev
"""


def test_three_glue_environments_share_one_file_and_a_catalog_is_what_it_adds(folder: Folder) -> None:
    """With account and bucket as variables of the shared file, a catalog's own file has two lines."""
    folder.write(GLUE_SHARED, "_shared.yaml")
    folder.write(
        "variables:\n  sleep: {events: {bucketSize: 4}}\nenvironments: {prod: {variables: {sleep: {events: {bucketSize: 32}}}}}\n"
    )
    folder.write("", "billing.yaml")
    billing, shop = folder.files()
    assert (billing.name, shop.name) == ("billing", "shop")
    assert shop.environments == billing.environments == ("dev", "staging", "prod")
    found = {env: shop.for_environment(env, folder.root) for env in shop.environments}
    assert {env: each.spark_conf["spark.sql.catalog.glue.warehouse"] for env, each in found.items()} == {
        env: f"s3://acme-lake-{env}/shop" for env in found
    }
    assert [each.spark_conf["spark.sql.catalog.glue.glue.id"] for each in found.values()] == [
        "012345678901", "123456789012", "234567890123",
    ]  # fmt: skip
    assert [each.variables["sleep"]["events"]["bucketSize"] for each in found.values()] == [4, 4, 32]
    assert [each.protected for each in found.values()] == [False, False, True]
    assert (
        billing.for_environment("prod", folder.root)
        .spark_conf["spark.sql.catalog.glue.warehouse"]
        .endswith("prod/billing")
    )


def test_an_environment_overrides_the_file_and_the_file_overrides_the_shared_one(folder: Folder) -> None:
    """Keys merge, lists replace and null removes; the shared file's environment merges over the catalog file's own keys."""
    folder.write(
        "variables: {a: s, b: s, c: s, list: [1, 2]}\nenvironments: {dev: {variables: {b: se}}}",
        "_shared.yaml",
    )
    folder.write(
        LAKE + "variables: {a: f, b: f, list: [3]}\nenvironments: {dev: {variables: {c: null, d: fe}}, prod: }\n"
    )
    assert folder.catalog("dev").variables == {"a": "f", "b": "se", "list": [3], "d": "fe"}
    assert folder.catalog("prod").variables == {"a": "f", "b": "f", "c": "s", "list": [3]}
    folder.write(LAKE + "environments: {dev: null, prod: }\n")
    [file] = folder.files()
    assert file.environments == ("prod",)


@pytest.mark.parametrize(
    ("text", "code", "line", "said"),
    [
        (LAKE + "variabels: {}\n", "UNKNOWN_KEY", 2, "variabels"),
        (LAKE + "migrationexecutor: {}\n", "UNKNOWN_KEY", 2, "migrationexecutor"),
        ("migrationExecutor:\n  type: spark\n  config: {}\n", "UNKNOWN_KEY", 3, "under migrationExecutor"),
        (LAKE + "environments:\n  dev:\n    variable: {}\n", "UNKNOWN_KEY", 4, "under environments.dev"),
        (LAKE + "environments:\n  dev:\n    name: x\n", "UNKNOWN_KEY", 4, "name"),
        (LAKE + "environments: [dev]\n", "INVALID_VALUE", 2, "environments"),
        (LAKE + "environments: {'a b': {}}\n", "INVALID_NAME", 2, "a b"),
        (LAKE + "defaultEnvironment: dev\n", "INVALID_VALUE", 2, "defaultEnvironment"),
        (LAKE + "name: My-Shop\n", "INVALID_NAME", 2, "My-Shop"),
        (LAKE + "store: lake\n", "INVALID_VALUE", 2, "store"),
        (LAKE + "variables: [a]\n", "INVALID_VALUE", 2, "variables"),
        (LAKE + "store: {lockLease: soon}\n", "INVALID_VALUE", 2, "lockLease"),
        (LAKE + "store: {lockLease: 10ms}\n", "INVALID_VALUE", 2, "lockLease"),
        (LAKE + "store: {namespace: 'a`b'}\n", "INVALID_VALUE", 2, "namespace"),
        (LAKE + "store: {type: redis}\n", "INVALID_VALUE", 2, "store.type"),
        (LAKE + "protected: yes\n", "INVALID_VALUE", 2, "protected"),
        (LAKE + "outOfOrder: maybe\n", "INVALID_VALUE", 2, "refuse or allow"),
        (LAKE.replace("type: spark", "type: sparc"), "INVALID_VALUE", 1, "sparc"),
        (LAKE.replace("type: spark, ", ""), "MISSING_KEY", 1, "migrationExecutor.type"),
        (with_conf(a="{b: 1}"), "INVALID_VALUE", 5, "sparkConf"),
        ("migrationExecutor:\n  type: spark\n  conf: {dependencies: a:b:c}\n", "INVALID_VALUE", 3, "dependencies"),
        (LAKE.replace("{sparkConf", "{dependencies: [org:a], sparkConf"), "INVALID_VALUE", 1, "org:a"),
        ("migrationExecutor:\n  dependencies: []\n  conf: {dependencies: []}\n", "DUPLICATE_KEY", 2, "under conf"),
        ("migrationExecutor: {type: spark}\n", "STORE_CATALOG_UNCLEAR", 1, "none"),
        (with_conf(spark_sql_catalog_two="x"), "STORE_CATALOG_UNCLEAR", 1, "lake, two"),
        (with_conf(spark_sql_defaultCatalog="a`b"), "INVALID_VALUE", 6, "sparkConf.spark.sql.defaultCatalog"),
        (with_conf(spark_sql_defaultCatalog="'x; DROP TABLE y'"), "INVALID_VALUE", 6, "the name of a catalog"),
        (LAKE + "store: {catalog: 'a`b'}\n", "INVALID_VALUE", 2, "store.catalog"),
        (LAKE + 'store: {catalog: "\\"a\\nb\\""}\n', "INVALID_VALUE", 2, "store.catalog"),
        (LAKE.replace("catalog.lake", "catalog.la`ke"), "STORE_CATALOG_UNCLEAR", 1, "la`ke"),
        (with_conf(a="${env:NO_SUCH}"), "UNSET_REFERENCE", 6, "NO_SUCH"),
        (with_conf(a="${secret:NO_SUCH}"), "UNSET_REFERENCE", 6, "NO_SUCH"),
        (with_conf(a="${file:no/such}"), "UNSET_REFERENCE", 6, "no/such"),
        (with_conf(a="${variables.x.y}"), "UNSET_REFERENCE", 6, "variables.x.y"),
        (with_conf(a="${projectroot}"), "UNKNOWN_REFERENCE", 6, "projectroot"),
        (with_conf(a="${hadoop.tmp.dir}"), "UNKNOWN_REFERENCE", 6, "hadoop.tmp.dir"),
        (LAKE + "variables:\n  a: x${secret:B}\n", "SECRET_IN_VARIABLES", 3, "${secret:B}"),
        (LAKE + "variables:\n  a: ${file:b}\n", "SECRET_IN_VARIABLES", 3, "${file:b}"),
        (LAKE + "variables:\n  a: x${variables.a}\n", "CYCLIC_REFERENCE", 3, "variables.a → variables.a"),
    ],
)  # fmt: skip
def test_an_error_is_reported_with_file_and_line(text: str, code: str, line: int, said: str, folder: Folder) -> None:
    """Each error has exit code 2, the file, the line and a hint."""
    folder.write(text)
    names = [
        name for file in [folder.root / "catalogs/shop.yaml"] for name in ("dev", "default") if name in file.read_text()
    ]
    error = folder.error("dev" if names == ["dev"] else "default")
    assert (error.code, error.exit_code, error.data["line"]) == (code, 2, line)
    assert error.message.startswith(f"catalogs/shop.yaml, line {line}: ")
    assert said in error.message
    assert error.hint


def test_the_error_about_a_misspelt_key_names_the_nearest_one(folder: Folder) -> None:
    """The hint for a misspelt key is the nearest key."""
    folder.write(LAKE + "enviroments: {}\n")
    assert folder.error().hint == "did you mean environments?"


def test_all_errors_of_all_files_come_at_once(folder: Folder) -> None:
    """One exception has the errors of all files, or of all values of an environment."""
    folder.write(LAKE + "a: 1\nb: 2\n")
    folder.write(LAKE + "environments: {dev: {c: 1}}\nstore: 4\n", "other.yaml")
    folder.write("d: 1\n", "_shared.yaml")
    folder.write(LAKE, "late.yml")
    with pytest.raises(GlacierbaseError) as caught:
        folder.files()
    message = caught.value.message
    assert [key for key in "abcd" if f"unknown key {key}" in message] == list("abcd")
    assert "store: wrong kind of value" in message
    assert "MISNAMED_FILE: catalogs/late.yml" in message


def test_two_files_with_one_name_are_an_error(folder: Folder) -> None:
    """A catalog's name is its identity in the history, so it must be unique."""
    folder.write(LAKE)
    folder.write(LAKE + "name: shop\n", "zoo.yaml")
    assert folder.error().code == "DUPLICATE_CATALOG"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/proc/self/environ", "it is a file of the kernel"),
        ("/proc/version", "it is a file of the kernel"),
        ("/sys/kernel/uevent_seqnum", "it is a file of the kernel"),
        ("link", "it is a file of the kernel"),
        ("inside/version", "it is a file of the kernel"),
        ("/dev/zero", "it is a device and no regular file"),
        ("pipe", "it is a FIFO and no regular file"),
        ("catalogs", "it is a folder and no regular file"),
        ("large", "it holds more than 1 MiB"),
        ("latin", "not UTF-8 text"),
        ("none", "No such file"),
    ],
)
def test_only_a_small_regular_file_is_read(path: str, why: str, folder: Folder) -> None:
    """FIFOs, devices, folders, large files and the kernel's files are refused, through links too."""
    (folder.root / "link").symlink_to("/proc/self/environ")
    (folder.root / "inside").symlink_to("/proc")
    os.mkfifo(folder.root / "pipe")
    (folder.root / "large").write_bytes(b"x" * (1024 * 1024 + 1))
    (folder.root / "latin").write_bytes(b"\xff\xfe")
    folder.write(with_conf(a=f"${{file:{path}}}"))
    error = folder.error()
    assert (error.code, error.data["line"]) == ("UNSET_REFERENCE", 6)
    assert f"${{file:{path}}} cannot be read: {why}" in error.message


def test_a_large_file_is_read(folder: Folder) -> None:
    """A file below the limit is read, directly or through a link."""
    (folder.root / "key").write_bytes(b"k" * 900_000)
    (folder.root / "link").symlink_to("key")
    folder.write(with_conf(a="${file:link}"))
    assert folder.catalog().spark_conf["a"] == "k" * 900_000


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("5m", 300), ("1h", 3600), ("500ms", 0.5), ("1.5m", 90)])
def test_a_duration_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    """Durations are written as in Go and Kubernetes."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "-5m", "5 m", "5min", "1e9s", "٥m", "inf"])
def test_any_other_text_is_refused_as_a_duration(text: str) -> None:
    """A number without a unit is ambiguous, and refused."""
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@pytest.mark.parametrize("where", ["{}", "environments: {{dev: {{{}}}}}"])
def test_an_engine_has_at_most_five_hundred_settings(where: str, tmp_path: Path) -> None:
    """Any setting may be a secret, and every message is searched for every secret."""
    settings = ", ".join(f"k{number}.token: abcdef{number}" for number in range(501))
    executor = f"migrationExecutor: {{type: spark, conf: {{sparkConf: {{{settings}}}}}}}"
    (tmp_path / "catalogs").mkdir()
    (tmp_path / "catalogs/shop.yaml").write_text(where.format(executor))
    with pytest.raises(ConfigurationError, match="more than 500 values"):
        load_catalog_files(tmp_path / "catalogs", tmp_path)


def test_at_most_a_hundred_errors_of_an_environment_are_listed(tmp_path: Path) -> None:
    """Of thousands of wrong references, a hundred are reported."""
    text = "migrationExecutor: {type: spark, conf: {sparkConf: {spark.sql.catalog.lake: x}}}\nvariables:\n"
    (tmp_path / "catalogs").mkdir()
    (tmp_path / "catalogs/shop.yaml").write_text(text + "".join(f"  a{n}: ${{variables.x{n}}}\n" for n in range(500)))
    [file] = load_catalog_files(tmp_path / "catalogs", tmp_path)
    with pytest.raises(SeveralErrors) as caught:
        file.for_environment("default", tmp_path)
    assert len(caught.value.errors) == 100


def test_the_nearest_of_very_many_environments_is_not_computed(folder: Folder) -> None:
    """Comparing a thousand long names would take seconds for each catalog; the hint lists the first twenty."""
    names = ", ".join(f"{'a' * 190}{number}: {{}}" for number in range(1_000))
    folder.write(f"environments: {{{names}}}\n", "_shared.yaml")
    folder.write(LAKE + f"defaultEnvironment: {'a' * 190}\n")
    assert "and 980 more" in (folder.error().hint or "")
