"""The tables that statements change, as far as the first words of a statement name them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from glacierbase.model.migration import Statement
from glacierbase.model.names import NAME, recorded_name

# The first words of a statement, with the table or view that it changes.
_TARGET = re.compile(
    rf"""(?ix)
    (?: (?:CREATE|REPLACE|DROP|ALTER|TRUNCATE)\s+
        (?:OR\s+(?:REPLACE|ALTER)\s+)?
        (?:(?:EXTERNAL|ICEBERG|TRANSIENT|DYNAMIC|SECURE|MATERIALIZED)\s+)*
        (?:TABLE|VIEW)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?
      | INSERT\s+(?:INTO|OVERWRITE)\s+(?:TABLE\s+)?
      | COMMENT\s+ON\s+TABLE\s+ | UPDATE\s+ | DELETE\s+FROM\s+ | MERGE\s+INTO\s+ )
    (?P<name>{NAME})"""
)


def target_tables(statements: Iterable[Statement]) -> str | None:
    """Return the tables that the statements change, as a JSON list; None if a statement is not recognised."""
    names = [target_table(statement.text) for statement in statements]
    return None if None in names else json.dumps(list(dict.fromkeys(names)))


def target_table(sql: str) -> str | None:
    """Return the table that a statement changes, as the history records names; None if it is not recognised."""
    found = _TARGET.match(sql)
    return recorded_name(found["name"]) if found else None
