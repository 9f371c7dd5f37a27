"""Another process that reads or writes the database of a SQL catalog, and does not finish."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# The rows are those of all tables of all catalogs.
_READS = "SELECT * FROM iceberg_tables"
_WRITES = "UPDATE iceberg_tables SET previous_metadata_location = metadata_location"
_ON_SQLITE = """\
import sqlite3, sys
connection = sqlite3.connect({database!r}, isolation_level=None)
connection.execute({begin!r})
connection.execute({statement!r}).fetchall()
print("ready", flush=True)
sys.stdin.read()
"""
_ON_POSTGRESQL = """\
import psycopg2, sys
connection = psycopg2.connect({database!r})
connection.cursor().execute({statement!r})
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def foreign_reader(database: str) -> Iterator[subprocess.Popen[str]]:
    """Run a process that reads the catalog's tables in a transaction which stays open."""
    with _running(database, _READS) as process:
        yield process


@contextmanager
def foreign_writer(database: str, exclusive: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Run a process that changes the rows of all tables in a transaction which stays open until it is killed.

    Args:
        exclusive: hold SQLite's file as a COMMIT does, so that no other process can read either.
    """
    with _running(database, _WRITES, "BEGIN EXCLUSIVE" if exclusive else "BEGIN") as process:
        yield process


@contextmanager
def _running(database: str, statement: str, begin: str = "BEGIN") -> Iterator[subprocess.Popen[str]]:
    program = _ON_POSTGRESQL if database.startswith("postgresql:") else _ON_SQLITE
    process = subprocess.Popen(
        [sys.executable, "-c", program.format(database=database, statement=statement, begin=begin)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()
