"""The templates of the keys of objects: which are accepted, and the new key of an old one."""

from __future__ import annotations

import re

import pytest

from glacierbase.capabilities.rekey.keys import RekeyedObjects
from glacierbase.errors import StatementRefused

OLD, NEW = "date={date}/id={id}/{file}", "id_reversed={id:reversed}/date={date}/{file}"


@pytest.mark.parametrize(
    ("old", "new", "key", "expected"),
    [
        (OLD, NEW, "date=2026-01-01/id=100/a.parquet", "id_reversed=001/date=2026-01-01/a.parquet"),
        (OLD, NEW, "date=/id=100/a", None),
        (OLD, NEW, "date=1/id=100/b/a", None),
        (OLD, NEW, "date=x=y/id=ü\n/ a", "id_reversed=\nü/date=x=y/ a"),
        ("{id}/{file}", "{id:hash 2}/{id}/{file}", "120/f", "da/120/f"),
        ("a.b/{file}", "h/{file:hash 1}/{file}", "a.b/x", "h/9/x"),
        ("a.b/{file}", "h/{file:hash 1}/{file}", "acb/x", None),
    ],
)
def test_the_new_key_of_an_object(old: str, new: str, key: str, expected: str | None) -> None:
    """Other keys have none; text between variables is taken as it is."""
    objects = RekeyedObjects("s3://shop/x/", old, new)
    assert objects.new_key(f"x/{key}") == (None if expected is None else f"x/{expected}")
    if expected is not None:
        assert re.fullmatch(objects.new_pattern.removesuffix(r"\z"), f"x/{expected}")


@pytest.mark.parametrize(
    ("address", "old", "new", "why"),
    [
        ("s3://shop", OLD, NEW, "is not the address of a prefix"),
        ("s3://shop/x", OLD, NEW, "is not the address of a prefix"),
        ("s3a://shop/x/", OLD, NEW, "is not the address of a prefix"),
        ("s3://shop/", "plain", NEW, "is not a template"),
        ("s3://shop/", "{date", NEW, "is not a template"),
        ("s3://shop/", OLD, "{id:upside down}/{file}", "is not a template"),
        ("s3://shop/", OLD, "/{id}/{file}", "a folder without a name"),
        ("s3://shop/", "{a}{b}", "x/{a}/{b}", "two variables without text"),
        ("s3://shop/", "{a:reversed}/x", "y/{a}", "which only new keys may have"),
        ("s3://shop/", "{a}/{a}", "y/x/{a}", "has a variable twice"),
        ("s3://shop/", OLD, "n/{id}/{date}", "lacks {file}: two objects could get one key"),
        ("s3://shop/", OLD, "n/{id:hash 2}/{date}/{file}", "lacks {id}"),
        ("s3://shop/", OLD, "n/{id}/{date}/{hour}/{file}", "has no {hour}"),
        ("s3://shop/", "{id}/{file}", "{id:reversed}/{file}", "a key may match both"),
        ("s3://shop/", "{id}/{file}", "{file}/{id:hash 40}/{id}", "40 digits of a hash"),
    ],
)
def test_templates_that_could_lose_an_object_are_refused(address: str, old: str, new: str, why: str) -> None:
    """Before anything is listed."""
    with pytest.raises(StatementRefused, match=re.escape(why)) as refused:
        RekeyedObjects(address, old, new)
    assert refused.value.error_class == "CANNOT_REKEY"


@pytest.mark.parametrize(
    ("new", "is_one_to_one"),
    [
        ("{b:reversed}/n/{a}-x", True),
        ("n/{b:hash 2}-{b}/{a}", True),
        ("n/m/{a}-{b}", False),
        ("n/m/{a:reversed}-{b}", False),
    ],
)
def test_keys_are_compared_with_each_other_only_where_templates_do_not_show_that_they_differ(
    new: str, is_one_to_one: bool
) -> None:
    """Two variables in one folder: the text between them may be a part of both."""
    objects = RekeyedObjects("s3://shop/", "{a}/{b}", new)
    pairs = [("x-y/z", "x/y-z"), ("y-x/z", "x/y-z")]
    assert objects.is_one_to_one is is_one_to_one
    assert is_one_to_one is all(objects.new_key(first) != objects.new_key(second) for first, second in pairs)
