"""The reference entries of all error codes, for `glacierbase explain` and the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType

from glacierbase.errors import (
    entries_catalogs,
    entries_engine,
    entries_history,
    entries_lock,
    entries_migrations,
    entries_project,
    entries_review,
    entries_sql,
    entries_tables,
)
from glacierbase.errors.entry import Entry

# In the order of the families: the project first, then its files, then what a run meets.
_FAMILIES = (
    entries_project,
    entries_catalogs,
    entries_migrations,
    entries_sql,
    entries_review,
    entries_history,
    entries_tables,
    entries_lock,
    entries_engine,
)

ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {entry.code: entry for entry in chain.from_iterable(family.ENTRIES for family in _FAMILIES)}
)
