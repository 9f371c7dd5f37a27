"""The tables that statements change, as the history records them, and those whose own log shows an effect."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from glacierbase.model.migration import Statement
from glacierbase.sql import read

if TYPE_CHECKING:
    from glacierbase.sql.completed import Named
    from glacierbase.sql.statement import ParsedStatement

# Operations whose effect is a commit to their one table, or its beginning or end. A rename leaves no commit under the new name.
_LOGGED = frozenset(
    {
        "create_table", "create_table_as", "replace_table", "drop_table", "rename_table", "add_column", "drop_column",
        "rename_column", "alter_column_type", "alter_column_nullability", "alter_column_comment", "alter_column_position",
        "alter_column_default", "replace_columns", "set_properties", "unset_properties", "set_location", "comment_on",
        "add_partition_field", "drop_partition_field", "replace_partition_field", "set_write_order", "set_distribution",
        "set_identifier_fields", "drop_identifier_fields", "create_branch", "drop_branch", "create_tag", "drop_tag",
        "add_constraint", "drop_constraint", "cluster_by", "several", "insert", "insert_overwrite", "update", "delete", "merge",
        "truncate",
    }
)  # fmt: skip


def target_tables(statements: Iterable[Statement], dialect: str) -> str | None:
    """Return the tables that the statements change, as a JSON list; None if a statement is not understood."""
    found = [read(statement.text, dialect) for statement in statements]
    return _listed((statement, [each.recorded for each in statement.targets]) for statement in found)


def named_tables(statements: Iterable[Named]) -> str | None:
    """Return what `target_tables` returns, with names after USE completed; None also if it is not certain which table one means."""
    return _listed(
        (each.parsed, [None if whole is None else name for name, whole in each.names]) for each in statements
    )


def _listed(found: Iterable[tuple[ParsedStatement, Sequence[str | None]]]) -> str | None:
    tables: dict[str, None] = {}
    for statement, names in found:
        if not statement.understood or None in names:
            return None
        tables.update(dict.fromkeys(filter(None, names)))
    return json.dumps(list(tables))


@lru_cache(4096)  # Most tables have many events.
def table_names(recorded: str | None) -> tuple[str, ...]:
    """Return the names in a list that `target_tables` made; none where it is not readable."""
    try:
        names = json.loads(recorded or "[]")
    except ValueError:
        return ()
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def logged_tables(statements: Iterable[Statement], dialect: str) -> tuple[str, ...]:
    """Return the tables in whose own logs the effects of the statements can be seen, as recorded; none if one has no such table."""
    found = [_logged(read(statement.text, dialect)) for statement in statements]
    return () if None in found else tuple(dict.fromkeys(name for name in found if name))


def _logged(statement: ParsedStatement) -> str | None:
    targets = statement.targets[:1] if statement.operation == "rename_table" else statement.targets
    return targets[0].recorded if statement.operation in _LOGGED and len(targets) == 1 else None
