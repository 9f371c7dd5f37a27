"""Requests of a command to a REST catalog whose server vends credentials, and to its object store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checkingproxy import TOKENS, CheckingProxy, checking_proxy
from tests.support.objectstore import BUCKET, ObjectStore, object_store
from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder
from tests.support.pythoncatalog import PythonCatalog

CATALOG = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties: {type: rest, uri: ADDRESS, credential: "${secret:MIGRATOR_LOGIN}"}
"""


@pytest.fixture
def store() -> Iterator[ObjectStore]:
    """The clients' address of the store."""
    with object_store() as store:
        yield store


@pytest.fixture
def proxy(store: ObjectStore, tmp_path: Path) -> Iterator[CheckingProxy]:
    """The catalog server, which reaches the same objects at an address of its own."""
    with object_store() as own:
        own.objects = store.objects
        catalog = PythonCatalog(tmp_path, f"s3://{BUCKET}/tables", **own.properties())
        with checking_proxy(catalog.answer) as proxy:
            proxy.vends = store.properties
            yield proxy


def test_a_command_logs_in_once_and_reads_no_metadata_that_the_server_sent(
    store: ObjectStore, proxy: CheckingProxy, project: ProjectFolder
) -> None:
    """History, lock, the table before and after, and the statement have connections with one token and one configuration.

    The counts are exact: a table that was just read is not read again, except by a proof, after the lock was acquired, before a
    commit, and after the file.
    """
    project.catalog(CATALOG.replace("ADDRESS", proxy.address))
    project.file("1_a.sql", "CREATE NAMESPACE lake.web;\nCREATE TABLE lake.web.t (a INT) USING iceberg;")
    done = run_here(project, "migrate")
    assert done.code == 0, done.stderr
    project.file("2_b.sql", "ALTER TABLE lake.web.t ADD COLUMN b INT;")
    for command, requests in (("pending", (4, 6)), ("migrate", (14, 18))):
        proxy.log.clear()
        store.log.clear()
        done = run_here(project, command)
        assert done.code == 0, done.stderr
        assert (len(proxy.log), len(store.log)) == requests, proxy.log
        assert (proxy.statuses(TOKENS), proxy.statuses("GET /v1/config")) == ([200], [200])
        assert {method for method, _ in store.log} <= {"GET", "PUT"}
        assert [key for _, key in store.log if key.endswith(".metadata.json")] == []
        keys = [key for _, key in store.log]
        assert len(keys) == len(set(keys))  # No file is read twice, nor after it was written.
    assert "applied  migrations/shop/2_b.sql" in done.stdout
