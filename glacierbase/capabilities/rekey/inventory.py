"""The inventory of a data set: each object with an old key beside the one with its new key, listed and joined by the engine."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

from glacierbase.capabilities.rekey import tasks
from glacierbase.capabilities.rekey.keys import RekeyedObjects
from glacierbase.errors import EngineError, StatementRefused
from glacierbase.executors import Row
from glacierbase.executors.actions import ActionRun
from glacierbase.model.escape import on_one_line
from glacierbase.model.text import counted
from glacierbase.run.installed import pip_install

logger = logging.getLogger("glacierbase")

_TASKS = "glacierbase.capabilities.rekey.tasks"
_VIEW = "glacierbase_rekey"
_LISTED = "key STRING, size BIGINT, etag STRING, modified BIGINT, storage_class STRING"
_COPIED = "chunk BIGINT, key STRING, new_key STRING, size BIGINT, etag STRING, new_etag STRING, outcome STRING"
# Ranges of keys that each task lists, and partitions that it reads: a short one leaves time for those of others.
_PARTS_PER_TASK = 4
# Objects of a chunk, about.
OBJECTS_PER_CHUNK = 1000
# Chunks that one job of the engine copies or deletes: what a kill leaves without an entry in the journal.
CHUNKS_PER_JOB = 64
# The place of a pair is a hash of this many bits. Chunks are ranges of places, and the engine keeps pairs by the first bits in
# partitions, sorted by place within, so that a job reads its chunks and not all pairs.
_PLACE_BITS, _FIRST_BITS = 31, 11
_NAMED = 3
_LEFT = "state IN ('missing', 'differs')"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many pairs there are, and the bytes of their objects.

    Attributes:
        same: whose content is the same.
        due: of the others, those that no writer may still be writing.
        copyable: of these, those whose twin is missing or older.
    """

    all: int
    same: int
    same_bytes: int
    due: int
    copyable: int
    copyable_bytes: int


class Inventory:
    """The pairs of objects, as one listing of both sides found them.

    A pair is `same`, `missing` (there is no object with the new key) or `differs`. ETags that differ prove nothing,
    because those of objects in parts or with keys of KMS do: their content is compared.
    """

    def __init__(self, run: ActionRun, objects: RekeyedObjects) -> None:
        self._run, self._objects = run, objects
        # As many at once as the call says, each with a client of its own.
        self._tasks = int(run.arguments["tasks"])
        self._divided = f"/*+ REPARTITION({self._tasks}) */"
        self.now = 0  # Of the store's clock when the listing began, in milliseconds.

    def read(self) -> Counts:
        """List and compare all objects.

        Raises:
            StatementRefused: `S3_REFUSED`; `CANNOT_REKEY`: two objects would get one key, or one is archived.
        """
        self.close()
        self.list_both()
        self._cache_by_place("pairs", _pairs(self._objects))
        unknown, numbers = self._check_pairs()
        named = "p.key, p.new_key, p.size, p.etag, p.modified, p.storage_class, p.new_etag, p.new_modified, p.place"
        if unknown:
            self._run.progress = f"comparing {counted(unknown, 'object')}"
            self._run.make_view(
                f"{_VIEW}_compared",
                f"SELECT {self._divided} {literal(self._objects.bucket)}, key, new_key FROM {_VIEW}_pairs"
                " WHERE state = 'unknown'",
                f"{_TASKS}:compare_objects",
                "key STRING, outcome STRING",
            )
            self._cache_by_place(
                "states",
                f"SELECT {named}, coalesce(c.outcome, p.state) AS state FROM {_VIEW}_pairs p"
                f" LEFT JOIN {_VIEW}_compared c ON c.key = p.key WHERE p.new_key IS NOT NULL",
            )
            [numbers] = self._run.query(f"SELECT {self._numbers} FROM {_VIEW}_states")
        else:
            self._run.execute(
                f"CREATE OR REPLACE TEMPORARY VIEW {_VIEW}_states AS SELECT {named}, p.state FROM {_VIEW}_pairs p"
                " WHERE p.new_key IS NOT NULL"
            )
        *counts, key, why = numbers
        if key is not None:
            raise StatementRefused("S3_REFUSED", f"{on_one_line(key)} and its twin cannot be compared: {why}")
        return Counts(*map(int, counts))

    def list_both(self) -> None:
        """Make the views of the objects of both sides. They list when they are queried."""
        self._run.check()
        s3 = client()
        bucket = self._objects.bucket
        with s3_errors(bucket):
            answer = tasks.repeated(partial(s3.head_bucket, Bucket=bucket))["ResponseMetadata"]
            self.now = round(_date(answer["HTTPHeaders"]).timestamp() * 1000)
            starts = {"old": self._objects.old_start, "new": self._objects.new_start}
            ranges = {
                side: list(_ranges(s3, bucket, start, self._tasks * _PARTS_PER_TASK)) for side, start in starts.items()
            }
        for side, start in starts.items():
            rows = ", ".join(f"({_or_null(after)}, {_or_null(until)})" for after, until in ranges[side])
            self._run.make_view(
                f"{_VIEW}_{side}",
                f"SELECT {self._divided} {literal(bucket)}, {literal(start)}, after, until"
                f" FROM VALUES {rows} AS ranges(after, until)",
                f"{_TASKS}:list_objects",
                _LISTED,
            )
        self._run.progress = "listing objects"

    def close(self) -> None:
        """Forget what the engine keeps of the pairs."""
        for name in ("states", "pairs"):
            self._drop(name)

    def named(self) -> str:
        """Return the first old keys that are due, for people."""
        rows = self._run.query(f"SELECT key FROM {_VIEW}_states WHERE {self._due} ORDER BY key LIMIT {_NAMED}")
        return ", ".join(on_one_line(str(row[0])) for row in rows)

    @property
    def _due(self) -> str:
        until = self.now - int(self._run.arguments["lag_seconds"]) * 1000
        return f"{_LEFT} AND greatest(modified, coalesce(new_modified, 0)) <= {until}"

    @property
    def _copyable(self) -> str:
        # A newer twin is not replaced: after the cutover, writers may write only new keys.
        return f"{self._due} AND coalesce(new_modified, 0) <= modified"

    @property
    def _numbers(self) -> str:
        """The expressions of `Counts`, of the first key whose comparison failed, and of why."""
        failed = "new_key IS NOT NULL AND state NOT IN ('same', 'missing', 'differs')"
        return (
            f"count(new_key), count_if(state = 'same'), coalesce(sum(CASE WHEN state = 'same' THEN size END), 0),"
            f" count_if({self._due}), count_if({self._copyable}), coalesce(sum(CASE WHEN {self._copyable} THEN size END), 0),"
            f" min(CASE WHEN {failed} THEN key END), min(CASE WHEN {failed} THEN state END)"
        )

    def copy(self, counts: Counts) -> Iterator[list[Row]]:
        """Copy what is copyable, job by job; yield the rows of `tasks.copy_objects` of each."""
        chunks = -(-counts.copyable // OBJECTS_PER_CHUNK)
        what = f"copying {counted(counts.copyable, 'object')} of {counts.copyable_bytes:,} bytes"
        for first in range(0, chunks, CHUNKS_PER_JOB):
            self._run.progress = f"{what}, chunk {first + 1} of {chunks}"
            yield self._made(
                "copied",
                f"SELECT {self._divided} {literal(self._objects.bucket)}, key, new_key, size, etag, storage_class,"
                f" new_etag, {_chunk(chunks)} FROM {_VIEW}_states"
                f" WHERE {self._copyable} AND {_within(chunks, first, first + CHUNKS_PER_JOB)}",
                f"{_TASKS}:copy_objects",
                _COPIED,
            )

    def manifest(self, chunks: int) -> list[Row]:
        """Return `chunk, objects, bytes, digest` of all pairs that are the same, in that many chunks by a hash of the old key."""
        line = "sha2(to_json(array(key, etag, CAST(size AS STRING), CAST(modified AS STRING), new_key, new_etag)), 256)"
        return self._run.query(
            f"SELECT chunk, count(*), sum(size), sha2(concat_ws('', sort_array(collect_list(line))), 256) FROM"
            f" (SELECT {_chunk(chunks)} AS chunk, size, {line} AS line FROM {_VIEW}_states WHERE state = 'same')"
            f" GROUP BY chunk ORDER BY chunk"
        )

    def lines(self, chunks: int, first: int, last: int) -> list[Row]:
        """Return `chunk, key, etag, new_key, new_etag` of the pairs in some of the chunks, the last one not included."""
        return self._run.query(
            f"SELECT {_chunk(chunks)} AS chunk, key, etag, new_key, new_etag FROM {_VIEW}_states"
            f" WHERE state = 'same' AND {_within(chunks, first, last)} ORDER BY chunk, key"
        )

    def delete(self, chunks: int, first: int, last: int) -> list[Row]:
        """Delete the objects of some of the chunks; return the rows of `tasks.delete_objects`."""
        return self._made(
            "deleted",
            f"SELECT {self._divided} {literal(self._objects.bucket)}, key, etag, new_key, new_etag FROM {_VIEW}_states"
            f" WHERE state = 'same' AND {_within(chunks, first, last)}",
            f"{_TASKS}:delete_objects",
            "key STRING, outcome STRING",
        )

    def _made(self, name: str, query: str, function: str, columns: str) -> list[Row]:
        """Return the rows that a function makes of those of a query."""
        self._run.make_view(f"{_VIEW}_tasks", query, function, columns)
        try:
            # As a statement, it shows its progress and can be cancelled.
            self._cache(name, f"SELECT * FROM {_VIEW}_tasks")
            return self._run.query(f"SELECT * FROM {_VIEW}_{name}")
        finally:
            self._drop(name)

    def _drop(self, name: str) -> None:
        with suppress(EngineError):
            self._run.session.execute(f"DROP VIEW IF EXISTS {_VIEW}_{name}")

    def _cache(self, name: str, query: str) -> None:
        # One listing answers all questions.
        self._run.execute(f"CACHE TABLE {_VIEW}_{name} AS {query}")

    def _cache_by_place(self, name: str, query: str) -> None:
        # Spark would divide the rows of a cache into 200 partitions, however few there are.
        hint = f"/*+ REPARTITION({self._tasks * _PARTS_PER_TASK}, first_bits) */"
        first_bits = f"shiftright(place, {_PLACE_BITS - _FIRST_BITS}) AS first_bits"
        self._cache(name, f"SELECT {hint} * FROM (SELECT *, {first_bits} FROM ({query})) SORT BY place")

    def _check_pairs(self) -> tuple[int, Sequence[Any]]:
        """Refuse what cannot be copied; return the number of pairs whose content must be compared, and the other numbers."""
        archived = f"{_LEFT} AND storage_class IN ('GLACIER', 'DEEP_ARCHIVE')"
        [[unknown, cold, cold_key, others, other_key, *numbers]] = self._run.query(
            f"SELECT count_if(state = 'unknown'), count_if({archived}), min(CASE WHEN {archived} THEN key END),"
            f" count_if(new_key IS NULL), min(CASE WHEN new_key IS NULL THEN key END),"
            f" {self._numbers} FROM {_VIEW}_pairs"
        )
        if others:
            logger.warning(
                "%s below %s do not match %s, such as %s; they stay where they are",
                counted(others, "key"), self._objects.address, self._objects.old_keys, on_one_line(other_key),
            )  # fmt: skip
        if cold:
            raise StatementRefused(
                "CANNOT_REKEY",
                f"{counted(cold, 'object')} archived, such as {on_one_line(cold_key)}; restore that first",
            )
        twice = not self._objects.is_one_to_one and self._run.query(
            f"SELECT new_key, min(key), max(key) FROM {_VIEW}_pairs WHERE new_key IS NOT NULL GROUP BY new_key"
            " HAVING count(*) > 1 LIMIT 1"
        )
        if twice:
            new_key, *keys = map(on_one_line, twice[0])
            raise StatementRefused("CANNOT_REKEY", f"{keys[0]} and {keys[1]} would both get the key {new_key}")
        return int(unknown), numbers


def _pairs(objects: RekeyedObjects) -> str:
    """Return the query of the pairs, and of keys that match neither template, which have no new key.

    Spark does not know how many keys its tasks list: without the hint it would send one side whole to all machines, after a list
    of it in its driver.
    """
    new_key = f"CASE WHEN key RLIKE {literal(objects.old_pattern)} THEN {objects.new_key_sql('key', literal)} END"
    return (
        f"SELECT /*+ MERGE(n) */ o.*, shiftrightunsigned(xxhash64(o.key), {64 - _PLACE_BITS}) AS place,"
        " n.etag AS new_etag, n.modified AS new_modified, CASE WHEN o.new_key IS NULL THEN 'other'"
        " WHEN n.key IS NULL THEN 'missing'"
        " WHEN n.size <> o.size THEN 'differs' WHEN n.etag = o.etag THEN 'same' ELSE 'unknown' END AS state"
        f" FROM (SELECT *, {new_key} AS new_key FROM {_VIEW}_old WHERE NOT key RLIKE {literal(objects.new_pattern)}) o"
        f" LEFT JOIN (SELECT * FROM {_VIEW}_new WHERE key RLIKE {literal(objects.new_pattern)}) n ON n.key = o.new_key"
    )


def recent(objects: RekeyedObjects, since: int, until: int) -> str:
    """Return the query of the number of objects with old keys that were written in a time, of those without a twin, and of one."""
    missing = "state = 'missing'"
    return (
        f"SELECT count(*), count_if({missing}), min(CASE WHEN {missing} THEN key END) FROM ({_pairs(objects)})"
        f" WHERE modified > {since} AND modified <= {until}"
    )


def _chunk(chunks: int) -> str:
    """Return the expression for the chunk of a pair."""
    return f"place * {chunks} div {2**_PLACE_BITS}"


def _within(chunks: int, first: int, last: int) -> str:
    """Return the condition that a pair is in some of the chunks, the last one not included."""
    start, end = (-(-(number * 2**_PLACE_BITS) // chunks) for number in (first, last))
    return f"place >= {start} AND place < {end}"


def client() -> Any:
    """Return a client of S3.

    Raises:
        StatementRefused: `S3_REFUSED`: botocore is missing, or its configuration is wrong.
    """
    try:
        return tasks.client()
    except ImportError as error:
        raise StatementRefused("S3_REFUSED", f"{error.name} is not installed", hint=pip_install("rekey")) from error
    except Exception as error:  # Such as a profile or a region that does not exist.
        raise StatementRefused("S3_REFUSED", f"the client of S3 cannot be configured: {error}") from error


@contextmanager
def s3_errors(bucket: str) -> Iterator[None]:
    """Raise StatementRefused, `S3_REFUSED`, for what botocore raises."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise StatementRefused("S3_REFUSED", f"bucket {bucket}: {error}") from error


def literal(text: str) -> str:
    """Return a text as a literal that depends on no setting of the session."""
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def _or_null(key: str | None) -> str:
    return "CAST(NULL AS STRING)" if key is None else literal(key)


def _date(headers: Any) -> datetime:
    return parsedate_to_datetime(headers["date"])


def _ranges(s3: Any, bucket: str, start: str, count: int) -> Iterator[tuple[str | None, str | None]]:
    """Yield at most `count` ranges that cover all keys with a start: after a key, or from the first one; to a key, or to the last.

    The ends are folders: those below the start, or below these where there are few.
    """
    folders = _folders(s3, bucket, start)
    if 0 < len(folders) < count:
        folders = [inner for folder in folders for inner in (_folders(s3, bucket, folder) or [folder])]
    step = -(-len(folders) // count) or 1
    ends = folders[step::step]
    yield from zip([None, *ends], [*ends, None], strict=True)


def _folders(s3: Any, bucket: str, start: str) -> list[str]:
    folders: list[str] = []
    request = {"Bucket": bucket, "Prefix": start, "Delimiter": "/"}
    while True:
        page = tasks.repeated(partial(s3.list_objects_v2, **request))
        folders += [entry["Prefix"] for entry in page.get("CommonPrefixes", ())]
        if not page["IsTruncated"]:
            return sorted(folders, key=str.encode)
        request = {**request, "ContinuationToken": page["NextContinuationToken"]}
