"""Resolve dependencies and build the class archive ahead of time, for container images and CI caches."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from glacierbase.errors import EngineError, EngineUnavailable
from glacierbase.executors import Warmed
from glacierbase.executors.spark.jars import resolved_jars
from glacierbase.executors.spark.java import find_java_home
from glacierbase.executors.spark.launch import ClassArchive, class_archive, is_local, launch_conf
from glacierbase.executors.spark.local import LocalExecutor
from glacierbase.formats import FORMATS, ICEBERG
from glacierbase.model.catalog import Catalog
from glacierbase.run.activity import doing
from glacierbase.run.run import Run

_CATALOG = re.compile(r"spark\.sql\.catalog\.(\w+)")
# A JVM takes some ten seconds at its end to write an archive.
_ARCHIVE_SECONDS = 300


def warm(catalog: Catalog, run: Run) -> Warmed:
    """Resolve the dependencies, and build the class archive for this Java and these jars unless a usable one exists.

    Contacts the repositories of the dependencies, never the catalog: the rehearsal uses tables in a temporary folder.

    Raises:
        ConfigurationError, EngineUnavailable: as for the start of a session; or no archive was written, or the JVM ignores it.
    """
    conf = catalog.spark_conf
    run = replace(run, shared=None)
    if "spark.remote" in conf:
        return Warmed()
    with TemporaryDirectory() as folder:
        rehearsal = _rehearsal(catalog, Path(folder))
        if catalog.dependencies and resolved_jars(conf, catalog.dependencies) is None:
            LocalExecutor(rehearsal, run).close()
        jars = resolved_jars(conf, catalog.dependencies) or []
        if not is_local(conf):
            return Warmed(len(jars))
        archive = class_archive(find_java_home(), launch_conf(rehearsal, jars))
        start_ms = _start_with(archive, rehearsal, run)
        if start_ms is None:
            with doing(f"{catalog.name}: making the class archive"):
                _make(archive, rehearsal, run, Path(folder))
            start_ms = _start_with(archive, rehearsal, run)
    if start_ms is None:
        archive.path.unlink(missing_ok=True)
        raise EngineUnavailable(
            "ARCHIVE_NOT_USED",
            "this Java does not use the class archive that it wrote",
            "use Java 17; Spark also starts without an archive, more slowly",
        )
    return Warmed(len(jars), archive.path, start_ms)


def _make(archive: ClassArchive, rehearsal: Catalog, run: Run, folder: Path) -> None:
    with archive.making() as flags:
        executor = LocalExecutor(rehearsal, run, flags)
        session = executor.open_session()
        for statement in _statements(rehearsal.spark_conf, folder):
            with suppress(EngineError):  # A failure costs only the classes of that statement.
                session.execute(statement, tag="rehearsal")
        executor.close(_ARCHIVE_SECONDS)


def _start_with(archive: ClassArchive, rehearsal: Catalog, run: Run) -> int | None:
    """Return the milliseconds of a start with the archive; None if there is no archive or the JVM ignores it."""
    if not archive.flags:
        return None
    with TemporaryDirectory() as folder:
        loaded = Path(folder, "loaded")
        started = time.monotonic()
        try:
            with closing(LocalExecutor(rehearsal, run, f"{archive.flags} -Xlog:class+load:file={loaded}")):
                start_ms = round((time.monotonic() - started) * 1000)
        except EngineUnavailable:  # A damaged archive ends the JVM.
            return None
        # `top` is the layer above the Java's classes.
        return start_ms if "shared objects file (top)" in loaded.read_text() else None


def _rehearsal(catalog: Catalog, folder: Path) -> Catalog:
    """Return a catalog that loads the same classes of Spark, on one machine, with all tables in the folder."""
    conf = {
        **catalog.spark_conf,
        "spark.master": "local[*]",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    for name in _iceberg_catalogs(conf):
        prefix = f"spark.sql.catalog.{name}"
        conf = {key: value for key, value in conf.items() if not key.startswith(f"{prefix}.")}
        conf |= {f"{prefix}.type": "hadoop", f"{prefix}.warehouse": str(folder / name)}
    return replace(catalog, spark_conf=conf)


def _iceberg_catalogs(conf: Mapping[str, str]) -> list[str]:
    return [
        match[1]
        for key, value in conf.items()
        if (match := _CATALOG.fullmatch(key)) and value.startswith(ICEBERG.package)
    ]


def _statements(conf: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Yield statements that load the classes that migrations use."""
    for name in _iceberg_catalogs(conf):
        yield f"CREATE NAMESPACE {name}.rehearsal"
        yield from _on_table(f"{name}.rehearsal.t", "USING iceberg PARTITIONED BY (days(b))")
    for name, known in FORMATS.items():
        if known.in_place and any(value.startswith(known.package) for value in conf.values()):
            yield from _on_table(f"{name}_rehearsal", f"USING {name} LOCATION '{folder / name}'")


def _on_table(table: str, how: str) -> Iterator[str]:
    yield f"CREATE TABLE {table} (a INT, b TIMESTAMP) {how}"
    yield f"ALTER TABLE {table} ADD COLUMNS (c STRING COMMENT 'rehearsed')"
    yield f"ALTER TABLE {table} SET TBLPROPERTIES ('rehearsed' = 'yes')"
    yield f"INSERT INTO {table} SELECT 1, current_timestamp(), 'x'"
    yield f"UPDATE {table} SET c = 'y' WHERE a = 1"
    yield f"SELECT * FROM {table}"
    yield f"DROP TABLE {table}"
