"""The generated part of docs/compatibility.md: the results of the cells, and what lies outside of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.matrix.cells import CELLS, Cell
from tests.matrix.record import Result, results
from tests.matrix.scenarios import SCENARIOS
from tests.support.sparks import SPARKS

_OTHERS = Path(__file__).with_name("others.yaml")
# A title, a sentence, the head of a table and its rows.
Section = tuple[str, str, tuple[str, ...], list[tuple[str, ...]]]


def sections() -> Iterator[Section]:
    """Yield the sections of the page."""
    recorded, others = results(), yaml.safe_load(_OTHERS.read_text("utf-8"))
    jars = [(spark.pyspark, *map(_jar, (spark.iceberg, spark.delta, spark.hudi))) for spark in SPARKS.values()]
    yield "Jars", "What the tests use on each Spark.", ("pyspark", "Iceberg", "Delta", "Hudi"), jars
    yield (
        "Cells",
        "*In CI* are the named scenarios, with each commit or in the part of the tests that changes with it. Seconds of each"
        " scenario, as processes of the program, on two busy cores.",
        ("format", "catalog", "engine", "store", "checked", *SCENARIOS),
        [_row(cell, spark, recorded.get((cell.name, spark))) for cell in CELLS for spark in cell.sparks or ("",)],
    )
    head = ("format", "catalog", "engine", "by hand on", "result")
    yield "Tried by hand", "Not by a test.", head, [tuple(map(str, entry)) for entry in others["by hand"]]
    yield (
        "Not tried",
        "Cannot be tried where the tests run.",
        ("what", "because"),
        [_words(row) for row in others["cannot"]],
    )


def _words(row: list[Any]) -> tuple[str, ...]:
    return str(row[0]), ", ".join(map(str, row[1:]))


def _jar(coordinate: str) -> str:
    return f"`{coordinate.partition(':')[2]}`" if coordinate else "none"


def _row(cell: Cell, spark: str, result: Result | None) -> tuple[str, ...]:
    engine = cell.engine.replace("Spark", f"Spark {spark}", 1) if spark else cell.engine
    seconds = result.seconds if result else {}
    times = (f"{seconds[name]:.0f} s" if name in seconds else "" for name in SCENARIOS)
    return cell.format, cell.catalog, engine, cell.store, _checked(cell, spark, result), *times


def _checked(cell: Cell, spark: str, result: Result | None) -> str:
    """Return where the cell is checked."""
    test, scenarios = cell.ci.get(spark, ("", ()))
    parts = [f"in CI: {' and '.join(scenarios)} (`{test.partition('::')[0].rpartition('/')[2]}`)"] if test else []
    if result:
        failed = "".join(f": {name} fails" for name in result.failed)
        parts.append(f"in the long run of {result.day}{failed}")
    return ", ".join(parts) or "not run yet"
