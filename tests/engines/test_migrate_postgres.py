"""Migrations on a JDBC catalog in PostgreSQL: Spark and PyIceberg with the same address, user and password."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from contextlib import closing
from datetime import datetime, timezone
from typing import Any
from urllib.parse import urlsplit

import psycopg2
import pytest

from glacierbase import Project
from glacierbase.apply.migrator import Migrator
from glacierbase.apply.plan import Selection
from glacierbase.apply.progress import Progress
from tests.benchmarks.applied import target_of
from tests.support.beds import CatalogBed
from tests.support.catalog_files import ADD_EVENT, POSTGRES_PASSWORD
from tests.support.catalogserver import check_it_migrates, check_refused, check_spark_tells_it, describe
from tests.support.postgres import CONNECTIONS, USER
from tests.support.project_folder import REPOSITORY, ProjectFolder

# Those of all clients but the one that counts; other tests of the session may keep older ones.
CONNECTED = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND backend_start > %s"
)


def test_a_migration_runs_and_is_recorded_there(postgres: CatalogBed, project: ProjectFolder) -> None:
    """Spark and PyIceberg read the same history."""
    namespace = f"g{uuid.uuid4().hex[:8]}"
    describe(postgres, namespace, project)
    assert len(project.ask("pending").entry()["pending"]) == 1
    check_it_migrates(postgres, namespace, project, POSTGRES_PASSWORD)
    asked = project.run("pending")
    assert (asked.code, asked.stderr) == (0, "")
    check_spark_tells_it(postgres, namespace, project)


def test_the_catalog_file_of_init_works_with_its_variables(postgres: CatalogBed, project: ProjectFolder) -> None:
    """Spark and PyIceberg use the same user and password: one makes the table of the sample migration, the other writes its row."""
    assert project.run("init", "--type", "jdbc", "web").code == 0
    project.file("0002_add_event.sql", ADD_EVENT, "web")
    conf = postgres.catalog.spark_conf
    environ = {
        "CATALOG_URI": conf["spark.sql.catalog.lake.uri"],
        "CATALOG_USER": USER,
        "CATALOG_PASSWORD": POSTGRES_PASSWORD,
        "CATALOG_WAREHOUSE": conf["spark.sql.catalog.lake.warehouse"],
    }
    done = project.run("migrate", environ=environ)
    assert done.code == 0, done.stderr
    assert POSTGRES_PASSWORD not in done.stdout + done.stderr
    assert postgres.rows("SELECT id, user_id, kind FROM lake.web.events") == [(1, 2, "a")]
    migrations = project.ask("status", environ=environ).entry()["migrations"]
    assert [(migration["state"], migration["engine"].split()[0]) for migration in migrations] == [
        ("applied", "pyiceberg"),
        ("applied", "spark"),
    ]


def test_a_process_that_goes_on_keeps_no_connection(postgres: CatalogBed, project: ProjectFolder) -> None:
    """A server has a hundred connections by default, for all clients."""
    project.catalog(f"{postgres.text}store: {{namespace: g{uuid.uuid4().hex[:8]}}}\n")
    project.file("1_a.sql", "SELECT 1")
    begun = datetime.now(timezone.utc)
    assert Project.load(project.root).pending()[0].pending
    Migrator(target_of(project.root)).migrate(Selection(), Progress())
    assert not Project.load(project.root).pending()[0].pending
    assert still_connected(postgres, begun) == 0


@pytest.mark.parametrize("door", ["command line", "session"])
def test_a_run_of_more_files_than_the_server_has_connections_is_applied(
    door: str, postgres: CatalogBed, project: ProjectFolder
) -> None:
    """Each file has a new session, which closes its catalog; a session of the caller stays open."""
    namespace, files = f"g{uuid.uuid4().hex[:8]}", CONNECTIONS + 2
    project.catalog(f"{postgres.text}store: {{catalog: lake, namespace: {namespace}, type: '${{env:STORE}}'}}\n")
    for number in range(1, files + 1):
        project.file(f"{number}_a.sql", f"CREATE TABLE lake.{namespace}.t{number} (a INT) USING iceberg")
    if door == "command line":
        done = project.run("migrate", environ={"STORE": "auto"})
        assert done.code == 0, done.stderr
    else:
        [first, *later] = answers_of_a_racer(postgres, f"{project.root} 0 sql", 4)
        assert first["applied"] == [str(number) for number in range(1, files + 1)], first
        assert [answer["error"] for answer in later] == [None] * 4
    assert len(postgres.rows(f"SHOW TABLES IN lake.{namespace} LIKE 't*'")) == files


def answers_of_a_racer(postgres: CatalogBed, line: str, again: int) -> list[dict[str, Any]]:
    """Return the answers of a process that migrates in its session and repeats it; it must keep no connection."""
    begun = datetime.now(timezone.utc)
    racer = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.raced"],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        answers = []
        for _ in range(again + 1):
            racer.stdin.write(f"{line}\n")
            racer.stdin.flush()
            answers.append(json.loads(racer.stdout.readline()))
        assert still_connected(postgres, begun) == 0
        return answers
    finally:
        racer.communicate(timeout=60)


def still_connected(postgres: CatalogBed, since: datetime) -> int:
    """Return how many connections that were opened since then are open, after the server had time to notice closed ones."""
    address = urlsplit(postgres.catalog.spark_conf["spark.sql.catalog.lake.uri"].removeprefix("jdbc:"))
    login = {"host": address.hostname, "port": address.port, "user": USER, "password": POSTGRES_PASSWORD}
    with closing(psycopg2.connect(dbname="postgres", **login)) as connection:
        connection.autocommit = True
        cursor, deadline, found = connection.cursor(), time.monotonic() + 60, 1
        while found and time.monotonic() < deadline:
            cursor.execute(CONNECTED, [since])
            [(found,)] = cursor.fetchall()
        return found


def test_a_wrong_password_is_one_clear_message(
    postgres: CatalogBed, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No Spark is started before the refusal."""
    monkeypatch.setenv("POSTGRES_PASSWORD", "canary-of-another")
    check_refused(postgres, project, "password authentication failed")
