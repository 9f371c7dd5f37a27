"""How many requests a deployment to Snowflake costs, against schemachange on the same emulated server.

Requests are exact, and on a real account each is a round trip; seconds against an emulator would say nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.measure import Command, glacierbase, run
from tests.benchmarks.order import Order
from tests.benchmarks.peers import Schemachange
from tests.benchmarks.peers.peer import NotInstalled
from tests.benchmarks.table import Absent, Figure, Row
from tests.support.beds import snow_bed
from tests.support.catalog_files import SNOWFLAKE_PASSWORD
from tests.support.project_folder import ProjectFolder
from tests.support.snowflake.bed import SnowflakeServer, snowflake_server

FILES = 50
# Two per file are its record: a look before it and one after it.
LIMITS = {"new": 220, "applied": 8}


def rows(order: Order) -> Iterator[Row | Absent]:
    """Files of one CREATE TABLE each: all of them, then nothing to do."""
    peer = Schemachange()
    try:
        peer.install()
    except NotInstalled as error:
        yield Absent("requests", str(peer), f"not installed: {error}")
        return
    os.environ["SNOWFLAKE_PASSWORD"] = SNOWFLAKE_PASSWORD
    folder = order.folder / "requests"
    folder.mkdir()
    with snowflake_server(folder) as server, snow_bed(server.catalog, "DEMO", folder / "bed") as bed:
        schema = bed.schema()
        project = ProjectFolder(folder / "project")
        project.catalog(bed.catalog_file())
        scripts = project.root / "scripts"
        scripts.mkdir()
        for number in range(1, FILES + 1):
            project.file(f"{number:04d}_create.sql", f"CREATE TABLE {schema}.t{number} (id INT, name VARCHAR);")
            script = scripts / f"V{number}__create.sql"
            script.write_text(f"CREATE TABLE {schema}.s{number} (id INT, name VARCHAR);\n")
        ours = glacierbase(project.root, "migrate")
        theirs = _deploy(peer, scripts, schema, server.port)
        for which, limit in LIMITS.items():
            what = f"requests to Snowflake for {FILES} {which} files"
            mine, others = (_requests(server, command) for command in (ours, theirs))
            yield Row(what, mine, f"{peer} `deploy`", others)
            yield Row(what, mine, "limit", Figure.limit(limit, "requests"), 1)


def _requests(server: SnowflakeServer, command: Command) -> Figure:
    before = len(server.requests)
    run(command)
    return Figure.limit(len(server.requests) - before, "requests")


def _deploy(peer: Schemachange, scripts: Path, schema: str, port: int) -> Command:
    """One deployment, as its documentation has it."""
    database, _, name = schema.partition(".")
    return Command(
        "deploy",
        (
            *peer.program, "deploy", "-f", scripts, "-c", f"{schema}.CHANGE_HISTORY", "--create-change-history-table",
            "-d", database, "-s", name,
        ),
        scripts,
        {
            "SNOWFLAKE_ACCOUNT": "test", "SNOWFLAKE_USER": "deployer", "SNOWFLAKE_PASSWORD": "any",
            "SNOWFLAKE_ROLE": "ENGINEER", "SNOWFLAKE_WAREHOUSE": "SMALL", "SNOWFLAKE_HOST": "127.0.0.1",
            "SNOWFLAKE_PORT": str(port), "SNOWFLAKE_PROTOCOL": "http",
        },
    )  # fmt: skip
