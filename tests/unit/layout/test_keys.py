"""Keys from ids: what each function returns, and that a reversed id leads back to its id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glacierbase.layout.keys import bucket_prefix, hash_path, hash_prefix, id_of, reversed_id
from tests.support.ids import numbers, texts


@pytest.mark.parametrize(
    ("id", "expected"),
    [(0, "0"), (7, "7"), (120, "021"), (100, "001"), (-120, "021-"), (2**63 - 1, "7085774586302733229"), ("0120", "0210"),
     ("", ""), ("a/b", "b/a"), ("e\u0301x", "x\u0301e"), ("a😀𝔘", "𝔘😀a")],
)  # fmt: skip
def test_an_id_is_reversed_as_text_by_code_point(id: str | int, expected: str) -> None:
    """Zeros are kept, a sign is a character, and a combining character is one of its own."""
    assert reversed_id(id) == expected


def test_a_reversed_id_leads_back_to_its_id() -> None:
    """No two ids have one reversed id, if it is kept as text."""
    for ids in (numbers(10_000), texts(10_000)):
        assert len(ids) == 10_000
        assert [id_of(reversed_id(id)) for id in ids] == [str(id) for id in ids]


@given(st.integers() | st.text())
def test_any_id_can_be_reversed_and_reversed_back(id: str | int) -> None:
    """Numbers of any size and texts of any characters."""
    assert id_of(reversed_id(id)) == str(id)


def test_hashes_are_the_published_ones_of_md5() -> None:
    """The vectors of RFC 1321, appendix A.5."""
    assert [hash_prefix(text, 32) for text in ("", "a", "abc", "message digest")] == [
        "d41d8cd98f00b204e9800998ecf8427e",
        "0cc175b9c0f1b6a831c399e269772661",
        "900150983cd24fb0d6963f7d28e17f72",
        "f96b697d7cb7938d525a2f31aaf161d0",
    ]
    assert hash_prefix("a", 1) == "0"
    assert (hash_path("a", 2), hash_path("abc", 3)) == ("0/c/a", "9/0/0/abc")


def test_a_number_has_the_keys_of_its_decimal_text() -> None:
    """An engine casts a number to text before it hashes it."""
    for function in (hash_prefix, hash_path, bucket_prefix):
        assert function(-120, 10) == function("-120", 10)


def test_a_bucket_is_the_upper_half_of_the_md5_modulo_n() -> None:
    """Snowflake documents 17145559544104499780 as `md5_number_upper64('Snowflake')`."""
    assert bucket_prefix("Snowflake", 10_000) == "9780"
    assert [bucket_prefix("Snowflake", n) for n in (2, 7, 16, 100, 101)] == [
        f"{17145559544104499780 % n:0{width}}" for n, width in ((2, 1), (7, 1), (16, 2), (100, 2), (101, 3))
    ]


@pytest.mark.parametrize(
    ("n", "of_first_characters"),
    [(2, [1, 1]), (10, [1] * 10), (16, [10, 6]), (20, [10, 10]), (64, [10, 10, 10, 10, 10, 10, 4]), (100, [10] * 10),
     (256, [100, 100, 56]), (1000, [100] * 10)],
)  # fmt: skip
def test_buckets_have_equal_shares_and_equal_lengths(n: int, of_first_characters: list[int]) -> None:
    """First characters are even where `n` is one digit followed by zeros; the documentation names the shares of the others."""
    found = Counter(bucket_prefix(id, n) for id in range(n * 30))
    assert sorted(found) == [f"{bucket:0{len(str(n - 1))}}" for bucket in range(n)]
    assert max(found.values()) < 30 * 2.2
    assert sorted(Counter(bucket[0] for bucket in found).values(), reverse=True) == of_first_characters


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: reversed_id(1.5), TypeError, "an id is a str or an int, not float"),  # type: ignore[arg-type]
        (lambda: reversed_id(True), TypeError, "an id is a str or an int, not bool"),
        (lambda: hash_prefix(None, 2), TypeError, "an id is a str or an int, not NoneType"),  # type: ignore[arg-type]
        (lambda: id_of(21), TypeError, "a reversed id is a str, not int"),  # type: ignore[arg-type]
        (lambda: hash_prefix("a", 0), ValueError, "n is 0; allowed: 1 to 32"),
        (lambda: hash_path("a", 33), ValueError, "n is 33; allowed: 1 to 32"),
        (lambda: bucket_prefix("a", 1), ValueError, "n is 1; allowed: 2 to 10000"),
        (lambda: bucket_prefix("a", 10_001), ValueError, "n is 10001; allowed: 2 to 10000"),
        (lambda: hash_prefix("a", "2"), TypeError, "n is a whole number, not str"),  # type: ignore[arg-type]
        (lambda: bucket_prefix("a", True), TypeError, "n is a whole number, not bool"),
        (lambda: hash_prefix("\ud800", 2), ValueError, "surrogates not allowed"),
    ],
)
def test_other_arguments_are_refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    """A float or a boolean has another text on an engine than in Python."""
    with pytest.raises(error, match=message):
        call()
