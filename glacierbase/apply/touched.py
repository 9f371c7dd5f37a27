"""The tables that the statements of a file touch, each with the name by which it is read. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Statement
from glacierbase.model.names import name_of, name_parts
from glacierbase.model.qualified import qualified
from glacierbase.sql import read
from glacierbase.sql.about import Claims
from glacierbase.sql.completed import Named, completed_like
from glacierbase.sql.parts import Call, DroppedNamespace
from glacierbase.sql.statement import ParsedStatement, not_understood

# Of USE, those that change what names mean; a role and a warehouse do not.
_NAMED = ("", "catalog", "namespace")


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


def dropped_namespaces(statements: Sequence[Statement], dialect: str) -> tuple[tuple[str, ...], ...]:
    """Return the names of the namespaces that the statements drop, or replace by empty ones."""
    parts = (part for each in statements for part in read(each.text, dialect).parts)
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


def switches(found: ParsedStatement, sql: str) -> bool:
    """Return whether the names in the statements after it may mean other tables."""
    is_setting = found.operation == "set" and "catalog" in sql.lower()
    return is_setting or (found.operation == "use" and found.options.kind in _NAMED)


def is_whole(catalog: Catalog, name: str) -> bool:
    """Return whether a name means the same table after any statement."""
    parts = name_parts(name)
    return len(parts) > 2 and (catalog.executor_type != "spark" or qualified(catalog, name) == name_of(parts))


def names_in(found: ParsedStatement, dialect: str) -> list[tuple[str, str]]:
    """Return each table as recorded, and as the engine completes its name from the rest of the statement."""
    names = [each.recorded for each in found.targets]
    if found.options.kind and not found.options.kind.endswith("table"):
        return []
    if found.operation == "rename_table" and dialect == "spark":
        return [(names[0], names[0]), *((new, completed_like(new, name_parts(names[0]))) for new in names[1:])]
    call = next((part for part in found.parts if isinstance(part, Call)), None)
    if call and len(call.procedure) > 2:  # Names are relative to the catalog of the procedure.
        return [(name, completed_like(name, [call.procedure[0], *name_parts(name)][:3])) for name in names]
    return [(name, name) for name in names]
