"""What is known of each table before a statement: folded over the statements of a catalog's files, in their order.

What may have changed without a trace in the statements is forgotten, so that nothing is known wrongly.
"""

from __future__ import annotations

from dataclasses import replace

from glacierbase.sql.known_changes import altered, created
from glacierbase.sql.known_table import NOTHING, KnownTable
from glacierbase.sql.statement import Name, ParsedStatement

_Key = tuple[str, ...]
_CREATES = ("create_table", "create_table_as", "replace_table")
# What changes nothing that is known of a table.
_HARMLESS = frozenset(
    {
        "insert", "insert_overwrite", "insert_multi", "update", "delete", "truncate", "select", "show", "describe", "explain",
        "analyze", "refresh", "cache", "uncache", "optimize", "vacuum", "reset", "grant", "revoke",
        "create_namespace", "alter_namespace", "create_view", "replace_view", "alter_view", "drop_view", "rename_view",
        "create_function", "drop_function", "add_partition", "drop_partition", "set_location", "transaction",
    }
)  # fmt: skip
# Catalog, namespace, table: USE does not change what such a name means.
_WHOLE_NAME = 3


class KnownTables:
    """What is known of tables after the statements so far.

    Attributes:
        is_complete: whether these are all statements since the catalog's first one.
    """

    def __init__(self, *, is_complete: bool = True) -> None:
        self.is_complete = is_complete
        # By the last name: names that may stand for one table have the same.
        self._tables: dict[str, dict[_Key, KnownTable]] = {}
        self._is_switched = False

    def start_file(self) -> None:
        """Begin a file: what USE chose in the one before has ended."""
        self._is_switched = False

    def before(self, name: Name) -> KnownTable | None:
        """Return what is known of a table; None where nothing is."""
        return self._get(name.key) if self._is_clear(name.key) else None

    def follow(self, statement: ParsedStatement) -> None:
        """Add what a statement declares."""
        operation, names = statement.operation, statement.targets
        is_harmless = operation in _HARMLESS or (operation == "comment_on" and not names)
        if operation in ("use", "set"):
            self._is_switched = self._is_switched or bool(statement.moves)
        elif not statement.understood or (not names and not is_harmless):
            self._tables.clear()
        elif is_harmless:
            return
        elif operation in _CREATES:
            self._create(names[0].key, statement)
        elif operation == "rename_table":
            self._rename(names[0].key, names[-1].key)
        else:
            for name in names:
                self._change(name.key, statement)

    def _create(self, key: _Key, statement: ParsedStatement) -> None:
        before = self._get(key)
        if statement.options.if_not_exists and (before or not self.is_complete):
            return
        table = created(statement, before)
        is_whole = self.is_complete or before or statement.operation != "replace_table"
        # The table before, which is not known, may have had properties.
        self._put(key, table if is_whole else replace(table, properties=None))

    def _rename(self, old: _Key, new: _Key) -> None:
        table = self._get(old)
        self._put(old, None)
        missing = len(old) - len(new)
        self._put((*old[:missing], *new) if missing > 0 else new, table)

    def _change(self, key: _Key, statement: ParsedStatement) -> None:
        table = self._get(key)
        if statement.operation == "drop_table" or table is None:
            self._put(key, None)
        else:
            self._put(key, altered(table, statement))

    def _get(self, key: _Key) -> KnownTable | None:
        return self._tables.get(key[-1], {}).get(key)

    def _put(self, key: _Key, table: KnownTable | None) -> None:
        """Replace what is known of a table, and forget each other one that the name may stand for."""
        others = self._tables.setdefault(key[-1], {})
        for other in [each for each in others if _may_be_same(each, key)]:
            del others[other]
        if table is not None and table != replace(NOTHING, using=table.using) and self._is_clear(key):
            others[key] = table

    def _is_clear(self, key: _Key) -> bool:
        """Return whether a name means the same table wherever it is written."""
        return len(key) >= _WHOLE_NAME or not self._is_switched


def _may_be_same(one: _Key, other: _Key) -> bool:
    """Return whether two names may stand for one table: the first parts of either may be left out."""
    shorter = min(len(one), len(other))
    return one[len(one) - shorter :] == other[len(other) - shorter :]
