"""Catalog files of Snowflake."""

from __future__ import annotations

import pytest

from glacierbase.secrets import mask
from tests.unit.catalogs.yamlfolder import LAKE, Folder

SNOW = """\
migrationExecutor:
  type: snowflake
  conf:
    connection:
      account: org-account
      port: 8080
      private_key_file_pwd: ${secret:SNOW_KEY}
      token: ${secret:SNOW_TOKEN}
      database: ${variables.database}
      session_parameters: {QUERY_TAG: ours, LOCK_TIMEOUT: 30, ABORT_DETACHED_QUERY: true}
      role: ${env:NOBODY_SETS_THIS_ONE}
variables: {database: LAKE}
environments:
  dev: {migrationExecutor: {conf: {connection: {role: DEV}}}}
"""


def test_the_connectors_keywords_keep_their_names_and_types(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested keywords are read too; references are resolved, secrets masked, and the database holds history and lock."""
    monkeypatch.setenv("SNOW_TOKEN", "canary-token")
    monkeypatch.setenv("SNOW_KEY", "canary-of-the-key")
    folder.write(SNOW)
    catalog = folder.catalog("dev")
    assert catalog.executor_type == "snowflake"
    assert catalog.connection == {
        "account": "org-account",
        "port": 8080,
        "private_key_file_pwd": "canary-of-the-key",
        "token": "canary-token",
        "database": "LAKE",
        "session_parameters": {"QUERY_TAG": "ours", "LOCK_TIMEOUT": 30, "ABORT_DETACHED_QUERY": True},
        "role": "DEV",
    }
    assert catalog.store.catalog == "LAKE"
    assert mask("canary-token canary-of-the-key") == "*** ***"
    assert "canary" not in repr(catalog)


@pytest.mark.parametrize(
    ("before", "after", "code", "says"),
    [
        ("account: org-account", "autocommit: false", "INVALID_VALUE", "autocommit"),
        ("account: org-account", "paramstyle: format", "INVALID_VALUE", "paramstyle"),
        (
            "    connection:",
            "    sparkConf: {a: b}\n    connection:",
            "UNKNOWN_KEY",
            "unknown key sparkConf for type snowflake",
        ),
        ("      database: ${variables.database}\n", "", "STORE_CATALOG_UNCLEAR", "connection names no database"),
        ("${variables.database}", "'A; DROP DATABASE B'", "INVALID_VALUE", "connection.database: 'A; DROP DATABASE B'"),
        ("variables: {", "store: {namespace: a.b}\nvariables: {", "INVALID_VALUE", "the name of a schema"),
        ("type: snowflake", "type: snowflik", "INVALID_VALUE", "spark or snowflake"),
    ],
)
def test_an_impossible_snowflake_catalog_is_reported(
    before: str, after: str, code: str, says: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors in a Snowflake catalog are raised before anything is contacted."""
    monkeypatch.setenv("SNOW_TOKEN", "canary-token")
    monkeypatch.setenv("SNOW_KEY", "canary-of-the-key")
    assert before in SNOW
    folder.write(SNOW.replace(before, after))
    error = folder.error("dev")
    assert error.code == code
    assert says in error.message + error.hint


def test_a_spark_catalog_has_no_connection(folder: Folder) -> None:
    """The key `connection` is unknown for type spark."""
    folder.write(LAKE.replace("conf: {", "conf: {connection: {account: a}, "))
    assert folder.error().code == "UNKNOWN_KEY"
