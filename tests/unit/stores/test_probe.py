"""What `doctor` leaves behind where a server refuses to drop its table, without a server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import ForbiddenError

from glacierbase.executors.pyiceberg.properties import PyIcebergSettings
from glacierbase.model.access import NamespaceAccess, Protection
from glacierbase.stores.iceberg import probe
from tests.unit.executors.test_iceberg_properties import REST, catalog

TOKEN = "canary-of-the-writer"


def refuse(*_: Any, **__: Any) -> Any:
    raise ForbiddenError("not allowed")


@pytest.fixture
def client(tmp_path: Path) -> SqlCatalog:
    client = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    client.create_namespace("web")
    return client


def tried(client: SqlCatalog, monkeypatch: pytest.MonkeyPatch, refused: tuple[str, ...]) -> NamespaceAccess:
    """Return the verdict of a server that refuses these calls to the migrator, and every change to the writer."""

    def opened(place: PyIcebergSettings) -> SqlCatalog:
        shown = SqlCatalog("lake", **client.properties)
        is_writer = place.properties.get("token") == TOKEN
        for name in ("commit_table", "create_table", "drop_table") if is_writer else refused:
            monkeypatch.setattr(shown, name, refuse)
        return shown

    monkeypatch.setattr(probe, "open_catalog", opened)
    return probe.namespace_access(replace(catalog(REST), probe_as={"token": TOKEN}), "lake", "web")


def test_a_server_that_refuses_to_purge_drops_the_table_all_the_same(
    client: SqlCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Polaris purges only where DROP_WITH_PURGE_ENABLED is set: https://github.com/apache/polaris/issues/2844."""
    access = tried(client, monkeypatch, ("purge_table",))
    assert access.verdict is Protection.PREVENTED
    assert client.list_tables("web") == []


def test_a_table_that_the_server_does_not_drop_is_named(client: SqlCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict stands; somebody else has to drop the table."""
    access = tried(client, monkeypatch, ("purge_table", "drop_table"))
    assert access.verdict is Protection.PREVENTED
    [(_, left)] = client.list_tables("web")
    assert access.detail.endswith(f"; drop lake.web.{left} if it exists: the server did not drop it")


def test_a_table_that_was_created_in_spite_of_an_error_is_dropped(
    client: SqlCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to the request was lost."""
    create = SqlCatalog.create_table

    def lost(self: SqlCatalog, *arguments: Any, **options: Any) -> Any:
        create(self, *arguments, **options)
        raise TimeoutError("no answer")

    monkeypatch.setattr(SqlCatalog, "create_table", lost)
    access = tried(client, monkeypatch, ())
    assert (access.verdict, access.detail) == (Protection.UNKNOWN, "no answer")
    assert client.list_tables("web") == []
