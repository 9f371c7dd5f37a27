"""Read the ids of one column, in batches: from a CSV file, a Parquet file, or a table of a catalog.

An id is a text as it would be in a key. None is a null; an empty text counts as one. At most so many values are read as the caller
states, from the start, so that a file or table of any size fits into the memory.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias

from glacierbase.capabilities.load.extra import required
from glacierbase.errors import ConfigurationError, EngineError, EngineUnavailable
from glacierbase.executors.pyiceberg.values import not_ids, texts
from glacierbase.history.target import CatalogRun
from glacierbase.model.command import command
from glacierbase.model.names import NAME, name_parts, recorded_name
from glacierbase.model.text import counted, did_you_mean, first_of
from glacierbase.record.live import LiveTables, TableRead
from glacierbase.run.activity import doing

Batch: TypeAlias = Sequence[str | None]

# How many values are read unless the caller states another number.
MOST = 1_000_000
BATCH = 10_000
_CSV, _PARQUET = (".csv", ".csv.gz"), (".parquet",)
_LONGEST_LINE = 2**20
_DELIMITERS = ",;\t|"
# The limit of a key in UTF-8: https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
_LONGEST_ID = 1024


def is_file(source: str) -> bool:
    """Return whether a source is a file, and not the name of a table: by its ending, or because it is a path."""
    is_path = "/" in source or ("." in source and Path(source).is_file())
    return source.lower().endswith((*_CSV, *_PARQUET)) or (is_path and "`" not in source)


def ids_in_file(path: str, column: str, most: int = MOST) -> Iterator[Batch]:
    """Yield the ids of a column of a CSV file, which has a header and may be compressed by gzip, or of a Parquet file.

    Raises:
        ConfigurationError: `UNREADABLE_FILE`, `UNKNOWN_COLUMN`, `NOT_IDS`; `LAYOUT_EXTRA_MISSING`: pyarrow is not installed.
    """
    with _reading(path):
        if not path.lower().endswith((*_CSV, *_PARQUET)):
            raise _Unreadable(
                "it is none of .csv, .csv.gz and .parquet", "convert it to CSV with a header, or to Parquet"
            )
        with _opened(path) as file:
            batches = _in_parquet(file, column) if path.lower().endswith(_PARQUET) else _in_csv(path, file, column)
            yield from _checked(batches, most, f"the column {column} of {path}")


def ids_in_table(target: CatalogRun, table: str, column: str, most: int = MOST) -> Generator[Batch, None, None]:
    """Yield the ids of a column of a table, through PyIceberg where it can read the table, else through the engine.

    The caller closes the generator, which closes the engine.

    Raises:
        ConfigurationError: `UNKNOWN_TABLE`, `UNKNOWN_COLUMN`, `NOT_IDS`.
        EngineUnavailable: the engine cannot be started, or the table cannot be read.
    """
    if not re.fullmatch(NAME, table):
        raise ConfigurationError(
            "UNKNOWN_TABLE", f"{table} is not the name of a table",
            "name a table, or a file that ends in .csv, .csv.gz or .parquet", table=table,
        )  # fmt: skip
    table = recorded_name(table)
    with closing(target.engine()) as engine, LiveTables(target.catalog, engine) as tables:
        how = "" if tables.is_near(table) else " through the engine"
        try:
            with doing(f"{target.catalog.name}: reading {table}{how}"):
                name = _column_of(tables.read([table])[table], table, column)
                yield from _checked(tables.values(table, name, most), most, f"the column {column} of {table}")
        except EngineError as error:
            raise _not_read(table, error.message) from error


def _column_of(reading: TableRead, table: str, column: str) -> str:
    """Return the name of the column in the table's shape, which may differ in case.

    Raises:
        ConfigurationError: `UNKNOWN_TABLE`, `UNKNOWN_COLUMN`.
        EngineUnavailable: the table was not read.
    """
    if reading.unread:
        raise _not_read(table, reading.unread)
    if reading.shape is None:
        hint = f"`{command('import', 'tables', '--list')}` lists the tables that exist"
        raise ConfigurationError("UNKNOWN_TABLE", f"there is no table {table}", hint, table=table)
    names = [parts[0] for field in reading.shape.columns if len(parts := name_parts(field.name)) == 1]
    same = [name for name in names if name == column] or [
        name for name in names if name.casefold() == column.casefold()
    ]
    if not same:
        raise unknown_column(table, column, names)
    return same[0]


def _not_read(table: str, why: str) -> EngineUnavailable:
    return EngineUnavailable(
        "TABLES_NOT_READ", f"{table} cannot be read: {why}", f"`{command('doctor')}` checks the catalog"
    )


class _Unreadable(Exception):
    """A file that cannot be read: why, and what to do."""

    def __init__(self, what: str, hint: str) -> None:
        self.hint = hint
        super().__init__(what)


@contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        yield
    except (_Unreadable, OSError, EOFError, ValueError, NotImplementedError, zlib.error, csv.Error) as error:
        what = getattr(error, "strerror", None) or str(error)
        if isinstance(error, UnicodeDecodeError):
            what = "it is not text in UTF-8"
        hint = getattr(error, "hint", "") or "correct the path or the file"
        raise ConfigurationError("UNREADABLE_FILE", f"{path}: cannot be read: {what}", hint, path=path) from error


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    place = Path(path)
    if place.exists() and not place.is_file():  # A FIFO would be waited for.
        raise _Unreadable("it is not a regular file", "name one of its files, or copy it into a file")
    with place.open("rb") as file:
        yield file


def _checked(batches: Iterable[Batch], most: int, where: str) -> Iterator[Batch]:
    """Yield at most `most` values. An empty text is a null.

    Raises:
        ConfigurationError: `NOT_IDS`: a value is too long for a key; at the end, `NO_IDS`: all values are nulls.
    """
    values = (value or None for batch in batches for value in batch)
    read, longest = 0, 0
    while batch := list(islice(values, min(BATCH, most - read))):
        read += len(batch)
        longest = max(longest, *(len(value or "") for value in batch))
        if longest > _LONGEST_ID:
            raise not_ids(
                f"{where} holds a text of {longest:,} characters; a key of S3 has at most {_LONGEST_ID:,} bytes"
            )
        yield batch
    if not read:
        raise ConfigurationError("NO_IDS", f"{where} has no values: there are no rows", "name a source that has rows")
    if not longest:
        what = f"{where} has no values: {counted(read, 'null')}"
        raise ConfigurationError("NO_IDS", what, "name another column with --column")


def unknown_column(where: str, column: str, names: Sequence[str]) -> ConfigurationError:
    """Return the error for a column that does not exist, with the names of those that do."""
    there = f"there are: {first_of(names, 10)}" if names else "there are none"
    return ConfigurationError(
        "UNKNOWN_COLUMN", f"{where} has no column {column}; {there}",
        did_you_mean(column, names, "name one of these with --column" if names else "name a source that has columns"),
        column=column,
    )  # fmt: skip


def _in_csv(path: str, file: IO[bytes], column: str) -> Iterator[Batch]:
    lines = _lines(gzip.GzipFile(fileobj=file) if path.lower().endswith(".gz") else file)
    header = next(lines, "")
    delimiter, index = _place(path, header, column)
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        while batch := list(islice(rows, BATCH)):
            yield [row[index] if index < len(row) else None for row in batch if row]
    except csv.Error as error:
        raise _Unreadable(f"line {rows.line_num + 1}: {error}", "correct the line, or leave it out") from error


def _lines(file: Any) -> Iterator[str]:
    """Yield the lines as text. A quoted value may contain line breaks: the reader of CSV joins its lines."""
    first = True
    for number in range(1, 2**63):
        line = file.readline(_LONGEST_LINE + 1)
        if not line:
            return
        if len(line) > _LONGEST_LINE:
            raise _Unreadable(f"line {number} is longer than 1 MiB", "split it into lines: a row each")
        if b"\0" in line:
            raise _Unreadable(f"line {number} contains a NUL, so it is not CSV", "convert it to CSV in UTF-8")
        yield line.decode("utf-8-sig" if first else "utf-8")
        first = False


def _place(path: str, header: str, column: str) -> tuple[str, int]:
    """Return the delimiter and the index of the column: the first delimiter by which the header contains the column."""
    headers = {delimiter: next(csv.reader([header], delimiter=delimiter), []) for delimiter in _DELIMITERS}
    for delimiter, names in headers.items():
        if column in names:
            _check_once(column, names)
            return delimiter, names.index(column)
    raise unknown_column(f"the header of {path}", column, max(headers.values(), key=len))


def _check_once(column: str, names: Sequence[str]) -> None:
    if names.count(column) > 1:
        raise _Unreadable(f"it has {names.count(column)} columns {column}", "rename one of them")


def _in_parquet(file: IO[bytes], column: str) -> Iterator[Batch]:
    parquet = required("pyarrow.parquet", "iceberg")
    with parquet.ParquetFile(file) as opened:
        names = opened.schema_arrow.names
        if column not in names:
            raise unknown_column(file.name, column, names)
        _check_once(column, names)
        for batch in opened.iter_batches(BATCH, columns=[column]):
            yield texts(batch.column(0), column)
