"""The ids of a column of a file or a table: what is read, how much of it, and what is refused."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from glacierbase.capabilities.load.ids import BATCH, ids_in_file, ids_in_table, is_file
from glacierbase.errors import ConfigurationError
from glacierbase.history.target import CatalogRun
from glacierbase.model.catalog import Catalog
from glacierbase.run.run import Run

Write = Callable[[str, str | bytes], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file, compressed if its name says so, and return its path."""

    def write(name: str, content: str | bytes) -> str:
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return str(tmp_path / name)

    return write


@pytest.fixture
def parquet(tmp_path: Path) -> Callable[[pa.Array], str]:
    """Write a Parquet file with a column `id`, and return its path."""

    def parquet(ids: pa.Array) -> str:
        pq.write_table(pa.table({"id": ids, "other": [1] * len(ids)}), tmp_path / "a.parquet")
        return str(tmp_path / "a.parquet")

    return parquet


def read(path: str, column: str = "id", most: int = 10**6) -> list[str | None]:
    return [value for batch in ids_in_file(path, column, most) for value in batch]


def refusal(path: str, column: str = "id") -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        read(path, column)
    assert caught.value.exit_code == 2
    return caught.value


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["a.csv", "a.CSV.gz"])
def test_a_csv_file_is_read_by_its_header(write: Write, name: str, delimiter: str) -> None:
    """The delimiter is the one by which the header has the column. An empty or a missing field is a null."""
    rows = [["at", "id", "x"], ["1", "100", ""], ["2", "", ""], ["3"], ["4", "-7", "a"]]
    content = "\ufeff" + "\r\n".join(delimiter.join(row) for row in rows) + "\n\n"
    assert read(write(name, content.encode()) if not name.endswith("gz") else write(name.lower(), content)) == [
        "100", None, None, "-7",
    ]  # fmt: skip


def test_quoted_fields_may_contain_delimiters_and_line_breaks(write: Write) -> None:
    """Such a field is read whole: a line is not a row."""
    assert read(write("a.csv", 'note,id\n"a, ""b""\nc",1\nd,"2"\n')) == ["1", "2"]


def test_a_parquet_file_is_read_as_text(parquet: Callable[[pa.Array], str]) -> None:
    """Numbers are written in digits, UUIDs with dashes."""
    assert read(parquet(pa.array([100, None, -7]))) == ["100", None, "-7"]
    assert read(parquet(pa.array(["a", "", "b"]).dictionary_encode())) == ["a", None, "b"]
    uuid = UUID(int=7)
    assert read(parquet(pa.array([uuid.bytes], pa.uuid()))) == [str(uuid)]
    assert read(parquet(pa.array([uuid.bytes], pa.binary(16)))) == [str(uuid)]


def test_a_column_of_a_parquet_file_is_read_by_its_whole_name(tmp_path: Path) -> None:
    """A dot in a name is no path to a field, and a name that two columns have is refused."""
    path = str(tmp_path / "a.parquet")
    pq.write_table(pa.table([[1], [2], [3], [4]], ["a", "a.b", "c", "c"]), path)
    assert (read(path, "a"), read(path, "a.b")) == (["1"], ["2"])
    assert "2 columns c" in refusal(path, "c").message


def test_a_missing_package_for_parquet_is_one_clear_error(
    parquet: Callable[[pa.Array], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hint is the command that installs the extra."""
    path = parquet(pa.array([1]))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    error = refusal(path)
    assert (error.code, "[iceberg]" in error.hint) == ("LAYOUT_EXTRA_MISSING", True)


def test_no_more_is_read_than_requested(write: Write) -> None:
    """Batches have a limit, and the damaged end of a file is not reached."""
    path = write("a.csv", b"id\n" + b"7\n" * (2 * BATCH) + b"\xff\n")
    assert [len(batch) for batch in ids_in_file(path, "id", BATCH + 5)] == [BATCH, 5]
    assert "UTF-8" in refusal(path).message


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"id\n\xff\xfe\n", "UTF-8"),
        ("a.csv", b"id\n1\n2\0\n", "line 3 contains a NUL"),
        ("a.csv", b"id\n" + b"1" * (2**20 + 2), "line 2 is longer than 1 MiB"),
        ("a.csv", b'id\n"' + b"1\n" * 10**5, "field larger than field limit"),
        ("a.csv", b"id,id\n1,2\n", "2 columns id"),
        ("a.parquet", b"PAR1 is not enough", "cannot be read"),
        ("a.parquet", b"", "cannot be read"),
        ("a.json", b"[]", "none of .csv, .csv.gz and .parquet"),
    ],
)
def test_a_damaged_file_is_one_clear_error(write: Write, name: str, content: bytes, words: str) -> None:
    """The message names the file, and the line where there is one."""
    path = write(name, content)
    error = refusal(path)
    assert error.code == "UNREADABLE_FILE"
    assert words in error.message
    assert path in error.message


def test_a_truncated_gzip_file_is_refused(tmp_path: Path) -> None:
    """The same holds for a file that is not compressed."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"id\n" + os.urandom(10000).hex().encode())[:-400])
    assert refusal(str(path)).code == "UNREADABLE_FILE"
    path.write_text("id\n1\n")
    assert refusal(str(path)).code == "UNREADABLE_FILE"


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    """A folder, a FIFO without a writer, a missing file, and a name that no file can have."""
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "fifo.csv")
    for name in ("folder.csv", "fifo.csv", "missing.csv", "nul\0.csv"):
        assert refusal(str(tmp_path / name)).code == "UNREADABLE_FILE"


def test_a_missing_column_names_those_that_exist(write: Write, parquet: Callable[[pa.Array], str]) -> None:
    """The hint suggests a similar name."""
    for path in (write("a.csv", "user_id;at\n1;2\n"), write("empty.csv", "")):
        assert refusal(path, "userid").code == "UNKNOWN_COLUMN"
    error = refusal(write("a.csv", "user_id;at\n1;2\n"), "userid")
    assert (error.message.partition("; ")[2], error.hint) == ("there are: user_id, at", "did you mean user_id?")
    error = refusal(write("a.csv", "1\n2\n"), "id")
    assert "the header of " in error.message
    assert "there are: 1" in error.message
    assert refusal(write("empty.csv", "")).hint == "name a source that has columns"
    assert "there are: id, other" in refusal(parquet(pa.array([1])), "ident").message


def test_values_that_no_key_can_hold_are_refused(write: Write, parquet: Callable[[pa.Array], str]) -> None:
    """Lists, bytes, and texts longer than a key."""
    for values in ([[1]], [b"\xff"], ["x" * 1025]):
        assert refusal(parquet(pa.array(values))).code == "NOT_IDS"
    assert refusal(write("a.csv", "id\n" + "é" * 600 + "x" * 600)).code == "NOT_IDS"


@pytest.mark.parametrize("rows", ["", ",1\n,2\n"])
def test_a_column_without_values_is_refused(write: Write, rows: str) -> None:
    """The message counts the nulls, or says that there are no rows."""
    error = refusal(write("a.csv", f"id,x\n{rows}"))
    expected = f"{len(rows) // 3} nulls" if rows else "there are no rows"
    assert (error.code, error.message.rpartition(": ")[2]) == ("NO_IDS", expected)


def test_a_path_or_a_known_ending_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other source is the name of a table; a name in backticks always is."""
    monkeypatch.chdir(tmp_path)
    for name in ("ids.txt", "events"):
        (tmp_path / name).touch()
    assert all(map(is_file, ("a.csv", "a.CSV.GZ", "a.parquet", "b/a.json", "ids.txt")))
    assert not any(map(is_file, ("events", "lake.a.events", "delta.`/data/t`", "nul\0.txt")))


@pytest.fixture
def target(iceberg_catalog: Catalog) -> CatalogRun:
    """The catalog `lake` with a table of two data files; its engine must not start."""
    conf = iceberg_catalog.spark_conf
    file = Path(conf["spark.sql.catalog.lake.uri"].removeprefix("jdbc:sqlite:").partition("?")[0])
    file.parent.mkdir(parents=True, exist_ok=True)
    vendor = SqlCatalog("lake", uri=f"sqlite:///{file}", warehouse=conf["spark.sql.catalog.lake.warehouse"])
    vendor.create_namespace("a")
    table = vendor.create_table("a.t", pa.schema([("Id", pa.int64()), ("tags", pa.list_(pa.int64()))]))
    for ids in ([100, None], [7, 8, 9]):
        table.append(pa.table({"Id": ids, "tags": [[1]] * len(ids)}, table.schema().as_arrow()))

    def fails(*_: object) -> None:
        raise AssertionError("the engine was started")

    return replace(CatalogRun(iceberg_catalog, (), Run.here(file.parent)), open_executor=fails)  # type: ignore[arg-type]


def test_a_table_is_read_without_its_engine(target: CatalogRun) -> None:
    """PyIceberg reads one data file after the other, and no more values than requested."""
    values = [value for batch in ids_in_table(target, "lake.a.t", "id") for value in batch]
    assert sorted(values, key=str) == sorted(["100", None, "7", "8", "9"], key=str)
    assert sum(map(len, ids_in_table(target, "lake.a.t", "Id", 4))) == 4


def test_a_table_with_deletes_that_pyiceberg_does_not_apply_is_read_through_the_engine(
    target: CatalogRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No value is read without them."""

    def fails(_: object) -> None:
        raise NotImplementedError("PyIceberg does not yet support equality deletes")

    monkeypatch.setattr("pyiceberg.table.DataScan.plan_files", fails)
    with pytest.raises(AssertionError, match="the engine was started"):
        list(ids_in_table(target, "lake.a.t", "Id"))


@pytest.mark.parametrize(
    ("table", "column", "code", "hint"),
    [
        ("lake.a.t", "tag", "UNKNOWN_COLUMN", "did you mean tags?"),
        ("lake.a.t", "tags", "NOT_IDS", "name a column of numbers or short texts with --column"),
        ("lake.a.none", "id", "UNKNOWN_TABLE", "glacierbase import tables --list"),
        ("lake.a.t; DROP TABLE lake.a.t", "Id", "UNKNOWN_TABLE", "name a table, or a file that ends in .csv"),
    ],
)
def test_a_wrong_table_or_column_is_one_clear_error(
    target: CatalogRun, table: str, column: str, code: str, hint: str
) -> None:
    """No engine is started to find out."""
    with pytest.raises(ConfigurationError) as caught:
        list(ids_in_table(target, table, column))
    assert (caught.value.code, hint in caught.value.hint) == (code, True)
