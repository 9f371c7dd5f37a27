"""The ranges of keys that are listed side by side."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from glacierbase.capabilities.load.ranges import KeyRange, prefix_set, ranges

TEXTS = st.text(max_size=4)


@given(st.sets(TEXTS), TEXTS, TEXTS | st.none(), TEXTS)
def test_every_key_is_in_one_range(cuts: set[str], prefix: str, after: str | None, key: str) -> None:
    """The ranges follow one another, in the order of the bytes in UTF-8, whatever the prefixes are."""
    parts = ranges(prefix, cuts, after)
    inside = [part for part in parts if (part.start or "") < key and (part.end is None or key <= part.end)]
    assert len(inside) == (0 if key == "" or (after is not None and key <= after) else 1)
    starts = [part.start.encode() for part in parts if part.start is not None]
    assert starts == sorted(starts)


def test_the_ranges_of_two_prefixes() -> None:
    """The first range has no prefix: nothing is known of its keys."""
    assert ranges("data/", ["b", "a"], None) == [
        KeyRange(None, "data/a", None), KeyRange("data/a", "data/b", "data/a"), KeyRange("data/b", None, "data/b"),
    ]  # fmt: skip
    assert ranges("data/", ["b", "a"], "data/a7") == [
        KeyRange("data/a7", "data/b", None), KeyRange("data/b", None, "data/b"),
    ]  # fmt: skip
    assert ranges("", [], None) == [KeyRange(None, None, None)]


def test_the_sets_of_prefixes() -> None:
    """base2 has a folder for every four bits, three times, and then the rest, as Iceberg writes its hash."""
    assert (len(prefix_set("hex2")), prefix_set("hex2")[0], prefix_set("hex2")[-1]) == (256, "00", "ff")
    assert list(prefix_set("digits")) == list("0123456789")
    assert prefix_set("base2:2") == ["00", "01", "10", "11"]
    assert (len(prefix_set("base2:8")), prefix_set("base2:8")[83]) == (256, "0101/0011")
    assert prefix_set("base2:16")[-1] == "1111/1111/1111/1111"
    assert len(prefix_set("base2:16")) == len(prefix_set("hex4")) == 65_536
