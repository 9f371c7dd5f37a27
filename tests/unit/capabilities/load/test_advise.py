"""`layout advise`: the sizes, the statements of each format, and when nothing is to do."""

from __future__ import annotations

import json
import math
from typing import Any

import click
import pytest

from glacierbase import GlacierbaseError
from glacierbase.capabilities.load.advise import Advice, AdviseResult, advise, capacity, listing
from glacierbase.capabilities.load.rates import Load
from glacierbase.capabilities.load.remedies import FORMATS, AdvisedTable
from glacierbase.cli.layout import layout
from glacierbase.cli.program import main
from glacierbase.layout.providers import AWS, AWS_2012, CUSTOM, PROVIDERS, provider_of
from glacierbase.model.amounts import long_time
from glacierbase.model.shape import PartitionField
from glacierbase.model.text import Table, Verbatim
from tests.support.documents import checked

OBJECT_STORAGE = "ALTER TABLE my_table SET TBLPROPERTIES ('write.object-storage.enabled' = 'true')"


@pytest.mark.parametrize(("target", "prefixes", "depth"), [(37.5e6, 16, 1), (2.5e6, 256, 2), (150e3, 4096, 3)])
def test_objects_need_prefixes_by_a_target(target: float, prefixes: int, depth: int) -> None:
    """600 M objects: the number is rounded up to a power of 16."""
    advice = advise(Load(objects=600e6, objects_per_prefix=target))
    assert (advice.prefixes, advice.depth, advice.verdict) == (prefixes, depth, "object-storage")
    assert advice.statements == (OBJECT_STORAGE,)


def test_65_536_prefixes_carry_millions_of_requests_and_over_a_trillion_keys() -> None:
    """At the targets of 2012: 100 requests a second and 20 M keys each."""
    advice = advise(Load(objects=1.31e12), AWS_2012)
    assert (advice.prefixes, advice.depth) == (65_536, 4)
    assert advice.capacity == capacity(65_536, AWS_2012)
    assert advice.capacity.put_per_second == pytest.approx(6.55e6, rel=1e-3)
    assert advice.capacity.objects == pytest.approx(1.31e12, rel=1e-3)
    by_rate = advise(Load(put_per_second=6.55e6), AWS_2012)
    assert (by_rate.prefixes, by_rate.utilisation) == (65_536, 1)
    assert "6.55 M PUT/s need 65,500 prefixes at 100" in by_rate.why


def test_900_puts_a_second_need_nothing() -> None:
    """One prefix carries them; in files of 128 MB its limit is 437 GB/s."""
    advice = advise(Load(put_per_second=900))
    assert (advice.verdict, advice.prefixes, advice.depth, advice.statements) == ("nothing", 1, 0, ())
    assert any("437 GB/s" in sentence for sentence in advice.why)


@pytest.mark.parametrize(("prefixes", "text"), [(1, "16.7 h"), (256, "3.9 min"), (4096, "15 s")])
def test_listing_600_m_keys_takes_less_side_by_side(prefixes: int, text: str) -> None:
    """600,000 calls of 0.1 s, shared by the prefixes."""
    found = listing(600e6, prefixes)
    assert found.calls == 600_000
    assert long_time(found.parallel_seconds) == text


def test_a_listing_of_one_call_is_in_the_singular() -> None:
    assert "- listing: 1 call, 0.1 s in series" in AdviseResult(advise(Load(objects=5))).lines()


@pytest.mark.parametrize(
    ("load", "prefixes"),
    [
        ({"put_per_second": 1750}, 1),
        ({"put_per_second": 1751}, 16),
        ({"get_per_second": 2750}, 1),
        ({"get_per_second": 2751}, 16),
        ({"put_per_second": 1750 * 16}, 16),
        ({"put_per_second": 100, "get_per_second": 2750 * 17}, 256),
    ],
)
def test_a_prefix_is_planned_with_half_of_its_limit(load: dict[str, float], prefixes: int) -> None:
    """The largest need of PUT, GET and objects decides."""
    assert advise(Load(**load)).prefixes == prefixes


def test_below_50_requests_a_second_nothing_is_to_do() -> None:
    """Even where a target of objects is exceeded, whose prefixes are shown all the same; from 50 on, the target counts."""
    objects = {"objects": 600e6, "objects_per_prefix": 2.5e6}
    quiet = advise(Load(put_per_second=20, get_per_second=29, **objects))
    assert (quiet.verdict, quiet.prefixes, quiet.statements) == ("nothing", 256, ())
    assert advise(Load(put_per_second=20, get_per_second=30, **objects)).prefixes == 256
    assert advise(Load(put_per_second=49), provider_of("custom", 1, 1)).verdict == "nothing"


def test_growth_is_part_of_the_size() -> None:
    """10 % a month for a year is 3.14 times the load."""
    advice = advise(Load(put_per_second=600, objects=1e6, growth=10, months=12))
    assert advice.put_per_second == pytest.approx(600 * 1.1**12)
    assert advice.objects == pytest.approx(1e6 * 1.1**12)
    assert advice.prefixes == 16
    assert advise(Load(put_per_second=600)).prefixes == 1


def test_files_a_second_follow_from_rows_or_from_writers() -> None:
    """1 GB/s in files of 128 MB is 8 files a second; 200 writers close theirs together."""
    rows = {"rows_per_second": 1024**2, "row_size": 1024, "file_size": 128 * 1024**2}
    assert advise(Load(**rows)).put_per_second == 8
    assert advise(Load(**rows, writers=200)).put_per_second == 200
    assert advise(Load(rows_per_second=1024**2)).put_per_second == 8


def test_small_files_are_to_be_compacted() -> None:
    """The rate is also given for the same bytes in larger files."""
    advice = advise(Load(put_per_second=9000, file_size=1024**2))
    assert "in files of 128 MB the same bytes are 70.3 PUT/s: compact them" in advice.why
    assert advice.alternatives[0].statements == (
        "ALTER TABLE my_table SET TBLPROPERTIES ('write.distribution-mode' = 'hash')",
    )


@pytest.mark.parametrize(
    ("table", "verdict", "statements"),
    [
        (AdvisedTable(), "object-storage", (OBJECT_STORAGE,)),
        (
            AdvisedTable(name="lake.web.events", column="user_id", is_readable=True),
            "bucket-first",
            (
                "ALTER TABLE lake.web.events DROP PARTITION FIELD days(`ts`)",
                "ALTER TABLE lake.web.events ADD PARTITION FIELD bucket(100, user_id)",
                "ALTER TABLE lake.web.events ADD PARTITION FIELD days(`ts`)",
            ),
        ),
        (
            AdvisedTable(is_readable=True, partitioning=()),
            "bucket-first",
            ("ALTER TABLE my_table ADD PARTITION FIELD bucket(100, id)",),
        ),
        (
            AdvisedTable("delta"),
            "random-prefix",
            (
                "ALTER TABLE my_table SET TBLPROPERTIES"
                " ('delta.randomizeFilePrefixes' = 'true', 'delta.randomPrefixLength' = '1')",
            ),
        ),
        (
            AdvisedTable("hive"),
            "hash",
            (
                "CREATE TABLE my_table_by_hash USING parquet PARTITIONED BY (id_hash)\n"
                "AS SELECT *, substr(md5(CAST(id AS STRING)), 1, 1) AS id_hash FROM my_table",
            ),
        ),
        (
            AdvisedTable("hive", is_readable=True),
            "reversed-id",
            (
                "CREATE TABLE my_table_by_reversed USING parquet PARTITIONED BY (id_reversed)\n"
                "AS SELECT *, substr(reverse(CAST(id AS STRING)), 1, 1) AS id_reversed FROM my_table",
            ),
        ),
        (AdvisedTable("hudi"), "partition-order", ()),
        (AdvisedTable("snowflake"), "flat-paths", ("ALTER ICEBERG TABLE my_table SET PATH_LAYOUT = FLAT",)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_format_has_its_statements(table: AdvisedTable, verdict: str, statements: tuple[str, ...]) -> None:
    """For 9,000 PUT a second: 16 prefixes, of which 6 are needed."""
    advice = advise(Load(put_per_second=9000), AWS, table)
    assert (advice.verdict, advice.statements) == (verdict, statements)


@pytest.mark.parametrize(
    ("fields", "drops"),
    [
        ([("id", "bucket[16]"), ("ts", "day")], ["DROP bucket(16, `id`)", "DROP days(`ts`)"]),
        ([("ts", "day"), ("id", "bucket[100]")], ["DROP days(`ts`)", "DROP bucket(100, `id`)"]),
        ([("id", "bucket[100]"), ("ts", "day")], []),
        ([("ts", "zorder")], []),
    ],
)  # fmt: skip
def test_a_bucket_replaces_other_buckets_of_its_column(fields: list[tuple[str, str]], drops: list[str]) -> None:
    """One that is first already, and fields that no statement adds again, leave object storage alone."""
    partitioning = [PartitionField(None, source, source, transform) for source, transform in fields]
    advice = advise(Load(put_per_second=9000), AWS, AdvisedTable(partitioning=partitioning, is_readable=True))
    assert advice.verdict == ("bucket-first" if drops else "object-storage")
    changes = [*drops, "ADD bucket(100, id)", "ADD days(`ts`)"]
    expected = [f"ALTER TABLE my_table {change.replace(' ', ' PARTITION FIELD ', 1)}" for change in changes]
    assert list(advice.statements) == (expected if drops else [OBJECT_STORAGE])


@pytest.mark.parametrize(
    ("table", "made"),
    [
        (AdvisedTable("hive", is_readable=True), 10),
        (AdvisedTable("delta"), 62),
        (AdvisedTable(is_readable=True), 100),
        (AdvisedTable(), 16),
        (AdvisedTable("hudi"), 16),
    ],
)
def test_the_capacity_is_that_of_the_prefixes_that_the_statements_make(table: AdvisedTable, made: int) -> None:
    """Ten last digits are fewer prefixes than the power of 16, and 62 letters are more; so is the text."""
    advice = advise(Load(put_per_second=9000, objects=1e9), AWS, table)
    assert (advice.prefixes, advice.capacity, advice.listing) == (16, capacity(made, AWS), listing(1e9, made))
    assert any(sentence.startswith(f"{made} prefixes carry ") for sentence in advice.why)


def test_new_names_are_quoted_where_they_must_be() -> None:
    """The copy of a table has a name of its own, and a new column."""
    table = AdvisedTable("hive", "lake.`my web`.`old events`", "`user id`")
    assert advise(Load(put_per_second=9000), AWS, table).statements == (
        "CREATE TABLE lake.`my web`.`old events_by_hash` USING parquet PARTITIONED BY (`user id_hash`)\n"
        "AS SELECT *, substr(md5(CAST(`user id` AS STRING)), 1, 1) AS `user id_hash` FROM lake.`my web`.`old events`",
    )


@pytest.mark.parametrize(("objects", "length"), [(62, "1"), (63, "2"), (3844, "2"), (3845, "3")])
def test_the_length_of_deltas_prefixes_follows_from_62_letters(objects: int, length: str) -> None:
    """One letter for 62 prefixes, two for 3,844."""
    advice = advise(Load(objects=objects, objects_per_prefix=1), AWS, AdvisedTable("delta"))
    assert f"'delta.randomPrefixLength' = '{length}'" in advice.statements[0]


def test_more_prefixes_than_icebergs_hash_has_are_named() -> None:
    """Iceberg hashes to 20 bits; the readable way ends at 1,000 buckets."""
    advice = advise(Load(objects=16**5 + 1, objects_per_prefix=1), AWS, AdvisedTable(is_readable=True))
    assert advice.verdict == "object-storage"
    assert {sentence.partition(":")[0] for sentence in advice.why} >= {
        "its hash has 20 bits, 1,048,576 prefixes",
        "buckets first do not help here",
    }
    assert len(advice.alternatives) == 1


def test_a_table_with_hashed_keys_gets_no_second_hash() -> None:
    """The advice is to do nothing, whatever the load is."""
    table = AdvisedTable(hashed_by="property write.object-storage.enabled")
    advice = advise(Load(put_per_second=90_000), AWS, table)
    assert (advice.verdict, advice.prefixes, advice.statements) == ("nothing", 256, ())
    assert "write.object-storage.enabled" in advice.title


@pytest.mark.parametrize(
    ("load", "code"),
    [
        ({}, "INVALID_VALUE"),
        ({"put_per_second": 0}, "INVALID_VALUE"),
        ({"get_per_second": -1}, "INVALID_VALUE"),
        ({"put_per_second": math.nan}, "INVALID_VALUE"),
        ({"put_per_second": math.inf}, "INVALID_VALUE"),
        ({"objects": 0}, "INVALID_VALUE"),
        ({"objects": 0.5}, "INVALID_VALUE"),
        ({"objects": 10, "objects_per_prefix": 0.1}, "INVALID_VALUE"),
        ({"objects": 1e18, "objects_per_prefix": 1}, "INVALID_VALUE"),
        ({"objects": 1, "growth": -5}, "INVALID_VALUE"),
        ({"objects": 1, "growth": 1e9}, "INVALID_VALUE"),
        ({"objects": 1, "growth": 1, "months": 0}, "INVALID_VALUE"),
        ({"put_per_second": 1, "rows_per_second": 1}, "CONFLICTING_OPTIONS"),
        ({"put_per_second": 1, "objects_per_prefix": 1}, "CONFLICTING_OPTIONS"),
        ({"put_per_second": 1, "writers": 1}, "CONFLICTING_OPTIONS"),
        ({"put_per_second": 1, "row_size": 1}, "CONFLICTING_OPTIONS"),
        ({"put_per_second": 1, "months": 1}, "CONFLICTING_OPTIONS"),
    ],
)
def test_a_load_that_makes_no_sense_is_refused(load: dict[str, Any], code: str) -> None:
    """One error with exit code 2 and a hint."""
    with pytest.raises(GlacierbaseError) as caught:
        advise(Load(**load))
    assert (caught.value.code, caught.value.exit_code) == (code, 2)
    assert caught.value.hint


@pytest.mark.parametrize("wrong", [{"format": "parquet"}, {"name": "a; DROP TABLE b"}, {"column": "id) --"}])
def test_what_is_no_name_never_becomes_a_part_of_a_statement(wrong: dict[str, str]) -> None:
    """A name is words, or quoted."""
    with pytest.raises(GlacierbaseError) as caught:
        AdvisedTable(**wrong)
    assert caught.value.code == "INVALID_VALUE"


def test_no_line_of_the_text_is_wider_than_80_columns_except_sql_and_addresses() -> None:
    """For every format, and with every sentence about a load."""
    load = Load(objects=600e6, objects_per_prefix=2.5e6, rows_per_second=1e9, file_size=1024**2, writers=90, growth=5)
    for table in [*map(AdvisedTable, FORMATS), *(AdvisedTable(name, is_readable=True) for name in ("iceberg", "hive"))]:
        lines = AdviseResult(advise(load, AWS, table)).lines()
        assert lines
        assert not any(isinstance(line, Table) for line in lines)
        assert [line for line in lines if len(str(line)) > 80 and not isinstance(line, Verbatim)] == []


def test_the_choices_of_the_command_are_the_formats_and_the_providers() -> None:
    """The command line lists them without loading them."""
    choices = {
        option.name: option.type.choices
        for option in layout.commands["advise"].params
        if isinstance(option.type, click.Choice)
    }
    assert tuple(choices["table_format"]) == FORMATS
    assert tuple(choices["provider"]) == (*PROVIDERS, CUSTOM)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return exit code and stdout of `layout advise`."""
    with pytest.raises(SystemExit) as caught:
        main(["layout", "advise", *arguments])
    return int(caught.value.code or 0), capsys.readouterr().out


def advice_of(capsys: pytest.CaptureFixture[str], arguments: str) -> dict[str, Any]:
    code, text = run(capsys, *arguments.split(), "--format", "json")
    assert code == 0
    document = checked(json.loads(text))
    advice: dict[str, Any] = document["advice"]
    assert set(advice) == set(Advice.__dataclass_fields__)
    return advice


def test_the_command_needs_no_project(capsys: pytest.CaptureFixture[str], tmp_path: Any, monkeypatch: Any) -> None:
    """Numbers have suffixes; all options of a load together."""
    monkeypatch.chdir(tmp_path)
    advice = advice_of(capsys, "--objects 600M --objects-per-prefix 37.5M --provider aws")
    assert (advice["verdict"], advice["prefixes"], advice["depth"]) == ("object-storage", 16, 1)
    assert advice["listing"]["calls"] == 600_000
    many = "--rows-per-second 2G --row-size 1KB --file-size 128MB --writers 64 --get-per-second 1.5k --growth 5% --months 6"
    rest = "--type hive --readable --column user_id --provider custom --put-limit 1k --get-limit 2k"
    advice = advice_of(capsys, f"{many} {rest}")
    assert advice["verdict"] == "reversed-id"
    assert advice["get_per_second"] == pytest.approx(1500 * 1.05**6)


def test_the_text_begins_with_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """The reasons and the numbers follow."""
    code, text = run(capsys, "--put-per-second", "900")
    assert code == 0
    assert text.startswith("Do nothing: one prefix carries this load.\n")
    assert "- 900 PUT/s need 0.514 prefixes at 1,750, 50% of the limit\n" in text


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "--put-per-second 0",
        "--put-per-second -5",
        "--put-per-second nan",
        "--put-per-second inf",
        "--put-per-second 1e999",
        "--put-per-second 5x",
        "--put-per-second 5MB",
        "--objects 0",
        "--growth nan --objects 1",
        "--put-per-second 1 --provider azure",
        "--put-per-second 1 --provider custom",
        "--put-per-second 1 --provider custom --put-limit 0 --get-limit 1",
        "--put-per-second 1 --put-limit 5",
        "--put-per-second 1 --rows-per-second 1",
        "--put-per-second 1 --type parquet",
        "--put-per-second 1 --type delta --readable",
        "--put-per-second 1 --column 'a b'",
        "--put-per-second 1 --write",
        "--put-per-second 1 --author me",
    ],
)
def test_a_wrong_command_line_is_one_error_with_exit_code_2(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In JSON too, and never a traceback."""
    code, text = run(capsys, *arguments.split(), "--format", "json")
    document = checked(json.loads(text))
    assert (code, document["ok"], document["error"]["exit_code"]) == (2, False, 2)
