"""On a JDBC catalog in PostgreSQL: both clients with the same address, user and password."""

from __future__ import annotations

import time
import uuid
from contextlib import closing
from urllib.parse import urlsplit

import psycopg2
import pytest

from glacierbase import Project
from glacierbase.migrator import Progress
from glacierbase.plan import Selection
from tests.benchmarks.applied import migrator_of
from tests.catalogserver import check_it_migrates, check_refused, check_spark_tells_it, describe
from tests.conftest import POSTGRES_PASSWORD, CatalogBed, ProjectFolder
from tests.postgres import USER

# All but the question's own and those of a JVM, which tell their driver's name.
CONNECTED = """\
SELECT count(*) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND application_name NOT LIKE '%JDBC%'
"""


def test_a_migration_runs_and_is_recorded_there(postgres: CatalogBed, project: ProjectFolder) -> None:
    """Through Spark and past it the history says the same."""
    namespace = f"g{uuid.uuid4().hex[:8]}"
    describe(postgres, namespace, project)
    assert len(project.ask("pending").entry()["pending"]) == 1
    check_it_migrates(postgres, namespace, project, POSTGRES_PASSWORD)
    asked = project.run("pending")
    assert (asked.code, asked.stderr) == (0, "")
    check_spark_tells_it(postgres, namespace, project)


def test_a_process_that_goes_on_keeps_no_connection(postgres: CatalogBed, project: ProjectFolder) -> None:
    """Servers have a hundred, for everybody."""
    project.catalog(f"{postgres.text}store: {{namespace: g{uuid.uuid4().hex[:8]}}}\n")
    project.file("1_a.sql", "SELECT 1")
    assert Project.load(project.root).pending()[0].pending
    migrator_of(project.root).migrate(Selection(), Progress())
    assert not Project.load(project.root).pending()[0].pending
    assert still_connected(postgres) == 0


def still_connected(postgres: CatalogBed) -> int:
    """How many connections of Python's are there still, after the server had time to see that they ended."""
    address = urlsplit(postgres.catalog.spark_conf["spark.sql.catalog.lake.uri"].removeprefix("jdbc:"))
    login = {"host": address.hostname, "port": address.port, "user": USER, "password": POSTGRES_PASSWORD}
    with closing(psycopg2.connect(dbname="postgres", **login)) as connection:
        connection.autocommit = True
        cursor, deadline, found = connection.cursor(), time.monotonic() + 10, 1
        while found and time.monotonic() < deadline:
            cursor.execute(CONNECTED)
            [(found,)] = cursor.fetchall()
        return found


def test_a_wrong_password_is_one_clear_message(
    postgres: CatalogBed, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no Spark is started to find out."""
    monkeypatch.setenv("POSTGRES_PASSWORD", "canary-of-another")
    check_refused(postgres, project, "password authentication failed")
