"""Breaks of `layout ls`."""

from __future__ import annotations

from tests.breaks.running import Break

_LISTING = "unit/capabilities/load/test_listing.py::"

BREAKS = (
    Break(
        "keys that begin with no prefix are not listed",
        "capabilities/load/objectstore.py",
        "((keys.prefix, _ALL_KEYS), rest)",
        "((keys.prefix, _ALL_KEYS),)",
        f"{_LISTING}test_any_keys_are_listed_once_and_in_order",
    ),
    Break(
        "a listing does not end where the next one begins",
        "capabilities/load/objectstore.py",
        "inside = page if keys.end is None else",
        "inside = page if True else",
        f"{_LISTING}test_any_keys_are_listed_once_and_in_order",
    ),
    Break(
        "the order of the store is not checked",
        "capabilities/load/objectstore.py",
        "if before >= after), None):",
        "if False), None):",
        f"{_LISTING}test_a_store_with_another_order_is_refused",
    ),
    Break(
        "a refusal that passes ends the listing",
        "capabilities/load/objectstore.py",
        "return _ATTEMPTS if status in",
        "return 1 if status in",
        f"{_LISTING}test_a_burst_of_refusals_loses_nothing",
    ),
    Break(
        "pages that are read ahead have no limit",
        "capabilities/load/ahead.py",
        "return self._count < self._ahead or",
        "return True or",
        "unit/capabilities/load/test_ahead.py::test_memory_is_bounded",
    ),
    Break(
        "the current source waits for room like all others",
        "capabilities/load/ahead.py",
        "or (index == self._current and not self._read[index])",
        "or False",
        "unit/capabilities/load/test_ahead.py::test_sources_that_fill_the_memory_do_not_stop_the_first_one",
    ),
)
