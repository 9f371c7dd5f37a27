"""The path of `migrate` through a Spark Connect server: `spark.remote` in the catalog file, and nothing else differs."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from glacierbase import Project
from glacierbase.errors import ConfigurationError, MigrationFailed
from glacierbase.executors import InFlight, open_executor
from glacierbase.run.run import Run
from glacierbase.secrets import mask
from tests.support.beds import RemoteLake
from tests.support.project_folder import ProjectFolder


def test_a_setting_that_only_the_servers_start_can_make_must_agree_with_it(remote_lake: RemoteLake) -> None:
    """A difference is an error; a setting that a session may change is set."""
    assert remote_lake.executor.open_session().query("SET spark.sql.shuffle.partitions")[0][1] == "3"
    conf = {**remote_lake.catalog.spark_conf, "spark.sql.warehouse.dir": "/elsewhere"}
    with pytest.raises(ConfigurationError) as caught:
        open_executor(replace(remote_lake.catalog, spark_conf=conf), Run.here(remote_lake.project.root))
    assert caught.value.code == "SESSION_DIFFERS"


ROWS = "; ".join(f"INSERT INTO lake.remote.t VALUES ({number})" for number in (1, 2))


def test_migrations_run_on_a_server_fail_there_and_resume(remote_lake: RemoteLake) -> None:
    """Each effect is there once, in tables that the server keeps."""
    remote_lake.project.file(
        "1_create.sql", "CREATE NAMESPACE lake.remote; CREATE TABLE lake.remote.t (a BIGINT)", "remote"
    )
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


def test_a_commit_on_a_server_proves_no_author_and_has_another_clock(remote_lake: RemoteLake) -> None:
    """All clients share one application; no commit is proven only where none is as recent as clocks may differ."""
    with closing(remote_lake.executor.open_session()) as session:
        session.execute("CREATE NAMESPACE IF NOT EXISTS lake.evidence")
        session.execute("CREATE OR REPLACE TABLE lake.evidence.t USING iceberg AS SELECT 1 AS a")
        [[application]] = session.query("SELECT summary['spark.app.id'] FROM lake.evidence.t.snapshots")
    now = datetime.now(timezone.utc)

    def suggested(since: datetime) -> bool | None:
        statement = InFlight(("lake.evidence.t",), since, "tag", "INSERT INTO lake.evidence.t VALUES (1)", application)
        return remote_lake.executor.evidence(statement).took_effect

    assert suggested(now - timedelta(minutes=1)) is None
    assert suggested(now + timedelta(minutes=9)) is None
    assert suggested(now + timedelta(minutes=11)) is False


def test_the_parameters_of_the_address_are_recorded_nowhere(remote_lake: RemoteLake, project: ProjectFolder) -> None:
    """The parameters may hold a token; the history names the server without them."""
    server = remote_lake.catalog.spark_conf["spark.remote"]
    text = remote_lake.text.replace(server, f'"{server}/;x-canary-token=canary-1;x-plain=canary-2"')
    project.catalog(
        f"{text}\n".replace("store: {catalog: lake}", "store: {catalog: lake, namespace: parameters}"), "remote"
    )
    project.file("1_ask.sql", "SELECT 1", "remote")
    loaded = Project.load(project.root)
    [result] = loaded.migrate()
    assert [file.version for file in result.applied] == ["1"]
    session = remote_lake.executor.open_session()
    rows = [
        str(row)
        for name in ("history", "lock")
        for row in session.query(f"SELECT * FROM lake.parameters.{name}_remote")
    ]
    assert [row for row in rows if "canary" in row] == []
    assert any(f'"application": "{server}"' in row for row in rows)
    with loaded.secrets.in_use():
        assert mask("canary-1") == "***"
