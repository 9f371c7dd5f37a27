"""The templates of keys: one per format, property and version."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from glacierbase.layout.folders import raw_template
from glacierbase.layout.murmur import base2_directories, base64_directory, murmur3_32
from glacierbase.layout.partitions import first_character_shares
from glacierbase.layout.template import KeyTemplate, SegmentKind, TableFacts
from glacierbase.layout.templates import FORMATS, key_template
from glacierbase.model.shape import PartitionField

DAY = PartitionField(None, "ts_day", "ts", "day")
BUCKET = PartitionField(None, "id_bucket", "id", "bucket[16]")
HASHED = {"write.object-storage.enabled": "true"}
NO_PATHS = {**HASHED, "write.object-storage.partitioned-paths": "false"}
COLUMNS = {"ts": "timestamp", "id": "bigint"}
FACTS = TableFacts("lake.sales.orders", "iceberg", "1.12.0", COLUMNS, (DAY, BUCKET))
FOLDERS = (PartitionField(None, "dt", "dt", "identity"), PartitionField(None, "region", "region", "identity"))
BITS = "{hash:4 bits}/{hash:4 bits}/{hash:4 bits}/{hash:8 bits}"


def kinds(template: KeyTemplate) -> list[str]:
    return [segment.kind.value for segment in template.segments]


def of(properties: dict[str, str], version: str | None = "1.12.0", **changes: Any) -> KeyTemplate:
    return key_template(replace(FACTS, properties=properties, version=version, **changes))


def test_partition_fields_of_iceberg_are_in_the_key_in_their_order() -> None:
    template = key_template(FACTS)
    assert template.text == "data/ts_day={ts_day}/id_bucket={id_bucket}/{file}"
    assert template.example.startswith("data/ts_day=2026-11-24/id_bucket=7/00000-")
    assert kinds(template) == ["constant", "time", "low-entropy", "low-entropy"]
    assert template.first_varying is not None
    assert (template.first_varying.column, template.first_varying.transform) == ("ts", "day")
    swapped = key_template(replace(FACTS, partitioning=(BUCKET, DAY)))
    assert swapped.text == "data/id_bucket={id_bucket}/ts_day={ts_day}/{file}"


def test_object_storage_writes_twenty_bits_of_the_hash_before_the_partition_path() -> None:
    template = of(HASHED)
    assert template.text == f"data/{BITS}/ts_day={{ts_day}}/id_bucket={{id_bucket}}/{{file}}"
    assert kinds(template) == ["constant", *["hashed"] * 4, "time", "low-entropy", "low-entropy"]
    _, *hashed = template.example.split("/")
    assert tuple(hashed[:4]) == base2_directories("/".join(hashed[4:]))


def test_without_partition_paths_the_last_bits_are_joined_to_the_name_of_the_file() -> None:
    template = of(NO_PATHS)
    assert template.text == "data/{hash:4 bits}/{hash:4 bits}/{hash:4 bits}/{hash:8 bits}-{file}"
    assert kinds(template)[-1] == "hashed"
    _, *bits, last = template.example.split("/")
    assert (*bits, last[:8]) == base2_directories(last[9:])


def test_iceberg_before_1_7_writes_the_whole_hash_in_base64_and_keeps_partition_paths() -> None:
    template = of(NO_PATHS, "1.6.1")
    assert template.text == "data/{hash:6 characters}/ts_day={ts_day}/id_bucket={id_bucket}/{file}"
    _, hashed, path = template.example.split("/", 2)
    assert hashed == base64_directory(path)
    assert any("partitioned-paths has no effect before Iceberg 1.7.0" in note for note in template.notes)


def test_an_unknown_version_gives_the_newest_layout_and_a_note() -> None:
    template = of(HASHED, None)
    assert template.text == of(HASHED).text
    assert "the version of Iceberg is not known" in template.notes[0]
    assert of({}, None).notes == of({}).notes == ("44 % of the numbers of bucket(16, id) begin with 1",)


@pytest.mark.parametrize(
    ("path", "location", "text"),
    [
        ("s3://lake/sales/orders/files", "s3://lake/sales/orders", "files/HASH/ts_day"),
        ("s3://hot/all", "s3://lake/sales/orders", "all/HASH/sales/orders/ts_day"),
        ("s3://lake/sales/orders2", "s3://lake/sales/orders", "sales/orders2/HASH/ts_day"),
        ("s3://hot", None, "HASH/sales/orders/ts_day"),
        ("s3://[hot/all#1?", "hdfs:/lake]/sales/orders", "all#1?/HASH/sales/orders/ts_day"),
    ],
)  # fmt: skip
def test_a_data_path_outside_the_location_has_database_and_table_after_the_hash(
    path: str, location: str | None, text: str
) -> None:
    template = of({**HASHED, "write.data.path": path}, location=location)
    assert template.text.replace(BITS, "HASH").startswith(text)
    assert any("outside the table's location" in note for note in template.notes) == (not path.endswith("files"))


def test_a_data_path_without_object_storage_has_no_names_after_it() -> None:
    template = of({"write.data.path": "s3://hot/all/"}, location="s3://lake/sales/orders")
    assert template.text == "all/ts_day={ts_day}/id_bucket={id_bucket}/{file}"


@pytest.mark.parametrize("key", ["write.object-storage.path", "write.folder-storage.path"])
def test_former_path_properties_are_read_before_1_9_and_refused_since(key: str) -> None:
    before = of({**HASHED, key: "s3://hot/all"}, "1.8.1")
    assert before.text.startswith("all/{hash:4 bits}")
    since = of({**HASHED, key: "s3://hot/all"}, "1.9.0")
    assert since.text.startswith("data/{hash:4 bits}")
    assert f"Iceberg 1.9.0 and newer refuse to write with {key}" in since.notes


def test_former_path_properties_are_not_refused_where_no_writer_reads_them() -> None:
    """Iceberg 1.12 writes with them where `write.data.path` is set, and with the first one where object storage is off."""
    both = {"write.object-storage.path": "s3://hot/all", "write.folder-storage.path": "s3://hot/all"}
    with_path = of({**HASHED, **both, "write.data.path": "s3://lake/other"})
    assert with_path.text.startswith("other/{hash:4 bits}")
    assert with_path.notes == (
        "data files are in s3://lake/other, outside the table's location",
        "the table's location is not known: its last two names are those of the table",
    )
    off = of({"write.object-storage.path": "s3://hot/all"})
    assert off.text.startswith("data/ts_day")
    assert off.notes == ("44 % of the numbers of bucket(16, id) begin with 1",)


def test_delta_writes_a_random_prefix_in_place_of_partition_folders_where_the_version_supports_it() -> None:
    facts = TableFacts("lake.orders", "delta", "4.1.0", {"dt": "date", "region": "string"}, FOLDERS)
    assert key_template(facts).text == "dt={dt}/region={region}/{file}"
    assert kinds(key_template(facts)) == ["time", "low-entropy", "low-entropy"]
    prefixed = replace(facts, properties={"delta.randomizeFilePrefixes": "true", "delta.randomPrefixLength": "3"})
    assert key_template(prefixed).text == "{random:3 characters}/{file}"
    assert kinds(key_template(prefixed)) == ["hashed", "low-entropy"]
    mapped = replace(facts, properties={"delta.columnMapping.mode": "name"})
    assert key_template(mapped).text == "{random:2 characters}/{file}"
    assert key_template(replace(prefixed, version=None)).text == "{random:3 characters}/{file}"
    assert "not known" in key_template(replace(prefixed, version=None)).notes[0]


@pytest.mark.parametrize(("version", "is_ignored"), [
    ("3.3.2", True), ("3.3.3", False), ("3.4.0", False), ("4.0.0", True), ("4.0.1", True), ("4.1.0", False), ("2.4.0", True),
])  # fmt: skip
def test_delta_ignores_random_prefixes_before_3_3_3_and_in_4_0(version: str, is_ignored: bool) -> None:
    template = key_template(TableFacts("t", "delta", version, {}, FOLDERS, {"delta.randomizeFilePrefixes": "true"}))
    assert (template.text == "dt={dt}/region={region}/{file}") == is_ignored
    assert any("accepts delta.randomizeFilePrefixes and ignores it" in note for note in template.notes) == is_ignored


def test_hudi_writes_folders_with_or_without_the_names_of_columns() -> None:
    facts = TableFacts("t", "hudi", "1.0.2", {"dt": "string", "region": "string"}, FOLDERS)
    assert key_template(facts).text == "dt={dt}/region={region}/{file}"
    plain = replace(facts, properties={"hoodie.datasource.write.hive_style_partitioning": "false"})
    assert key_template(plain).text == "{dt}/{region}/{file}"
    assert key_template(plain).example.startswith("2026-11-24/north/")
    assert kinds(key_template(plain)) == ["time", "low-entropy", "hashed"]


def test_a_pattern_says_by_its_names_how_raw_keys_vary() -> None:
    template = raw_template("date={date}/id={id}/{file}")
    assert template.text == "date={date}/id={id}/{file}"
    assert kinds(template) == ["time", "low-entropy", "low-entropy"]
    assert template.example.startswith("date=2026-11-24/id=30417/part-")
    other = raw_template("raw/{hash:2 characters}/id_reversed={id_reversed}/{file}")
    assert kinds(other) == ["constant", "hashed", "balanced", "low-entropy"]
    assert other.matches("raw/3f/id_reversed=71403/x.parquet")


@pytest.mark.parametrize(
    ("column", "type_", "transform", "kind"),
    [
        ("ts", "timestamp", "hour", SegmentKind.TIME),
        ("created", "date", "identity", SegmentKind.TIME),
        ("event_date", "string", "identity", SegmentKind.TIME),
        ("eventDate", None, "identity", SegmentKind.TIME),
        ("ds", "int", "truncate[100]", SegmentKind.TIME),
        ("candidate", "string", "identity", SegmentKind.LOW_ENTROPY),
        ("id_rev", "string", "truncate[1]", SegmentKind.LOW_ENTROPY),
        ("id", "bigint", "bucket[10]", SegmentKind.BALANCED),
        ("id", "bigint", "bucket[100]", SegmentKind.BALANCED),
        ("id", "bigint", "bucket[256]", SegmentKind.LOW_ENTROPY),
        ("id", "bigint", "bucket[1]", SegmentKind.LOW_ENTROPY),
        ("ts", "timestamp", "void", SegmentKind.CONSTANT),
    ],
)
def test_the_kind_of_a_partition_field_follows_from_transform_type_and_name(
    column: str, type_: str | None, transform: str, kind: SegmentKind
) -> None:
    field = PartitionField(None, "part", column, transform)
    facts = TableFacts("t", "iceberg", "1.12.0", {column: type_} if type_ else {}, (field,))
    assert key_template(facts).segments[1].kind is kind


def test_shares_of_first_characters_are_those_of_counting() -> None:
    for count in (1, 9, 10, 16, 32, 100, 128, 256, 1000):
        written = [str(number)[0] for number in range(count)]
        counted = {digit: written.count(digit) / count for digit in sorted(set(written))}
        assert first_character_shares(count) == pytest.approx(counted)
    assert first_character_shares(16)["1"] == 0.4375
    assert first_character_shares(0) == {}


@pytest.mark.parametrize(
    ("data", "hashed"),
    [(b"", 0), (b"a", 0x3C2569B2), (b"abcd", 0x43ED676A), (b"hello, world", 0x149BBB7F), (b"iceberg", 1210000089)],
)  # fmt: skip
def test_the_hash_equals_published_values(data: bytes, hashed: int) -> None:
    """Values of MurmurHash3 32 bits with seed 0, such as Iceberg's spec has for its bucket transform."""
    assert murmur3_32(data) == hashed


@pytest.mark.parametrize("table_format", FORMATS)
def test_the_example_of_a_template_matches_it(table_format: str) -> None:
    for properties in ({}, HASHED, NO_PATHS, {"delta.randomizeFilePrefixes": "true"}):
        facts = TableFacts("t", table_format, None, COLUMNS, (DAY, BUCKET), properties)
        template = key_template(facts)
        assert template.matches(template.example)
        assert template.matches(f"s3://lake/sales/orders/{template.example}")
        assert not template.matches(template.example.rpartition("/")[0])


def test_names_and_values_are_encoded_as_the_writer_does() -> None:
    odd = (PartitionField(None, "a b/{c", "ts", "identity"),)
    iceberg = key_template(replace(FACTS, partitioning=odd))
    assert iceberg.segments[1].text == "a+b%2F%7Bc={a+b%2F%7Bc}"
    assert iceberg.segments[1].example == "a+b%2F%7Bc=2026-11-24T13%3A00%3A00%2B00%3A00"
    delta = key_template(replace(FACTS, format="delta", partitioning=odd))
    assert delta.segments[0].text == "a b%2F%7Bc={a b%2F%7Bc}"
    assert delta.segments[0].example == "a b%2F%7Bc=2026-11-24 13%3A00%3A00"


def test_numbers_without_end_are_no_error() -> None:
    """A width or a version with thousands of digits is one that is not understood."""
    many = "9" * 5000
    fields = [PartitionField(None, "id_bucket", "id", f"{function}[{many}]") for function in ("bucket", "truncate")]
    template = of(HASHED, f"1.{many}", partitioning=fields)
    assert (template.text.startswith("data/{hash:4 bits}"), template.notes) == (True, ())
    assert raw_template(f"{{hash:{many} bits}}/{{file}}").segments[0].kind is SegmentKind.CONSTANT
