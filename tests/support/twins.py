"""The oracle of plain DDL: the same statements on Spark and without it, in two namespaces of one catalog, and what differs."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from glacierbase.errors import EngineError
from glacierbase.executors import Session
from glacierbase.executors.iceberg.executor import IcebergExecutor
from glacierbase.executors.iceberg.lakes import Lakes
from tests.support.beds import LakeBed

# Stands for the namespace in a statement, as a word of its own.
NAMESPACE = "NS"
# What no two tables have in common.
_OF_ONE_TABLE = frozenset({"table-uuid", "last-updated-ms", "uuid"})
# Iceberg's REST servers add it to the properties of a table that they stage.
_CREATED_AT = "created-at"
_OF_ONE_SNAPSHOT = frozenset({"timestamp-ms", "manifest-list", "metadata-file"})
# Spark writes -1 where there is no snapshot, and an empty list where PyIceberg writes nothing, or the reverse.
_NOTHING: tuple[object, ...] = (None, [], {})


@dataclass
class Outcome:
    """What one statement did.

    Attributes:
        sql: the statement, with `NS` for the namespace.
        spark, direct: the error class; None where it succeeded.
        why: why it is not plain; None where it is.
        differences: what differs of the metadata after it, a line each.
        spark_says, direct_says: the messages.
    """

    sql: str
    spark: str | None = None
    direct: str | None = None
    why: str | None = None
    differences: list[str] = field(default_factory=list)
    spark_says: str = ""
    direct_says: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether both did the same."""
        return self.spark == self.direct and not self.differences


class Twins:
    """Two namespaces of the catalog `lake`: one that only Spark changes, one that changes without it where statements are plain."""

    def __init__(self, bed: LakeBed) -> None:
        self._bed = bed
        self._spark: Session = bed.executor.open_session()
        self._direct = IcebergExecutor(bed.catalog)
        self._lakes = Lakes(bed.catalog)
        self._by_spark, self._by_direct = (f"{twin}{uuid.uuid4().hex[:8]}" for twin in "sd")
        for namespace in (self._by_spark, self._by_direct):
            self._spark.execute(f"CREATE NAMESPACE lake.{namespace}")

    def run(self, statements: Sequence[str]) -> list[Outcome]:
        """Run statements on both, one after the other. One that is not plain runs on Spark in both."""
        return [self._run(sql) for sql in statements]

    def compare(self, statements: Sequence[str], run: Callable[[list[str]], None]) -> list[str]:
        """Run statements on Spark, and the same ones in the other namespace by `run`. Return what differs of the metadata."""
        for sql in statements:
            self._spark.execute(_within(self._by_spark, sql))
        run([_within(self._by_direct, sql) for sql in statements])
        return list(_differences("", self._state(self._by_spark), self._state(self._by_direct)))

    def _run(self, sql: str) -> Outcome:
        outcome = Outcome(sql)
        outcome.spark, outcome.spark_says = _error(self._spark, _within(self._by_spark, sql))
        own = _within(self._by_direct, sql)
        with closing(self._direct.open_session()) as session:
            outcome.direct, outcome.direct_says = _error(session, own)
        if outcome.direct == "NOT_PLAIN":
            outcome.why = outcome.direct_says
            # A new session: the catalog of the first one caches tables as they were before the direct commits.
            with closing(self._bed.executor.open_session()) as session:
                outcome.direct, outcome.direct_says = _error(session, own)
        outcome.differences = list(_differences("", self._state(self._by_spark), self._state(self._by_direct)))
        return outcome

    def _state(self, namespace: str) -> dict[str, Any]:
        """Return the metadata of all tables of a namespace and of those inside, as far as it is not of one table only."""
        lake = self._lakes.open("lake")
        inner = [path for path in lake.list_namespaces((namespace,)) if path[:1] == (namespace,) and len(path) > 1]
        state: dict[str, Any] = {}
        for path in ((namespace,), *inner):
            name = ".".join(path).replace(namespace, NAMESPACE)
            state[name] = _common(dict(lake.load_namespace_properties(path)), namespace)
            for identifier in lake.list_tables(path):
                table = lake.load_table(identifier)
                with table.io.new_input(table.metadata_location).open() as stream:
                    state[f"{name}.{identifier[-1]}"] = _normalised(json.loads(stream.read()), namespace)
        return state


def _within(namespace: str, sql: str) -> str:
    """Return a statement with this namespace."""
    return re.sub(rf"\b{NAMESPACE}\b", namespace, sql)


def _error(session: Session, sql: str) -> tuple[str | None, str]:
    try:
        session.execute(sql)
    except EngineError as error:
        return error.error_class, error.message
    return None, ""


def _normalised(metadata: dict[str, Any], namespace: str) -> Any:
    """Return the metadata without what belongs to one table: ids of snapshots become their positions, logs their lengths."""
    positions = {snapshot["snapshot-id"]: number for number, snapshot in enumerate(metadata.get("snapshots") or ())}
    for key in ("metadata-log", "snapshot-log"):
        metadata[key] = len(metadata.get(key) or ())
    if metadata.get("current-snapshot-id") == -1:
        del metadata["current-snapshot-id"]
    for snapshot in metadata.get("snapshots") or ():
        snapshot["summary"] = {"operation": (snapshot.get("summary") or {}).get("operation")}
    return _common(_renumbered(metadata, positions), namespace)


def _renumbered(value: Any, positions: dict[int, int]) -> Any:
    if isinstance(value, dict):
        return {
            key: positions.get(inner, inner) if key.endswith("snapshot-id") else _renumbered(inner, positions)
            for key, inner in value.items()
        }
    return [_renumbered(inner, positions) for inner in value] if isinstance(value, list) else value


def _common(value: Any, namespace: str) -> Any:
    """Return a value without what only one table has, and without empty parts."""
    if isinstance(value, dict):
        kept = {
            key: "a time" if key == _CREATED_AT else _common(inner, namespace)
            for key, inner in value.items()
            if key not in _OF_ONE_TABLE | _OF_ONE_SNAPSHOT
        }
        return {key: inner for key, inner in kept.items() if inner not in _NOTHING}
    if isinstance(value, list):
        return [_common(inner, namespace) for inner in value]
    return value.replace(namespace, NAMESPACE) if isinstance(value, str) else value


def _differences(path: str, one: Any, other: Any) -> Iterator[str]:
    """Yield where two documents differ, with both values: Spark's first."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}, key=str):
            yield from _differences(f"{path}/{key}", one.get(key), other.get(key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from _differences(f"{path}/{number}", *pair)
    elif one != other or type(one) is not type(other):
        yield f"{path}: {one!r} by Spark, {other!r} without it"
