"""The actions that move the data files of an Iceberg table to new keys, while other writers go on.

The table is the journal: a data file is left to do while its key does not match the template of the table's present layout. What
was rewritten and not compared yet is known by a tag (`rows`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from glacierbase.capabilities.rekey.rows import Rewrites, retried
from glacierbase.declared.render import literal, table_name, transformed
from glacierbase.errors import StatementRefused
from glacierbase.executors.actions import ActionRun, GateShut
from glacierbase.layout.facts import of_shape
from glacierbase.layout.iceberg import PROVIDER
from glacierbase.layout.template import KeyTemplate
from glacierbase.layout.templates import key_template
from glacierbase.model.names import name_of, name_parts, spark_identifier
from glacierbase.model.shape import Shape
from glacierbase.model.text import counted
from glacierbase.model.transforms import given_name
from glacierbase.sql.cursor import Cursor, UnsupportedClause, check_end, transform
from glacierbase.sql.dialects import SPARK


def backfill(run: ActionRun) -> None:
    """Rewrite the data files with other keys, one range of partitions after the other, and compare the rows of each range.

    Raises:
        GateShut: a writer goes on to write files with other keys.
        StatementRefused: a range cannot be rewritten, or its rows differ.
    """
    table = RekeyedTable(run)
    if table.left():
        rewrites = table.rewrites()
        rewrites.begin()
        ranges = list(_joined(table.values(), int(run.arguments["bytes_per_range"])))
        for number, part in enumerate(ranges, start=1):
            run.progress = f"range {number} of {len(ranges)}: {part}"
            table.rewrite(part)
            rewrites.compare()
    if left := table.left():
        raise GateShut(
            f"{counted(left, 'data file')} got other keys while the rest was rewritten: a writer still has the former"
            " settings of the table; restart it"
        )


def validate(run: ActionRun) -> None:
    """Check that all rewrites were compared, and that all data files have the new keys.

    Raises:
        StatementRefused: rows differ, or a file has another key.
    """
    table = RekeyedTable(run)
    rewrites = table.rewrites()
    rewrites.compare()
    if left := table.left():
        raise StatementRefused(
            "KEYS_DIFFER",
            f"{left} of {counted(table.files(), 'data file')} of {table.name} have other keys than {table.template.text};"
            " write the `CALL glacierbase.rekey_backfill` of the file before above this statement",
        )
    rewrites.end()


@dataclass(frozen=True, slots=True)
class Range:
    """A range of values of the partition field by which the work is divided.

    Attributes:
        first, last: as Spark casts them to text; None for files without a value.
        type: of the values; empty where there is no such field.
        bytes: the size of its files.
    """

    first: str | None
    last: str | None
    type: str
    bytes: int

    def __str__(self) -> str:
        if not self.type:
            return "all files"
        return "files without a value" if self.first is None else f"{self.first} to {self.last}"


def _joined(values: Iterable[Range], most: int) -> Iterator[Range]:
    """Yield ranges of adjacent values, with at most so many bytes where that is more than one value."""
    current: Range | None = None
    for value in values:
        if current and None not in (current.last, value.first) and current.bytes + value.bytes <= most:
            current = replace(current, last=value.last, bytes=current.bytes + value.bytes)
            continue
        if current:
            yield current
        current = value
    if current:
        yield current


class RekeyedTable:
    """An Iceberg table whose files get new keys.

    Attributes:
        name: as an identifier; it begins with the catalog.
        template: of the keys of the files that are written now.
    """

    def __init__(self, run: ActionRun) -> None:
        """Read the layout of the table.

        Raises:
            StatementRefused: it is not an Iceberg table, or `ranges` is no partition field.
        """
        parts = name_parts(run.arguments["table"])
        if len(parts) < 3:
            raise _refused("the name of the table does not begin with its catalog and a namespace")
        self._run = run
        self.name = table_name(run.arguments["table"])
        self._catalog, self._within = table_name(name_of(parts[:1])), table_name(name_of(parts[1:]))
        self._field, self._expression, self._column = _field(run.arguments.get("ranges", ""), self._catalog)
        self._shape = self._read_shape()
        self.template = self._template()
        self._is_left = f"NOT file_path RLIKE {literal(f'^{self.template.pattern}$')}"

    def rewrites(self) -> Rewrites:
        """Return what compares the rewrites of the table."""
        return Rewrites(self._run, self.name, self._shape, self._condition_of_files)

    def _read_shape(self) -> Shape:
        self._run.check()
        shape = self._run.shape(self.name)
        if shape is None or shape.format != "iceberg":
            raise _refused(f"{self.name} is not an Iceberg table")
        if PROVIDER in shape.properties:
            raise _refused(f"{PROVIDER} decides the keys of {self.name}")
        shape = with_field_names(shape)
        described = {row[0]: row[1] for row in self._run.query(f"DESCRIBE TABLE {self.name}.data_files")}
        for field in shape.partitioning:
            if not re.search(rf"[<,]{re.escape(field.name)}:", described.get("partition", "")):
                raise _refused(f"the name of the partition field {transformed(field)} cannot be read")
        return shape

    def _template(self) -> KeyTemplate:
        [[version]] = self._run.query(f"SELECT {self._catalog}.system.iceberg_version()")
        facts = of_shape(self._shape, version)
        assert facts is not None
        return key_template(facts)

    def left(self) -> int:
        """Return the number of data files with other keys."""
        return self.files(self._is_left)

    def files(self, condition: str = "true") -> int:
        """Return the number of data files."""
        self._refresh()
        [[count]] = self._run.query(f"SELECT count(*) FROM {self.name}.data_files WHERE {condition}")
        return int(count)

    def _refresh(self) -> None:
        self._run.execute(f"REFRESH TABLE {self.name}")  # A catalog may cache the table.

    def values(self) -> Iterator[Range]:
        """Yield each value of the field in the partitions with files that are left, in order, the null first."""
        if not self._field:
            yield Range(None, None, "", 0)
            return
        value = f"partition.{self._field}"
        rows = self._run.query(
            f"SELECT CAST({value} AS STRING), any_value(typeof({value})), sum(file_size_in_bytes)"
            f" FROM {self.name}.data_files WHERE {self._is_left} GROUP BY {value} ORDER BY {value} NULLS FIRST"
        )
        for text, kind, size in rows:
            yield Range(text, text, kind, int(size))

    def rewrite(self, part: Range) -> None:
        """Rewrite the files that may have rows of a range, in one commit."""
        self._rewrite(self._condition(part))
        # Files of a partition spec without the field have no value either, and rows of all values.
        if part.type and part.first is None and self.files(f"{self._is_left} AND partition.{self._field} IS NULL"):
            self._rewrite("")

    def _condition(self, part: Range) -> str:
        """Return the condition on the rows of a range; empty for all rows."""
        if not part.type:
            return ""
        if part.first is None or part.last is None:
            # Of the column: Spark 3.5 finds no files by the null of a function, and each transform keeps nulls.
            return f"{self._column} IS NULL"
        first, last = (f"CAST({literal(text)} AS {part.type})" for text in (part.first, part.last))
        return f"{self._expression} >= {first} AND {self._expression} <= {last}"

    def _condition_of_files(self, files: str) -> str:
        """Return a condition that all rows of some files meet; empty for all rows.

        Args:
            files: a query of `entries`.
        """
        if not self._field:
            return ""
        value = f"data_file.partition.{self._field}"
        [row] = self._run.query(
            f"SELECT CAST(min({value}) AS STRING), CAST(max({value}) AS STRING), any_value(typeof({value})),"
            f" count(*) = count({value}) FROM {files}"
        )
        first, last, kind, has_values = row
        return self._condition(Range(first, last, kind, 0)) if has_values and first is not None else ""

    def _rewrite(self, condition: str) -> None:
        where = f", where => {literal(condition)}" if condition else ""
        table = literal(self._within)
        retried(
            self._run,
            f"CALL {self._catalog}.system.rewrite_data_files(table => {table}{where},"
            " options => map('rewrite-all', 'true'))",
        )


def with_field_names(shape: Shape) -> Shape:
    """Return a shape with names of its partition fields: those that Iceberg gives, where Spark shows only their expressions."""
    fields = (
        replace(field, name=given_name(field.source, field.transform, with_width=False)) if "(" in field.name else field
        for field in shape.partitioning
    )
    return replace(shape, partitioning=tuple(fields))


def _field(ranges: str, catalog: str) -> tuple[str, str, str]:
    """Return the name of the field in `days(ts) AS ts_day`, its expression and its column, as SQL; empty where there is none."""
    if not ranges:
        return "", "", ""
    try:
        cursor = Cursor(ranges, SPARK.name)
        by = transform(cursor)
        cursor.expect("AS")
        [name] = cursor.path()
        check_end(cursor)
    except (UnsupportedClause, ValueError) as error:
        raise _refused(f"ranges => {literal(ranges)} is not a partition field such as 'days(ts) AS ts_day'") from error
    if not by.function:
        return spark_identifier(name), by.text, by.text
    column = re.sub(r"^\w+\s*\(\s*(?:[0-9]+\s*,)?|\)$", "", by.text)
    # Iceberg offers its transforms as functions: https://iceberg.apache.org/docs/latest/spark-queries/#querying-with-sql
    return spark_identifier(name), f"{catalog}.system.{by.text}", column


def _refused(why: str) -> StatementRefused:
    return StatementRefused("CANNOT_REKEY", why)
