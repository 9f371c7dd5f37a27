"""What the statements of a file say of tables: which they change, what they claim of each, and where each comes from. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from glacierbase.model.names import name_parts
from glacierbase.sql.about import Claims
from glacierbase.sql.file import Named
from glacierbase.sql.statement import DroppedNamespace, ParsedStatement, not_understood


def changed_tables(statements: Iterable[Named]) -> Mapping[str, str | None]:
    """Return the tables that the statements change or may change, as the history records their names.

    The value is the whole name of the table; None where it is not certain, such as after a USE of a name that is computed. Views,
    and tables that end with their session, are left out.
    """
    tables: dict[str, str | None] = {}
    temporary: set[str] = set()
    for statement in statements:
        kind = statement.parsed.options.kind
        if kind and not kind.endswith("table"):
            continue
        for name, whole in statement.names:
            tables.setdefault(name, whole)
            if statement.parsed.options.temporary:
                temporary.add(name)
    return {name: whole for name, whole in tables.items() if name not in temporary}


def dropped_namespaces(statements: Sequence[Named]) -> tuple[tuple[str, ...], ...]:
    """Return the names of the namespaces that the statements drop, or replace by empty ones."""
    parts = (part for statement in statements for part in statement.parsed.parts)
    return tuple(part.name for part in parts if isinstance(part, DroppedNamespace))


def may_be_within(table: str, namespaces: Sequence[Sequence[str]]) -> bool:
    """Return whether a table may be in one of the namespaces, by its whole name. Their first parts may be left out."""
    return any(_folded(namespace) in _folded(name_parts(table)[:-1]) for namespace in namespaces)


def _folded(parts: Sequence[str]) -> str:
    """Return the parts of a name as one text that contains that of each section of the name."""
    return "".join(f"\0{part.casefold()}\0" for part in parts)


def claims_on(table: str, statements: Sequence[Named], dialect: str, others: Sequence[Named] = ()) -> Claims:
    """Return what statements say of a table, also under the names from which or to which they rename it.

    Args:
        table: its whole name.
        others: all statements that may have renamed its columns.
    """
    names: set[str | None] = {table}
    renames = [
        {whole for _, whole in statement.names}
        for statement in statements
        if statement.parsed.operation == "rename_table"
    ]
    while grown := {name for renamed in renames if renamed & names for name in renamed} - names:
        names |= grown
    return Claims(_about(names, statements), dialect, _about(names, others))


def _about(names: set[str | None], statements: Sequence[Named]) -> list[ParsedStatement]:
    """Return the statements that are about a table with these names, or may be."""
    found = []
    for statement in statements:
        wholes = [whole for _, whole in statement.names]
        drops = any(isinstance(part, DroppedNamespace) for part in statement.parsed.parts)
        if None in wholes:
            found.append(not_understood("which table it means is not certain"))
        elif not statement.parsed.understood or drops or not names.isdisjoint(wholes):
            found.append(statement.parsed)
    return found


def origins(statements: Iterable[Named]) -> Mapping[str, str | None]:
    """Return for names the name that their table had before the statements; None where the statements made it.

    Names are whole where that is certain. A name that no statement gives to another table is left out.
    """
    found: dict[str, str | None] = {}
    for statement in statements:
        names = [whole or name for name, whole in statement.names]
        if statement.parsed.operation == "rename_table" and len(names) == 2:
            old, new = names
            found[new] = found.pop(old, old)
        elif _ends_or_begins(statement.parsed):
            found |= dict.fromkeys(names)
    return found


def _ends_or_begins(statement: ParsedStatement) -> bool:
    """Return whether a table that has the name afterwards was not there before."""
    if statement.operation in ("create_table", "create_table_as"):
        return not statement.options.if_not_exists and not statement.options.or_alter
    return statement.operation in ("replace_table", "drop_table")
