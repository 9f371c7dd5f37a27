"""Storage that is full or read-only, and servers that do not answer, from any step on: one clear error, and a true history."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from tests.crash.shop import FINAL, STEPS
from tests.support.catalog_files import SNOWFLAKE_PASSWORD
from tests.support.project_folder import REPOSITORY
from tests.support.snowflake.bed import SnowflakeServer

# The errors that a failing engine, catalog or disk may lead to; none where only the release was left.
CODES = {
    None: 0,
    "STORE_UNAVAILABLE": 5,
    "SNOWFLAKE_UNAVAILABLE": 5,
    "STATEMENT_FAILED": 1,
    "OUTCOME_UNKNOWN": 6,
    "HISTORY_NOT_WRITTEN": 6,
    "LOCK_LOST": 4,
}


def break_at_every(
    number: int, faults: set[str], store: str, folder: Path, *port: str, prefix: Sequence[str] = ()
) -> None:
    """Run the scenarios, and check the output of each."""
    steps = [str(step) for step in range(1, STEPS[store] + 1, number)]
    command = [
        *prefix,
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "tests.crash.faulted",
        store,
        folder,
        ",".join(steps),
        *port,
    ]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    ran = [(said["fault"], str(said["step"])) for said in told]
    assert sorted(ran) == sorted(product(faults, steps)), done.stderr[-3000:]
    for said in told:
        assert CODES[said["code"]] == said["exit_code"], said
        assert said["text"].count("error: ") == (said["code"] is not None), said
        assert "\tat " not in said["text"], said
        assert len(said["text"]) < 1500, said
        assert (said["states"], said["rows"]) == (["applied"] * 3, FINAL), said
    assert {said["fault"] for said in told if said["code"]} == faults


@pytest.mark.spark
@pytest.mark.parametrize(
    ("store", "every"),
    [
        ("iceberg", 62),
        ("iceberg", 1),
        ("sql", 31),
        ("sql", 1),
    ],
)
def test_storage_that_fails_at_any_step_on_spark(store: str, every: int, tmp_path: Path) -> None:
    """Catalog and tables are on a small disk, mounted in a user namespace, which needs no root."""
    isolated = ("unshare", "--user", "--map-root-user", "--mount")
    break_at_every(every, {"full", "read-only", "unreachable"}, store, tmp_path, prefix=isolated)


@pytest.mark.parametrize("every", [17, 1])
def test_a_server_that_is_gone_at_any_step_on_snowflake(
    every: int, snowflake_server: SnowflakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All connections break, and new ones are refused."""
    monkeypatch.setenv("SNOWFLAKE_PASSWORD", SNOWFLAKE_PASSWORD)
    break_at_every(every, {"unreachable"}, "snowflake", tmp_path, str(snowflake_server.port))


@pytest.mark.parametrize("every", [17, 1])
def test_a_dynamodb_that_is_gone_at_any_step(
    every: int, snowflake_server: SnowflakeServer, dynamodb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine stays: its statements have an outcome that the history may not take."""
    monkeypatch.setenv("SNOWFLAKE_PASSWORD", SNOWFLAKE_PASSWORD)
    port = dynamodb.rpartition(":")[2]
    break_at_every(every, {"unreachable"}, "dynamodb", tmp_path, f"{snowflake_server.port}:{port}")
