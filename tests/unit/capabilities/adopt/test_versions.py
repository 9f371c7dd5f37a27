"""Versions of other tools become digits that sort as they do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from glacierbase.capabilities.adopt import importing
from glacierbase.capabilities.adopt.foreign import parts_of

NUMBERS = st.lists(st.integers(0, 10**15), min_size=1, max_size=5).map(lambda parts: ".".join(map(str, parts)))


def numbered(versions: list[str]) -> dict[str, str]:
    return dict(zip(versions, importing.numbered([parts_of(version) or () for version in versions]), strict=True))


def test_single_numbers_keep_their_value() -> None:
    """Numbers have four digits at least, and equal lengths, so that a listing of the folder has their order."""
    assert numbered(["1", "002", "10"]) == {"1": "0001", "002": "0002", "10": "0010"}
    assert numbered(["1", "20240102030405"]) == {"1": "00000000000001", "20240102030405": "20240102030405"}
    assert numbered([]) == {}


def test_versions_of_several_numbers_have_three_digits_for_each() -> None:
    """A version between two others has digits between theirs."""
    assert numbered(["1", "1.1", "1_2", "2.0.3"]) == {
        "1": "0001000000",
        "1.1": "0001001000",
        "1_2": "0001002000",
        "2.0.3": "0002000003",
    }
    assert numbered(["1.2.3.4", "1.20240102"]) == {
        "1.2.3.4": "0001000000020000000300000004",
        "1.20240102": "0001202401020000000000000000",
    }


@given(st.lists(NUMBERS, min_size=1, max_size=20, unique_by=parts_of))
def test_the_digits_sort_as_the_versions(versions: list[str]) -> None:
    """The order of the digits as numbers and as texts is that of the versions."""
    digits = numbered(versions)
    ordered = [digits[version] for version in sorted(versions, key=lambda version: parts_of(version) or ())]
    assert ordered == sorted(ordered)
    assert [int(each) for each in ordered] == sorted({int(each) for each in ordered})


def test_a_version_with_other_text_has_no_numbers() -> None:
    """Zeros at the end do not count, as the tools compare versions."""
    assert [parts_of(version) for version in ("1.0.0", "0", "1a", "", "1..2", "²")] == [
        (1,),
        (0,),
        None,
        None,
        None,
        None,
    ]
