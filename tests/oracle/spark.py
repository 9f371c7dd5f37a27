"""The cases on real Spark and real Iceberg."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from glacierbase.executors import Session
from glacierbase.executors.direct.lakes import PyIcebergCatalogs
from tests.oracle.records import Case, Recorded, changes_between
from tests.support.beds import LakeBed, lake_bed
from tests.support.catalog_files import LAKE, RUNTIME
from tests.support.errors import error_of
from tests.support.lake_states import State, state_of, within

# The owner of what is created.
USER = "ana"


class Spark:
    """A Spark that runs cases, each in a new namespace."""

    def __init__(self, bed: LakeBed) -> None:
        self._bed = bed
        self._lakes = PyIcebergCatalogs(bed.catalog)
        self.spark: str = bed.spark.version
        self.iceberg = RUNTIME.rpartition(":")[2]

    def run(self, name: str, statements: Sequence[str]) -> Case:
        """Return what each statement of a case does."""
        with closing(self._bed.executor.open_session()) as session:
            return Case(name, self.spark, self.iceberg, tuple(self._outcomes(session, statements)))

    def _outcomes(self, session: Session, statements: Sequence[str]) -> Iterator[Recorded]:
        namespace = f"o{uuid.uuid4().hex[:8]}"
        before: State = {}
        for sql in statements:
            error, _ = error_of(session, within(namespace, sql))
            after = state_of(self._lakes.open("lake"), namespace)
            yield Recorded(sql, error, changes_between(before, after))
            before = after


@contextmanager
def started() -> Iterator[Spark]:
    """Start a Spark on a new warehouse."""
    os.environ["SPARK_USER"] = USER
    with TemporaryDirectory() as folder:
        home = Path(folder) / "project"
        with lake_bed(LAKE.replace("WAREHOUSE", str(home / "warehouse")), home) as bed:
            yield Spark(bed)
