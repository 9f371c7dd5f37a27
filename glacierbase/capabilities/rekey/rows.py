"""Whether the rewrites of an Iceberg table kept all rows: each is compared with the snapshot before it.

A rewrite replaces files and changes no row, so that both snapshots must have the same rows, whatever other writers commit before
and after it. A tag marks the snapshot up to which rewrites were compared. It also keeps that snapshot from expiring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from glacierbase.errors import EngineError, StatementRefused
from glacierbase.executors.actions import ActionRun
from glacierbase.model.names import name_parts, spark_identifier
from glacierbase.model.shape import Shape
from glacierbase.run.clock import sleep

_TAG = "glacierbase_rekey"
# Of these, Spark computes a hash; a value of any other type is hashed as JSON.
_HASHED = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp", "timestamp_ntz", "string",
           "binary")  # fmt: skip
# A commit of another writer refuses that of a tag; a delete or an overwrite of the same files, that of a rewrite.
_CONFLICTS = ("CommitFailedException", "ValidationException")
_ATTEMPTS, _PAUSE_SECONDS = 5, 2.0


def retried(run: ActionRun, sql: str) -> None:
    """Run a statement, again if other writers made its commit impossible. Raises as `ActionRun.execute` does."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            run.execute(sql)
            return
        except EngineError as error:
            if attempt == _ATTEMPTS or not error.error_class.endswith(_CONFLICTS):
                raise
        sleep(_PAUSE_SECONDS * attempt)


class Rewrites:
    """The rewrites of a table since the tag."""

    def __init__(self, run: ActionRun, table: str, shape: Shape, condition_of_files: Callable[[str], str]) -> None:
        """Args:
        table: its name as an identifier.
        condition_of_files: returns a condition on rows that all rows of the files in a query of `entries` meet.
        """
        self._run = run
        self._table = table
        self._shape = shape
        self._condition_of_files = condition_of_files

    def begin(self) -> None:
        """Compare what an earlier run rewrote; without a tag, set it to the current snapshot."""
        self.compare()
        refs = self._refs()
        if _TAG not in refs and "main" in refs:
            self._mark(refs["main"])

    def compare(self) -> None:
        """Compare each rewrite since the tag with its parent, and move the tag.

        Raises:
            StatementRefused: rows differ, or a snapshot is gone.
        """
        self._run.execute(f"REFRESH TABLE {self._table}")
        refs = self._refs()
        if _TAG not in refs:
            return
        for snapshot, parent in reversed([*self._since(refs["main"], refs[_TAG])]):
            self._compare(snapshot, parent)
        if refs["main"] != refs[_TAG]:
            self._mark(refs["main"])

    def end(self) -> None:
        """Remove the tag."""
        retried(self._run, f"ALTER TABLE {self._table} DROP TAG IF EXISTS {_TAG}")

    def _mark(self, snapshot: int) -> None:
        retried(
            self._run,
            f"ALTER TABLE {self._table} CREATE OR REPLACE TAG {_TAG} AS OF VERSION {snapshot} RETAIN 365 DAYS",
        )

    def _refs(self) -> dict[str, int]:
        return {str(name): int(snapshot) for name, snapshot in self._run.query(
            f"SELECT name, snapshot_id FROM {self._table}.refs"
        )}  # fmt: skip

    def _since(self, current: int, tagged: int) -> Iterator[tuple[int, int]]:
        """Yield the rewrites from the current snapshot back to the tagged one, each with its parent."""
        rows = self._run.query(
            "SELECT snapshot_id, parent_id, operation = 'replace' AND coalesce(summary['deleted-data-files'], '0') <> '0'"
            f" FROM {self._table}.snapshots"
        )
        parents = {int(snapshot): (parent, is_rewrite) for snapshot, parent, is_rewrite in rows}
        while current != tagged:
            parent, is_rewrite = parents.get(current, (None, False))
            if parent not in parents:
                raise StatementRefused(
                    "ROWS_NOT_COMPARED",
                    f"{self._table}: snapshot {current} does not lead back to {tagged}, up to which rewrites were compared:"
                    " snapshots expired meanwhile, or the table was rolled back; compare the rows by hand, then"
                    f" `ALTER TABLE {self._table} DROP TAG {_TAG}`",
                )
            if is_rewrite:
                yield current, parent
            current = parent

    def _compare(self, snapshot: int, parent: int) -> None:
        removed = f"{self._table}.entries VERSION AS OF {snapshot} WHERE snapshot_id = {snapshot} AND status = 2"
        condition = self._condition_of_files(removed)
        columns = self._columns()
        before, after = (self._sums(version, columns, condition) for version in (parent, snapshot))
        if before != after:
            names = ("the number of rows", "whole rows", *columns)
            differ = [name for name, *sums in zip(names, before, after, strict=True) if len(set(sums)) > 1]
            raise StatementRefused(
                "ROWS_DIFFER",
                f"{self._table}: snapshot {snapshot} rewrote files of {parent}, and does not have the same rows: differs in"
                f" {', '.join(differ)}; `CALL … rollback_to_snapshot` returns to {parent}",
            )

    def _columns(self) -> dict[str, str]:
        """Return the expression that is hashed of each column, by its name."""
        expressions = {}
        for column in self._shape.columns:
            if len(parts := name_parts(column.name)) == 1:
                name = spark_identifier(parts[0])
                is_hashed = column.type in _HASHED or column.type.startswith("decimal")
                expressions[parts[0]] = name if is_hashed else f"to_json(struct({name}))"
        return expressions

    def _sums(self, version: int, columns: dict[str, str], condition: str) -> tuple[object, ...]:
        """Return the number of rows, and sums of hashes: of whole rows, and of each column."""
        hashes = (", ".join(columns.values()), *columns.values())
        sums = (f"sum(CAST(xxhash64({hashed}) AS DECIMAL(38, 0)))" for hashed in hashes)
        where = f" WHERE {condition}" if condition else ""
        [row] = self._run.query(f"SELECT count(*), {', '.join(sums)} FROM {self._table} VERSION AS OF {version}{where}")
        return tuple(row)
