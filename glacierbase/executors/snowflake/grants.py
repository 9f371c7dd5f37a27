"""Which roles may change the tables of a schema, from SHOW GRANTS, which needs no warehouse.

https://docs.snowflake.com/en/sql-reference/sql/show-grants
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from glacierbase.errors import EngineError, TableNotFound
from glacierbase.executors import Row, Session
from glacierbase.model.access import NamespaceAccess, Protection
from glacierbase.model.names import snowflake_identifier
from glacierbase.model.text import first_of

# https://docs.snowflake.com/en/user-guide/security-access-control-privileges
_ALL = ("OWNERSHIP", "ALL", "ALL PRIVILEGES")
_OF_TABLES = (*_ALL, "EVOLVE SCHEMA")
# The columns of SHOW GRANTS ON, and of SHOW GRANTS OF.
_PRIVILEGE, _KIND, _GRANTEE = 1, 4, 5
_HOLDER_KIND, _HOLDER = 2, 3
_MOST_NAMED = 5


def schema_access(session: Session, schema: Sequence[str], tables: Iterable[str]) -> NamespaceAccess:
    """Return whether roles besides the session's may change the tables of a schema.

    Args:
        schema: the names of its database and of itself.
        tables: tables in it, by the names that the history records.
    """
    name = ".".join(schema)
    role = (session.context().role or "").strip('"')
    try:
        others = dict.fromkeys(_others(session, schema, tables, role))
        holders = [f"{row[_HOLDER_KIND]} {row[_HOLDER]}".lower() for row in _shown(session, "OF ROLE", [role])]
    except EngineError as error:
        return NamespaceAccess(name, Protection.UNKNOWN, f"SHOW GRANTS: {error.message}")
    if others:
        return NamespaceAccess(name, Protection.DETECTED, f"also allowed: {first_of(list(others), _MOST_NAMED)}")
    through = f"; granted to {first_of(holders, _MOST_NAMED)}" if holders else ""
    return NamespaceAccess(name, Protection.PREVENTED, f"only role {role} may change tables{through}")


def _others(session: Session, schema: Sequence[str], tables: Iterable[str], role: str) -> Iterator[str]:
    """Yield each right of another role to change a table, or to create or replace one."""
    for row in _shown(session, "ON SCHEMA", schema):
        if row[_PRIVILEGE] in _ALL or _creates_tables(str(row[_PRIVILEGE])):
            yield from _other(row, role, "schema")
    for table in tables:
        with suppress(TableNotFound):  # A migration dropped it.
            for row in session.query(f"SHOW GRANTS ON TABLE {table}"):
                if row[_PRIVILEGE] in _OF_TABLES:
                    yield from _other(row, role, table)


def _creates_tables(privilege: str) -> bool:
    return privilege.startswith("CREATE ") and privilege.endswith("TABLE")


def _other(row: Row, role: str, on: str) -> Iterator[str]:
    if (str(row[_KIND]).upper(), row[_GRANTEE]) != ("ROLE", role):
        yield f"{str(row[_KIND]).lower()} {row[_GRANTEE]} ({row[_PRIVILEGE]} on {on})"


def _shown(session: Session, of: str, parts: Sequence[str]) -> list[Row]:
    return session.query(f"SHOW GRANTS {of} {'.'.join(map(snowflake_identifier, parts))}")
