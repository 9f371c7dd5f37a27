"""Key schemes of tables, from the templates of their keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glacierbase.capabilities.load.partitions import Keys
from glacierbase.capabilities.load.schemes import Ids, first_characters
from glacierbase.capabilities.load.template_keys import template_scheme, unknown_columns
from glacierbase.layout.folders import raw_template
from glacierbase.layout.partitions import first_character_shares
from glacierbase.layout.template import KeyTemplate, TableFacts
from glacierbase.layout.templates import key_template
from glacierbase.model.shape import PartitionField

DAY = PartitionField(None, "ts_day", "ts", "day")
BUCKET = PartitionField(None, "id_bucket", "id", "bucket[16]")
OBJECT_STORAGE = {"write.object-storage.enabled": "true"}
IDS = Ids.of([str(number) for number in range(1000, 9000)])
TEXTS = Ids.of(["north", "south", "south"])


def table(*fields: PartitionField, **properties: str) -> KeyTemplate:
    return key_template(TableFacts("t", "iceberg", "1.12.0", {}, fields, properties))


def keys_of(template: KeyTemplate, ids: Ids = IDS, column: str = "id") -> Keys:
    return template_scheme(template, column)(ids, np.random.default_rng(0))


def texts_of(keys: Keys) -> list[str]:
    return [bytes(row).rstrip(b"\0").decode() for row in keys.characters]


@pytest.mark.parametrize(
    ("fields", "restart"),
    [
        ([DAY, BUCKET], 24 * 60),
        ([PartitionField(None, "ts_hour", "ts", "hour"), BUCKET], 60),
        ([PartitionField(None, "dt", "dt", "identity"), PartitionField(None, "hour", "hour", "identity")], 60),
        ([PartitionField(None, "ts_month", "ts", "month"), BUCKET], 30 * 24 * 60),
        ([BUCKET, DAY], None),
    ],
)
def test_a_time_at_the_start_begins_anew_with_each_period(fields: list[PartitionField], restart: int | None) -> None:
    """A time behind a bucket does not: all days share the partitions of the buckets."""
    assert keys_of(table(*fields)).restart == restart


def test_buckets_have_unpadded_numbers() -> None:
    """Of 16 buckets, 44 % of the requests have the first character 1; what follows the time is left out."""
    keys = keys_of(table(BUCKET, DAY))
    assert texts_of(keys) == sorted(f"{number}/" for number in range(16))
    shares = first_characters(keys)
    assert shares == pytest.approx(dict(first_character_shares(16)), abs=0.02)


def test_object_storage_has_random_bits_first_and_ids_do_not_matter() -> None:
    """Hot ids are spread: each file has other bits."""
    hot = Ids.of(IDS.values, np.arange(1, 8001) ** -2.0)
    keys = keys_of(table(DAY, BUCKET, **OBJECT_STORAGE), hot)
    assert keys.restart is None
    assert first_characters(keys) == pytest.approx({"0": 0.5, "1": 0.5}, abs=0.02)
    assert keys.shares.max() < 0.001


@pytest.mark.parametrize(
    ("pattern", "key", "shares"),
    [
        ("id={id}/date={date}/{file}", "1000/", {"1": 1 / 8}),
        ("id_reversed={id_reversed}/date={date}/{file}", "0001/", {"1": 1 / 10}),
        ("{user_hash}/{file}", None, {"a": 1 / 16}),
    ],
)
def test_a_pattern_names_what_its_parts_hold(pattern: str, key: str | None, shares: dict[str, float]) -> None:
    """Ids, reversed ids and hashes of ids, in texts."""
    keys = keys_of(raw_template(pattern))
    assert key is None or key in texts_of(keys)
    for character, share in shares.items():
        assert first_characters(keys)[character] == pytest.approx(share, abs=0.02)


def test_values_of_other_columns_are_one_value() -> None:
    """The distribution of a column is not known, unless it is named."""
    template = raw_template("region={region}/id={id}/{file}")
    assert unknown_columns(template, "id") == ["region"]
    assert unknown_columns(template, "region") == []
    assert texts_of(keys_of(raw_template("region={region}/date={date}/{file}"), TEXTS, "region")) == [
        "north/",
        "south/",
    ]
    assert first_characters(keys_of(template))["1"] == pytest.approx(1 / 8)


@pytest.mark.parametrize(
    ("column", "transform", "ids", "first"),
    [
        ("id", "truncate[1000]", IDS, "1000/"),
        ("id_rev", "truncate[1]", IDS, "0/"),
        ("id", "truncate[2]", TEXTS, "no/"),
    ],
)
def test_a_truncated_id_is_a_number_or_a_prefix(column: str, transform: str, ids: Ids, first: str) -> None:
    """Numbers are rounded down, texts cut."""
    field: Any = PartitionField(None, "part", column, transform)
    assert texts_of(keys_of(table(field, DAY), ids))[0] == first
