"""Generated histories of Delta tables: the statements, what another client does, and a witness that reads the logs.

A log is read as JSON. Ids of columns and tables identify them: https://github.com/delta-io/delta/blob/master/PROTOCOL.md#column-mapping
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from glacierbase.project.project import Project
from tests.engines.test_migrate_delta import with_delta
from tests.histories.asked import Story
from tests.histories.generated import DELTA_ACTS, NAMESPACES, File, OtherClient, Sketch, Writer
from tests.histories.stage import SparkStage
from tests.histories.witness import Part, Witness
from tests.support.beds import LakeBed

_CATALOG = "spark_catalog"
_SQL_TYPES = {"integer": "INT", "long": "BIGINT", "string": "STRING", "timestamp": "TIMESTAMP"}
_MAPPED = "'delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true'"
_LEFT_OUT = ("delta.columnMapping.maxColumnId",)


class DeltaStage(SparkStage):
    """A stage on which Spark runs the files, with new namespaces of its session catalog."""

    def __init__(self, folder: Path, bed: LakeBed) -> None:
        super().__init__(folder, bed)
        self.client = _SqlClient(bed.spark.newSession())

    def catalog_file(self, more: str = "") -> None:
        self.project.catalog(with_delta(self.database.parent))


class _SqlClient:
    """Another program, which runs SQL."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark

    def create_namespace(self, name: str) -> None:
        self.run(f"DROP SCHEMA IF EXISTS {name} CASCADE")
        self.run(f"CREATE SCHEMA {name}")

    def run(self, sql: str) -> None:
        self._spark.sql(sql)


class _LogWitness(Witness):
    """The Delta tables of a warehouse, by their ids."""

    def __init__(self, warehouse: Path) -> None:
        super().__init__(warehouse)
        self._warehouse = warehouse

    def _tables(self) -> Iterator[tuple[str, tuple[str, Any]]]:
        for namespace in NAMESPACES:
            for log in self._warehouse.glob(f"{namespace}.db/*/_delta_log"):
                state: dict[str, Any] = {}
                for file in sorted(log.glob("*.json")):
                    for line in file.read_text().splitlines():
                        state |= json.loads(line)
                yield state["metaData"]["id"], (f"{_CATALOG}.{namespace}.{log.parent.name}", state)

    def _parts(self, metadata: Any) -> tuple[dict[Part, Any], dict[Part, str]]:
        table, protocol = metadata["metaData"], metadata["protocol"]
        parts: dict[Part, Any] = {("format", ""): protocol["minWriterVersion"]}
        names: dict[Part, str] = {}
        for column_id, path, value in _columns(json.loads(table["schemaString"])["fields"], ()):
            parts["column", column_id] = value
            names["column", column_id] = ".".join(path)
        for column in table["partitionColumns"]:
            parts["partition", column] = column, "identity"
            names["partition", column] = column
        features = {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}
        properties = {f"delta.feature.{feature}": "supported" for feature in features}
        properties |= {f"delta.{key}": str(protocol[key]) for key in ("minReaderVersion", "minWriterVersion")}
        properties |= {key: value for key, value in table["configuration"].items() if key not in _LEFT_OUT}
        for key, value in properties.items():
            parts["property", key] = value
            names["property", key] = key
        return parts, names


def _columns(fields: Any, above: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...], Any]]:
    for one in fields:
        kind, metadata, path = one["type"], one["metadata"], (*above, one["name"])
        name = kind if isinstance(kind, str) else kind["type"]
        yield (
            metadata["delta.columnMapping.id"],
            path,
            (one["name"], name, not one["nullable"], metadata.get("comment")),
        )
        if isinstance(kind, dict):
            yield from _columns(kind["fields"], path)


def _sketch(name: str, state: Any) -> Sketch:
    """Return the sketch of a table by its log."""
    columns: dict[str, str] = {}
    for _, path, (_, kind, _, _) in _columns(json.loads(state["metaData"]["schemaString"])["fields"], ()):
        columns[".".join(path)] = _SQL_TYPES.get(kind, "STRUCT")
    partitioning = [(column, "") for column in state["metaData"]["partitionColumns"]]
    return Sketch(name, columns, partitioning, properties=set(state["metaData"]["configuration"]) & {"k1", "k2"})


class _DeltaWriter(Writer):
    """Writes the statements of one file for Delta tables."""

    catalog = _CATALOG

    @property
    def acts(self) -> Sequence[Callable[[Writer, Sketch], object]]:
        return DELTA_ACTS

    def alter(self, table: Sketch, clause: str) -> None:
        if not clause.startswith("WRITE"):  # Delta has no such order.
            super().alter(table, clause)

    def add(self, sql: str, *names: str) -> None:
        sql = (
            sql.replace("USING iceberg", "USING delta").replace("bucket(4, id)", "id").replace("truncate(10, id)", "id")
        )
        if " USING delta" in sql:
            sql = f"{sql[:-1]}, {_MAPPED})" if "TBLPROPERTIES" in sql else f"{sql} TBLPROPERTIES ({_MAPPED})"
        super().add(sql, *names)


class _OtherSqlClient(OtherClient):
    """Another program, which changes Delta tables by SQL."""

    def __init__(self, chance: random.Random, client: _SqlClient, sketches: Callable[[], Mapping[str, Sketch]]) -> None:
        super().__init__(chance, client)
        self._sketches = sketches

    def act(self, new: Collection[str] = ()) -> None:
        del new
        if tables := list(self._sketches().values()):
            table = self.chance.choice(tables)
            for statement in self._statements(table):
                with suppress(Exception):  # The table does not admit it.
                    self.client.run(statement)

    def add_column(self, name: str) -> None:
        self.client.run(f"ALTER TABLE {_CATALOG}.{name} ADD COLUMN {self._new()} INT")

    def _statements(self, table: Sketch) -> list[str]:
        head, new = f"ALTER TABLE {table.name}", self._new()
        column = self.chance.choice([name for name in table.columns if name not in table.used()])
        free = [name for name in ("a", "b", "c", "d", "e", "f") if name not in table.columns]
        kinds = [
            [f"{head} ADD COLUMN {new} INT"], [f"{head} ADD COLUMN {(free or [new])[0]} STRING"],
            [f"{head} ADD COLUMN {new} INT", f"{head} DROP COLUMN {new}"], [f"{head} DROP COLUMN {column}"],
            [f"{head} RENAME COLUMN {column} TO {new}"], [f"{head} ALTER COLUMN {column} COMMENT '{new}'"],
            [f"{head} SET TBLPROPERTIES ('{self.chance.choice(('k1', 'k2', new))}' = 'by hand')"],
            [f"{head} UNSET TBLPROPERTIES IF EXISTS ('k1')"],
            [f"DROP TABLE {table.name}", f"CREATE TABLE {table.name} (id BIGINT, made INT) USING delta TBLPROPERTIES ({_MAPPED})"],
            [f"DROP TABLE {table.name}"],
        ]  # fmt: skip
        return self.chance.choice(kinds)


class DeltaStory(Story):
    """A generated history of Delta tables. A file reads all of them before each question: nothing else reads a log."""

    catalog = _CATALOG
    asks_others = False

    @property
    def acts(self) -> Sequence[Callable[[Project], None]]:
        return (*(self._migrate,) * 4, self._disturb)

    def _witness(self) -> Witness:
        [place] = self.stage.client._spark.sql("SET spark.sql.warehouse.dir").collect()
        return _LogWitness(Path(place[1].removeprefix("file:")))

    def _client(self) -> OtherClient:
        return _OtherSqlClient(self.chance, self.stage.client, self._sketches)

    def _sketches(self) -> dict[str, Sketch]:
        return {table.name: _sketch(table.name, table.metadata) for table in self.witness.tables.values() if table.name}

    def _writer(self) -> Writer:
        return _DeltaWriter(self.chance, self._sketches())

    def _ask(self, project: Project) -> None:
        names = [table.name for table in self.witness.tables.values() if table.name]
        if not names:
            return
        self._number += 1
        version = f"{self._number:04}"
        statements = [f"ALTER TABLE {name} SET TBLPROPERTIES ('read' = '{self._number}')" for name in names]
        self._files[version] = File(statements, [{name} for name in names])
        self.stage.project.file(f"{version}_read.sql", self._files[version].sql)
        self._run(project)
        super()._ask(project)
