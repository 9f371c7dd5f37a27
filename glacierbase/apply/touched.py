"""The tables that the statements of a file touch, each with the name by which it is read. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Statement
from glacierbase.model.names import name_of, name_parts
from glacierbase.sql import read
from glacierbase.sql.parts import Call, DroppedNamespace
from glacierbase.sql.statement import ParsedStatement
from glacierbase.stores.shapes import qualified

# Of Snowflake: it changes what names mean in no way.
_KEEPS_NAMES = re.compile(r"(?i)USE\s+(?:WAREHOUSE|ROLE|SECONDARY)\b")


def touched_tables(catalog: Catalog, statements: Sequence[Statement]) -> Mapping[str, str | None]:
    """Return the tables that the statements change or may change, as the history records their names.

    The value is the whole name of the table; None where it depends on a statement of the file, such as USE. Views, and tables
    that end with their session, are left out.
    """
    found: dict[str, str | None] = {}
    temporary: set[str] = set()
    is_switched = False
    for statement in statements:
        parsed = read(statement.text, catalog.executor_type)
        is_switched = is_switched or _switches(parsed, statement.text)
        for name, written in _names(parsed, catalog.executor_type):
            whole = None if is_switched and not _is_whole(catalog, written) else qualified(catalog, written)
            found.setdefault(name, whole)
            if parsed.options.temporary:
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


def _switches(found: ParsedStatement, sql: str) -> bool:
    """Return whether the names in the statements after it may mean other tables."""
    is_setting = found.operation == "set" and "catalog" in sql.lower()
    return is_setting or (found.operation == "use" and not _KEEPS_NAMES.match(sql))


def _is_whole(catalog: Catalog, name: str) -> bool:
    parts = name_parts(name)
    return len(parts) > 2 and (catalog.executor_type != "spark" or qualified(catalog, name) == name_of(parts))


def _names(found: ParsedStatement, dialect: str) -> list[tuple[str, str]]:
    """Return each table as recorded, and as the engine completes its name from the rest of the statement."""
    names = [each.recorded for each in found.targets]
    if found.options.kind and not found.options.kind.endswith("table"):
        return []
    if found.operation == "rename_table" and dialect == "spark":
        return [(names[0], names[0]), *((new, _completed(new, name_parts(names[0]))) for new in names[1:])]
    call = next((part for part in found.parts if isinstance(part, Call)), None)
    if call and len(call.procedure) > 2:  # Names are relative to the catalog of the procedure.
        return [(name, _completed(name, [call.procedure[0], *name_parts(name)][:3])) for name in names]
    return [(name, name) for name in names]


def _completed(name: str, like: Sequence[str]) -> str:
    """Return a name with the first parts of another one where it has fewer."""
    parts = name_parts(name)
    return name_of((*like[: len(like) - len(parts)], *parts)) if len(parts) < len(like) else name
