"""The journal of the re-key of a data set: what was copied, validated, approved and deleted.

Nothing depends on what was copied: each phase lists the objects. Clean-up depends on the manifest, which says what was validated.
By default the journal is a file of SQLite in the folder `rekey` of the project; where `migrate` runs on machines that are thrown
away, a table of DynamoDB, which several machines may write.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from glacierbase.errors import StatementRefused
from glacierbase.executors.actions import ActionRun
from glacierbase.run.installed import pip_install

_ON_DYNAMODB = "dynamodb:"
_BUSY_SECONDS = 30.0
# DynamoDB answers one request in some milliseconds: a job's entries for single objects would take minutes, one after the other.
_WRITERS = 16

Entry = Mapping[str, Any]


class Journal(Protocol):
    """Entries by kind and name. An entry is written once, but for those of the kind `state`."""

    def put(self, kind: str, entries: Mapping[str, Entry]) -> None:
        """Write entries of a kind by their names. An entry that exists is replaced.

        Raises:
            StatementRefused: `JOURNAL_NOT_WRITTEN`.
        """

    def rows(self, kind: str) -> Iterator[tuple[str, Entry]]:
        """Yield the entries of a kind in the order of their names. Raises StatementRefused, `JOURNAL_NOT_READ`."""

    def close(self) -> None:
        """Close it. Never raises."""


def open_journal(address: str, place: str, project: Path, *, is_made: bool = True) -> Journal:
    """Return the journal of the objects below `address`.

    Args:
        place: `dynamodb:TABLE`; empty for a file in the project's folder.
        is_made: make a file that does not exist.

    Raises:
        StatementRefused: `CANNOT_REKEY`: another place; `JOURNAL_NOT_READ`.
    """
    if not place:
        path = journal_path(address, project)
        return SqliteJournal(path if is_made or path.exists() else Path(":memory:"))
    if place.startswith(_ON_DYNAMODB) and place != _ON_DYNAMODB:
        return DynamoJournal(place.removeprefix(_ON_DYNAMODB), address)
    raise StatementRefused("CANNOT_REKEY", f"journal => '{place}' is not 'dynamodb:TABLE'")


def journal_of(run: ActionRun) -> Journal:
    """Return the journal that the call of an action names. Raises as `open_journal`."""
    return open_journal(run.arguments["objects"], run.arguments.get("journal", ""), run.project)


def journal_path(address: str, project: Path) -> Path:
    """Return the file of the journal of the objects below `address`."""
    name = quote(address.removeprefix("s3://").strip("/"), safe="")[:80]
    return project / "rekey" / f"{name}-{sha256(address.encode()).hexdigest()[:8]}.sqlite"


def state(journal: Journal, name: str) -> Entry:
    """Return the state of that name; empty without one."""
    return dict(journal.rows("state")).get(name, {})


def instant(milliseconds: int) -> str:
    """Return a time as text."""
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).isoformat(timespec="milliseconds")


def now() -> str:
    """Return the time of this machine as `instant` does."""
    return instant(time.time_ns() // 1_000_000)


def milliseconds(instant: str) -> int:
    """Return the time that a text of `instant` names."""
    return round(datetime.fromisoformat(instant).timestamp() * 1000)


class SqliteJournal:
    """A journal in a file."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(exist_ok=True)
            self._database = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
            with self._database:
                self._database.execute(
                    "CREATE TABLE IF NOT EXISTS journal (kind TEXT, name TEXT, entry TEXT, PRIMARY KEY (kind, name))"
                )
        except (OSError, sqlite3.Error) as error:
            raise _not("read", str(path), error) from error
        self._path = path

    def put(self, kind: str, entries: Mapping[str, Entry]) -> None:
        """Write entries in one transaction."""
        rows = [(kind, name, json.dumps(entry)) for name, entry in entries.items()]
        try:
            with self._database:
                self._database.executemany("INSERT OR REPLACE INTO journal VALUES (?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise _not("written", str(self._path), error) from error

    def rows(self, kind: str) -> Iterator[tuple[str, Entry]]:
        """Yield entries from a query of its own."""
        query = "SELECT name, entry FROM journal WHERE kind = ? ORDER BY name"
        try:
            with closing(self._database.execute(query, (kind,))) as cursor:
                for name, entry in cursor:
                    yield name, json.loads(entry)
        except (ValueError, sqlite3.Error) as error:
            raise _not("read", str(self._path), error) from error

    def close(self) -> None:
        """Close the file."""
        self._database.close()


class DynamoJournal:
    """A journal in a table of DynamoDB, with a partition key for each kind, which gets more shards as it needs them.

    The partition key of the table is `journal`, its sort key `name`, both text; the key of `TABLE-shards` is `journal`.
    """

    def __init__(self, table: str, address: str) -> None:
        try:
            import boto3
            from botocore.config import Config
            from botocore.exceptions import BotoCoreError, ClientError
        except ImportError as error:
            raise StatementRefused(
                "JOURNAL_NOT_READ", f"boto3 is not installed, which journal => 'dynamodb:{table}' needs",
                hint=pip_install("rekey"),
            ) from error  # fmt: skip
        from glacierbase.sharding import ShardedTable

        self._failures = (BotoCoreError, ClientError)
        self._address, self._name = address, table
        try:
            config = Config(retries={"total_max_attempts": 1}, max_pool_connections=_WRITERS)
            client = boto3.Session().client("dynamodb", config=config)  # The default one keeps an earlier login.
            # The states, which are replaced, are few: their key keeps one shard, and each name its place.
            self._table = ShardedTable(client, table, f"{table}-shards", suffix="calculated")
        except self._failures as error:
            raise _not("read", table, error) from error

    def put(self, kind: str, entries: Mapping[str, Entry]) -> None:
        """Write entries, some at once, and wait for all."""
        items = (
            {"journal": self._key(kind), "name": name, "entry": json.dumps(entry)} for name, entry in entries.items()
        )
        try:
            with ThreadPoolExecutor(_WRITERS) as writers:
                for _ in writers.map(self._table.put, items):
                    pass
        except self._failures as error:
            raise _not("written", self._name, error) from error

    def rows(self, kind: str) -> Iterator[tuple[str, Entry]]:
        """Yield entries, page by page."""
        try:
            for item in self._table.query(self._key(kind)):
                yield str(item["name"]), json.loads(item["entry"])
        except (KeyError, ValueError, *self._failures) as error:
            raise _not("read", self._name, error) from error

    def close(self) -> None:
        """Do nothing: the client keeps no connection that must be closed."""

    def _key(self, kind: str) -> str:
        return f"{self._address}#{kind}"


def _not(done: str, name: str, error: Exception) -> StatementRefused:
    return StatementRefused(f"JOURNAL_NOT_{done.upper()}", f"the journal {name} cannot be {done}: {error}")
