"""How many requests a Snowflake deployment costs, against schemachange on the same server. Run with `-m benchmark -s`.

Requests are exact, and on a real account each is a round trip; seconds against an emulator would say nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ProjectFolder, SnowBed
from tests.snowflake.bed import SnowflakeServer

pytestmark = pytest.mark.benchmark

FILES = 50
PEER = "schemachange==4.4.0"
ENVIRONMENT = Path(__file__).parents[2] / ".venv-schemachange"


def test_fifty_files_from_nothing_and_then_nothing_to_do(
    emulated: SnowBed, snowflake_server: SnowflakeServer, project: ProjectFolder
) -> None:
    """One CREATE TABLE a file, by both tools; the counts are the server's."""
    schema = emulated.schema()
    project.catalog(emulated.catalog_file())
    scripts = project.root / "scripts"
    scripts.mkdir()
    for number in range(1, FILES + 1):
        project.file(f"{number:04d}_create.sql", f"CREATE TABLE {schema}.t{number} (id INT, name VARCHAR);")
        script = scripts / f"V{number}__create.sql"
        script.write_text(f"CREATE TABLE {schema}.s{number} (id INT, name VARCHAR);\n")

    def ours() -> None:
        done = project.run("migrate")
        assert done.code == 0, done.stderr

    def theirs() -> None:
        schemachange(scripts, schema, snowflake_server.port)

    def count(action: Callable[[], None]) -> int:
        before = len(snowflake_server.requests)
        action()
        return len(snowflake_server.requests) - before

    mine = count(ours), count(ours)
    peer = count(theirs), count(theirs)
    print(
        f"\nrequests for {FILES} files, then for nothing: glacierbase {mine[0]} and {mine[1]}, {PEER} {peer[0]} and {peer[1]},"
        f" ratios {mine[0] / peer[0]:.2f} and {mine[1] / peer[1]:.2f}"
    )
    assert mine[0] <= 120
    assert mine[1] <= 8


def schemachange(scripts: Path, schema: str, port: int) -> None:
    """One deployment, as its documentation has it."""
    database, _, name = schema.partition(".")
    done = subprocess.run(
        [
            installed(), "deploy", "-f", scripts, "-c", f"{schema}.CHANGE_HISTORY", "--create-change-history-table",
            "-d", database, "-s", name,
        ],
        env={
            **os.environ, "SNOWFLAKE_ACCOUNT": "test", "SNOWFLAKE_USER": "deployer", "SNOWFLAKE_PASSWORD": "any",
            "SNOWFLAKE_ROLE": "ENGINEER", "SNOWFLAKE_WAREHOUSE": "SMALL", "SNOWFLAKE_HOST": "127.0.0.1",
            "SNOWFLAKE_PORT": str(port), "SNOWFLAKE_PROTOCOL": "http",
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def installed() -> Path:
    """schemachange in an environment of its own: it needs the connector's line 4."""
    program = ENVIRONMENT / "bin" / "schemachange"
    if not program.exists():
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        subprocess.run([ENVIRONMENT / "bin" / "pip", "install", "--quiet", PEER], check=True, stdout=sys.stderr)
    return program
