"""The oracle of plain DDL: the same statements on Spark and without it, in two namespaces of one catalog, and what differs."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from glacierbase.executors import Session
from glacierbase.executors.direct.executor import IcebergExecutor
from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from tests.support.beds import LakeBed
from tests.support.errors import error_of
from tests.support.lake_states import differences, state_of, within


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
        self._lakes = PyIcebergCatalogs(bed.catalog)
        self._by_spark, self._by_direct = (f"{twin}{uuid.uuid4().hex[:8]}" for twin in "sd")
        for namespace in (self._by_spark, self._by_direct):
            self._spark.execute(f"CREATE NAMESPACE lake.{namespace}")

    def run(self, statements: Sequence[str]) -> list[Outcome]:
        """Run statements on both, one after the other. One that is not plain runs on Spark in both."""
        return [self._run(sql) for sql in statements]

    def compare(self, statements: Sequence[str], run: Callable[[list[str]], None]) -> list[str]:
        """Run statements on Spark, and the same ones in the other namespace by `run`. Return what differs of the metadata."""
        for sql in statements:
            self._spark.execute(within(self._by_spark, sql))
        run([within(self._by_direct, sql) for sql in statements])
        return self._differences()

    def _run(self, sql: str) -> Outcome:
        outcome = Outcome(sql)
        outcome.spark, outcome.spark_says = error_of(self._spark, within(self._by_spark, sql))
        own = within(self._by_direct, sql)
        with closing(self._direct.open_session()) as session:
            outcome.direct, outcome.direct_says = error_of(session, own)
        if outcome.direct == "NOT_PLAIN":
            outcome.why = outcome.direct_says
            # A new session: the catalog of the first one caches tables as they were before the direct commits.
            with closing(self._bed.executor.open_session()) as session:
                outcome.direct, outcome.direct_says = error_of(session, own)
        outcome.differences = self._differences()
        return outcome

    def _differences(self) -> list[str]:
        lake = self._lakes.open("lake")
        return list(differences(state_of(lake, self._by_spark), state_of(lake, self._by_direct)))
