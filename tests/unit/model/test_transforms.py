"""Iceberg's partition transforms, compared with PyIceberg."""

from __future__ import annotations

import itertools

import pytest
from pyiceberg.transforms import UnknownTransform, parse_transform

from glacierbase.executors.direct.ddl.types import iceberg_type
from glacierbase.model.transforms import TRANSFORMS, by_function, name_and_width
from glacierbase.sql.types import type_tree

TYPES = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(9,2)", "date", "timestamp", "timestamp_ltz",
    "timestamp_ntz", "string", "char(3)", "varchar(3)", "binary",
)  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("text", TYPES)
def test_a_transform_accepts_the_types_that_iceberg_accepts(name: str, text: str) -> None:
    """Among them is `timestamp_ltz`, which is `timestamp` under another name."""
    known, stored = TRANSFORMS[name], iceberg_type(text, itertools.count(1).__next__)
    transform = parse_transform(f"{name}[4]" if known.has_width else name)
    assert not isinstance(transform, UnknownTransform)
    assert (known.accepts is None or type_tree(text).name in known.accepts) == transform.can_transform(stored)


def test_each_function_means_one_transform() -> None:
    """The first function of each transform, which glacierbase writes, is one that all versions of Spark read."""
    functions = [function for known in TRANSFORMS.values() for function in known.functions]
    assert len(functions) == len(set(functions))
    assert [known.functions[0] for known in TRANSFORMS.values()] == [
        "", "bucket", "truncate", "years", "months", "days", "hours",
    ]  # fmt: skip
    assert by_function("void") is None


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        ("bucket[16]", ("bucket", "16")),
        ("day", ("day", "")),
        ("zorder[a]", ("zorder", "a")),
        ("bucket[16", ("bucket[16", "")),
        ("bucket[]", ("bucket[]", "")),
    ],
)
def test_a_transform_without_a_whole_width_is_only_a_name(transform: str, expected: tuple[str, str]) -> None:
    """The name of an unknown transform is not cut."""
    assert name_and_width(transform) == expected
