"""`import --baseline`: the history tables of other tools on real Iceberg tables, and on Snowflake; then only what is new runs."""

from __future__ import annotations

import json
import uuid
import zlib
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from glacierbase import Project
from glacierbase.capabilities.adopt.results import ImportResult
from glacierbase.errors import ConfigurationError, HistoryDisagrees
from tests.support.beds import LakeBed, SnowBed
from tests.support.project_folder import ProjectFolder

AT = datetime(2024, 5, 6, 7, 8, 9, tzinfo=timezone.utc)


def checksum(text: str) -> int:
    """Return what Flyway records of a script of one line."""
    found = zlib.crc32(text.encode())
    return found - 2**32 if found >= 2**31 else found


def their_files(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / "theirs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "theirs"


def test_a_flyway_history_in_iceberg_becomes_a_baseline(project: ProjectFolder, lake: LakeBed, tmp_path: Path) -> None:
    """Author and time of each version are in the record; `migrate` runs the later version alone."""
    name = f"shop_{uuid.uuid4().hex[:8]}"
    project.catalog(f"{lake.text}variables: {{namespace: {name}}}\n", name)
    first, second = (
        f"CREATE TABLE lake.{name}.orders (id INT) USING iceberg",
        "ALTER TABLE lake.${namespace}.orders ADD COLUMN a STRING;",
    )
    path = their_files(
        tmp_path,
        {
            "flyway.conf": f"flyway.placeholders.namespace={name}\n",
            "V1__create.sql": first,
            "V1.1__add.sql": second,
            "V2__later.sql": "ALTER TABLE lake.${namespace}.orders ADD COLUMN b STRING;",
        },
    )
    table = f"lake.{name}.flyway_schema_history"
    session = lake.executor.open_session()
    session.execute(f"CREATE NAMESPACE lake.{name}")
    for sql in (
        first,
        f"ALTER TABLE lake.{name}.orders ADD COLUMN a STRING",
        f"CREATE TABLE {table} (installed_rank INT, version STRING, description STRING, type STRING, script STRING,"
        " checksum INT, installed_by STRING, installed_on TIMESTAMP, execution_time INT, success BOOLEAN) USING iceberg",
        f"INSERT INTO {table} VALUES"
        f" (2, '1.1', 'add', 'SQL', 'V1.1__add.sql', {checksum(second)}, 'ben', TIMESTAMP '2024-05-06 07:08:09Z', 1, true),"
        f" (1, '1', 'create', 'SQL', 'V1__create.sql', {checksum(first)}, 'ann', TIMESTAMP '2024-05-06 07:08:09Z', 1, true)",
    ):
        session.execute(sql)

    def run(**options: Any) -> ImportResult:
        arguments = {"author": "Ann", "baseline": True, "reason": "from Flyway", "spark": lake.spark}
        [result] = Project.load(project.root).import_project("flyway", path, [name], **{**arguments, **options})
        return result

    planned = run(dry_run=True, history_table=table)
    assert planned.baseline is not None
    assert ([version.author for version in planned.baseline.versions], planned.baseline.is_recorded) == (
        ["ann", "ben"],
        False,
    )
    with pytest.raises(ConfigurationError) as caught:
        run()
    assert caught.value.code == "HISTORY_TABLE_NOT_READ"
    [failed] = caught.value.results
    assert len(failed.files) == 3
    done = run(history_table=table)
    assert done.baseline is not None
    assert (done.baseline.to, done.baseline.is_recorded) == ("0001001000", True)
    assert [(version.version, version.author, version.at) for version in done.baseline.versions] == [
        ("0001000000", "ann", AT),
        ("0001001000", "ben", AT),
    ]
    loaded = Project.load(project.root)
    assert loaded.validate([name])
    rows = lake.rows(f"SELECT version, details FROM lake.glacierbase.history_{name} ORDER BY sequence")
    assert [json.loads(details)["original"] for _, details in rows] == [
        {"tool": "Flyway", "script": script, "author": author, "at": AT.isoformat()}
        for script, author in (("V1__create.sql", "ann"), ("V1.1__add.sql", "ben"))
    ]
    [shown] = loaded.show("0001001000", [name], spark=lake.spark)
    assert shown.original is not None
    assert (shown.original.author, shown.original.at) == ("ben", AT)
    assert any("by Flyway" in str(line) for line in shown.lines())
    [migrated] = loaded.migrate([name], spark=lake.spark)
    assert [file.version for file in migrated.applied] == ["0002000000"]
    assert [column for column, *_ in lake.rows(f"DESCRIBE TABLE lake.{name}.orders")][:3] == ["id", "a", "b"]
    again = run(history_table=table)
    assert again.baseline is not None
    assert (again.baseline.versions, again.baseline.is_recorded) == ((), False)


def test_a_flyway_history_that_is_not_that_of_the_files_is_refused(
    project: ProjectFolder, lake: LakeBed, tmp_path: Path
) -> None:
    """The files stay, and nothing is recorded; so do versions that are not of the other tool."""
    name = f"shop_{uuid.uuid4().hex[:8]}"
    project.catalog(lake.text, name)
    project.file("0002_mine.sql", "SELECT 1", name)
    path = their_files(tmp_path, {"V1__a.sql": "SELECT 1", "V3__c.sql": "SELECT 3", "V4__d.sql": "SELECT 4"})
    table = f"lake.{name}.flyway_schema_history"
    session = lake.executor.open_session()
    session.execute(f"CREATE NAMESPACE lake.{name}")
    session.execute(
        f"CREATE TABLE {table} (installed_rank INT, version STRING, description STRING, type STRING, script STRING,"
        " checksum INT, installed_by STRING, installed_on TIMESTAMP_NTZ, success BOOLEAN) USING iceberg"
    )
    session.execute(
        f"INSERT INTO {table} VALUES (1, '1', 'a', 'SQL', 'V1__a.sql', 7, 'ann', NULL, true),"
        f" (2, '4', 'd', 'SQL', 'V4__d.sql', {checksum('SELECT 4')}, 'ann', NULL, true)"
    )

    def refused() -> HistoryDisagrees:
        with pytest.raises(HistoryDisagrees) as caught:
            Project.load(project.root).import_project(
                "flyway", path, [name], author="Ann", baseline=True, reason="why", history_table=table, spark=lake.spark
            )
        assert not Project.load(project.root).status([name], spark=lake.spark)[0].lock
        return caught.value

    error = refused()
    assert error.code == "BASELINE_REFUSED"
    assert [problem.rpartition("/")[2].partition(";")[0] for problem in error.data["problems"]] == [
        "V1__a.sql: it was edited after Flyway applied it",
        "V3__c.sql: it is not applied, and a later one is",
    ]
    assert len(list((project.root / "migrations" / name).glob("*.sql"))) == 4
    session.execute(f"DELETE FROM {table}")
    session.execute(f"INSERT INTO {table} VALUES (1, '3', 'x', 'BASELINE', '<< x >>', NULL, 'ann', NULL, true)")
    assert refused().data["files"] == [f"migrations/{name}/0002_mine.sql"]


def test_histories_in_snowflake_become_a_baseline(project: ProjectFolder, emulated: SnowBed, tmp_path: Path) -> None:
    """The tables of schemachange, Liquibase and Alembic, and that of Flyway, whose names are quoted in lower case."""
    schema = emulated.schema()
    create, add = f"CREATE TABLE {schema}.orders (id INT);", f"ALTER TABLE {schema}.orders ADD COLUMN a TEXT;"
    log = f"--liquibase formatted sql\n--changeset ann:1\n{create}\n--changeset ben:2\n{add}\n--changeset cyd:3\nSELECT 3;\n"
    path = their_files(
        tmp_path,
        {
            "schemachange/schemachange-config.yml": f"change-history-table: {schema}.CHANGE_HISTORY\nvars: {{a: 1}}\n",
            "schemachange/V1.0__a.sql": create,
            "schemachange/V1.1__b.sql": add,
            "schemachange/V1.2__c.sql": "SELECT 3;",
            "flyway/V1__a.sql": create,
            "flyway/V2__b.sql": add,
            "flyway/V3__c.sql": "SELECT 3;",
            "liquibase/log.sql": log,
            "alembic/up.sql": (
                f"-- Running upgrade  -> a1\n{create}\n-- Running upgrade a1 -> b2\n{add}\n"
                "-- Running upgrade b2 -> c3\nSELECT 3;\n"
            ),
        },
    )
    session = emulated.executor.open_session()
    flyway = f'{schema}."flyway_schema_history"'
    time = "'2024-05-06 07:08:09 +0000'::TIMESTAMP_LTZ"
    for sql in (
        create,
        add,
        f"CREATE TABLE {schema}.CHANGE_HISTORY (VERSION VARCHAR, DESCRIPTION VARCHAR, SCRIPT VARCHAR, SCRIPT_TYPE VARCHAR,"
        " CHECKSUM VARCHAR, EXECUTION_TIME NUMBER, STATUS VARCHAR, INSTALLED_BY VARCHAR, INSTALLED_ON TIMESTAMP_LTZ)",
        f"INSERT INTO {schema}.CHANGE_HISTORY SELECT '1.0', 'A', 'V1.0__a.sql', 'V', NULL, 1, 'Success', 'ANN', {time}",
        f"INSERT INTO {schema}.CHANGE_HISTORY SELECT '1.1', 'B', 'V1.1__b.sql', 'V', NULL, 1, 'Success', 'BEN', {time}",
        f'CREATE TABLE {flyway} ("installed_rank" NUMBER(38,0), "version" VARCHAR,'
        ' "description" VARCHAR, "type" VARCHAR, "script" VARCHAR, "checksum" NUMBER(38,0), "installed_by" VARCHAR,'
        ' "installed_on" TIMESTAMP_LTZ, "success" BOOLEAN)',
        f"INSERT INTO {flyway} SELECT 1, '1', 'a', 'SQL', 'V1__a.sql', {checksum(create)}, 'ANN', {time}, TRUE",
        f"INSERT INTO {flyway} SELECT 2, '2', 'b', 'SQL', 'V2__b.sql', NULL, 'BEN', {time}, TRUE",
        f"CREATE TABLE {schema}.DATABASECHANGELOG (ID VARCHAR, AUTHOR VARCHAR, FILENAME VARCHAR, DATEEXECUTED TIMESTAMP_NTZ,"
        " ORDEREXECUTED INT, EXECTYPE VARCHAR)",
        f"INSERT INTO {schema}.DATABASECHANGELOG SELECT '1', 'ann', 'db/log.sql', '2024-05-06 07:08:09', 1, 'EXECUTED'",
        f"INSERT INTO {schema}.DATABASECHANGELOG SELECT '2', 'ben', 'db/log.sql', '2024-05-06 07:08:09', 2, 'MARK_RAN'",
        f"CREATE TABLE {schema}.alembic_version (version_num VARCHAR)",
        f"INSERT INTO {schema}.alembic_version SELECT 'b2'",
    ):
        session.execute(sql)
    tables = {
        "schemachange": None,
        "flyway": flyway,
        "liquibase": f"{schema}.DATABASECHANGELOG",
        "alembic-offline-sql": f"{schema}.alembic_version",
    }
    for tool, table in tables.items():
        name = tool.partition("-")[0]
        home = ProjectFolder(tmp_path / name)
        home.catalog(emulated.catalog_file())
        source = path / name / ("up.sql" if name == "alembic" else "")
        [done] = Project.load(home.root).import_project(
            tool, source, author="Ann", baseline=True, reason="why", history_table=table
        )
        assert done.baseline is not None
        found = [((version.author or "").lower(), version.at) for version in done.baseline.versions]
        assert found == ([("", None)] * 2 if name == "alembic" else [("ann", AT), ("ben", AT)]), tool
        [migrated] = Project.load(home.root).migrate()
        assert [file.path.rpartition("_")[2] for file in migrated.applied] == [
            {"liquibase": "3.sql", "alembic": "c3.sql"}.get(name, "c.sql")
        ]
