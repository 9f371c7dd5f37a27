"""Amounts, as callers write them and as texts show them."""

from __future__ import annotations

import pytest

from glacierbase.model.amounts import amount, bytes_amount, long_time, parse_amount


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("600M", 600e6), ("37.5M", 37.5e6), ("150K", 150e3), ("2G", 2e9),
        ("1.31e12", 1.31e12), ("5e-1", 0.5), (" 7 ", 7), (".5", 0.5),
    ],
)  # fmt: skip
def test_suffixes_are_thousands(text: str, value: float) -> None:
    """A number without a suffix is taken as it is."""
    assert parse_amount(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("128MB", 2**27), ("128M", 2**27), ("1KiB", 1024), ("1.5G", 1.5 * 2**30), ("9", 9)]
)
def test_suffixes_of_bytes_are_powers_of_1024(text: str, value: float) -> None:
    """B and iB may follow."""
    assert parse_amount(text, is_bytes=True) == value


@pytest.mark.parametrize("text", ["", "-5", "nan", "inf", "5x", "5m", "1.2.3", "128MB", "1,000", "k", "0x10", "٣"])
def test_another_text_is_refused(text: str) -> None:
    """The message has an example."""
    with pytest.raises(ValueError, match="is not a number such as 600M"):
        parse_amount(text)


def test_amounts_have_three_digits_from_a_million_on() -> None:
    """Below, all digits of a whole number are shown."""
    values = (0.5142, 16, 240.4, 3500, 65_536, 6_553_600, 37.5e6, 600e6, 1.31e12)
    assert [amount(value) for value in values] == [
        "0.514", "16", "240", "3,500", "65,536", "6.55 M", "37.5 M", "600 M", "1.31 T",
    ]  # fmt: skip
    assert [bytes_amount(value) for value in (1, 1500, 2**27, 3500 * 2**27)] == ["1 B", "1.5 KB", "128 MB", "437 GB"]
    assert [long_time(value) for value in (0.1, 14.7, 234.4, 60_000, 3e6)] == [
        "0.1 s", "15 s", "3.9 min", "16.7 h", "34.7 days",
    ]  # fmt: skip
