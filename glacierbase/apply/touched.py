"""The tables that the statements of a file touch, each with the name by which it is read. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from glacierbase.model.names import name_parts
from glacierbase.sql.about import Claims
from glacierbase.sql.file import Named
from glacierbase.sql.statement import DroppedNamespace, ParsedStatement, not_understood


def touched_tables(statements: Iterable[Named]) -> Mapping[str, str | None]:
    """Return the tables that the statements change or may change, as the history records their names.

    The value is the whole name of the table; None where it is not certain, such as after a USE of a name that is computed. Views,
    and tables that end with their session, are left out.
    """
    found: dict[str, str | None] = {}
    temporary: set[str] = set()
    for each in statements:
        kind = each.parsed.options.kind
        if kind and not kind.endswith("table"):
            continue
        for name, whole in each.names:
            found.setdefault(name, whole)
            if each.parsed.options.temporary:
                temporary.add(name)
    return {name: whole for name, whole in found.items() if name not in temporary}


def dropped_namespaces(statements: Sequence[Named]) -> tuple[tuple[str, ...], ...]:
    """Return the names of the namespaces that the statements drop, or replace by empty ones."""
    parts = (part for each in statements for part in each.parsed.parts)
    return tuple(each.name for each in parts if isinstance(each, DroppedNamespace))


def may_be_within(table: str, namespaces: Sequence[Sequence[str]]) -> bool:
    """Return whether a table is in one of the namespaces by its whole name. The first parts of theirs may be left out."""
    return any(_folded(each) in _folded(name_parts(table)[:-1]) for each in namespaces)


def _folded(parts: Sequence[str]) -> str:
    """Return the parts of a name as one text that contains that of each section of the name."""
    return "".join(f"\0{part.casefold()}\0" for part in parts)


def claims_on(table: str | None, statements: Sequence[Named], dialect: str, others: Sequence[Named] = ()) -> Claims:
    """Return what statements say of a table, also under the names from which or to which they rename it.

    Args:
        table: its whole name.
        others: all statements that may have renamed its columns.
    """
    names = {table}
    renames = [{whole for _, whole in each.names} for each in statements if each.parsed.operation == "rename_table"]
    while grown := {name for each in renames if each & names for name in each} - names:
        names |= grown

    def about(found: Sequence[Named]) -> list[ParsedStatement]:
        return [said for each in found if (said := _said(each, names)) is not None]

    return Claims(about(statements), dialect, about(others))


def _said(each: Named, names: set[str | None]) -> ParsedStatement | None:
    """Return what a statement says of a table that has these names; None where it is about others."""
    wholes = [whole for _, whole in each.names]
    if None in wholes:
        return not_understood("which table it means is not certain")
    drops = any(isinstance(part, DroppedNamespace) for part in each.parsed.parts)
    is_about = not each.parsed.understood or drops or not names.isdisjoint(wholes)
    return each.parsed if is_about else None
