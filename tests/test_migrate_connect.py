"""The path of `migrate` through a Spark Connect server: `spark.remote` in the catalog file, and nothing else differs."""

from __future__ import annotations

import pytest

from glacierbase import Project
from glacierbase.errors import MigrationFailed
from tests.conftest import RemoteLake

ROWS = "; ".join(f"INSERT INTO lake.remote.t VALUES ({number})" for number in (1, 2))


def test_migrations_run_on_a_server_fail_there_and_resume(remote_lake: RemoteLake) -> None:
    """Each effect once, in tables that the server keeps."""
    remote_lake.project.file("1_create.sql", "CREATE NAMESPACE lake.remote; CREATE TABLE lake.remote.t (a BIGINT)", "remote")
    remote_lake.project.file("2_fill.sql", ROWS.replace("VALUES (2)", "VALUES (2, 3)"), "remote")
    with pytest.raises(MigrationFailed, match="too many data columns"):
        Project.load(remote_lake.project.root).migrate()
    remote_lake.project.file("2_fill.sql", ROWS, "remote")
    [result] = Project.load(remote_lake.project.root).migrate()
    assert [(file.version, file.resumed_at) for file in result.applied] == [("2", 2)]
    session = remote_lake.executor.open_session()
    assert sorted(session.query("SELECT a FROM lake.remote.t")) == [(1,), (2,)]
    [status] = Project.load(remote_lake.project.root).status()
    assert [str(each.state) for each in status.migrations] == ["applied", "applied"]
    assert status.lock is None
