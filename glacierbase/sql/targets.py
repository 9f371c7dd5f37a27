"""The tables that statements change, as the history records them, and the tables whose log shows an effect."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from glacierbase.sql.operations import ALTERS, CREATES_TABLE, REFERENCES, ROWS

if TYPE_CHECKING:
    from glacierbase.sql.file import FileStatement
    from glacierbase.sql.statement import ParsedStatement

# Operations that commit to, create or drop their only table. A rename leaves no commit under the new name.
_LOGGED = CREATES_TABLE | ALTERS | REFERENCES | (ROWS - {"insert_multi", "copy"}) | {"drop_table", "rename_table"}


def target_tables(statements: Iterable[FileStatement]) -> str | None:
    """Return the tables that the statements change, as a JSON list.

    None if a statement is not understood, or if it is not certain which table it means.
    """
    tables: dict[str, None] = {}
    for named in statements:
        if not named.parsed.understood or any(whole is None for _, whole in named.names):
            return None
        tables.update(dict.fromkeys(name for name, _ in named.names))
    return json.dumps(list(tables))


@lru_cache(4096)  # Most tables have many events.
def table_names(recorded: str | None) -> tuple[str, ...]:
    """Return the names in a list of `target_tables`; none if it is not readable."""
    try:
        names = json.loads(recorded or "[]")
    except ValueError:
        return ()
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def logged_tables(statements: Iterable[FileStatement]) -> tuple[str, ...]:
    """Return the tables whose logs show the effects of the statements, as recorded; none if a statement has no such table."""
    logged = [_logged(named.parsed) for named in statements]
    return () if None in logged else tuple(dict.fromkeys(name for name in logged if name))


def _logged(statement: ParsedStatement) -> str | None:
    targets = statement.targets[:1] if statement.operation == "rename_table" else statement.targets
    return targets[0].recorded if statement.operation in _LOGGED and len(targets) == 1 else None
