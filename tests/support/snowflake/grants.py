"""Grants in the test bed's server: it remembers GRANT and REVOKE, and answers SHOW GRANTS from that.

An emulation by Snowflake's documentation, not an answer that Snowflake gave: no account was asked. Tables and schemas belong to
ENGINEER, the role of the tests, until their ownership is granted; grants on all tables of a schema hold for later tables, too.
https://docs.snowflake.com/en/sql-reference/sql/show-grants
"""

from __future__ import annotations

import re

_GRANT = re.compile(
    r"(?is)\s*(GRANT|REVOKE)\s+(?P<rights>.+?)\s+ON\s+(?P<kind>SCHEMA|TABLE|ALL\s+TABLES\s+IN\s+SCHEMA)\s+(?P<name>\S+)"
    r"\s+(?:TO|FROM)\s+ROLE\s+(?P<role>\"[^\"]+\"|\w+)"
)
_ROLE = re.compile(r"(?is)\s*GRANT\s+ROLE\s+(\"[^\"]+\"|\w+)\s+TO\s+(ROLE|USER)\s+(\"[^\"]+\"|\w+)")
_SHOW = re.compile(r"(?is)\s*SHOW\s+GRANTS\s+(ON\s+SCHEMA|ON\s+TABLE|OF\s+ROLE)\s+(\S+)")
_ON = ("created_on", "privilege", "granted_on", "name", "granted_to", "grantee_name", "grant_option", "granted_by")
_OF = ("created_on", "role", "granted_to", "grantee_name", "granted_by")


class Grants:
    """What was granted: the roles that have a privilege, by the kind and the name of an object."""

    def __init__(self) -> None:
        self._rights: dict[tuple[str, str], dict[str, set[str]]] = {}
        self._holders: dict[str, list[tuple[str, str]]] = {}

    def follow(self, sql: str) -> None:
        """Remember a GRANT or REVOKE."""
        if role := _ROLE.match(sql):
            self._holders.setdefault(_plain(role[1]), []).append((role[2].upper(), _plain(role[3])))
        elif found := _GRANT.match(sql):
            kind = "ALL TABLES" if found["kind"].upper().startswith("ALL") else found["kind"].upper()
            rights, role_name = self._rights.setdefault((kind, _plain(found["name"])), {}), _plain(found["role"])
            for privilege in re.split(r"\s*,\s*", found["rights"].upper()):
                holders = rights.setdefault(privilege, set())
                if found[1].upper() == "REVOKE":
                    holders.discard(role_name)
                elif privilege == "OWNERSHIP":
                    rights[privilege] = {role_name}
                else:
                    holders.add(role_name)

    def shown(self, sql: str) -> str | None:
        """Return a query with the rows of a SHOW GRANTS; None for another statement."""
        show = _SHOW.match(sql)
        if show is None:
            return None
        what, name = show[1].upper().split()[-1], _plain(show[2].rstrip(";"))
        if what == "ROLE":
            return _query(_OF, [("now", name, kind, holder, "") for kind, holder in self._holders.get(name, [])])
        found = {"OWNERSHIP": {"ENGINEER"}}
        if what == "TABLE":
            found |= self._rights.get(("ALL TABLES", name.rpartition(".")[0]), {})
        found |= self._rights.get((what, name), {})
        return _query(
            _ON,
            [
                ("now", privilege, what, name, "ROLE", role, "false", "")
                for privilege, roles in found.items()
                for role in sorted(roles)
            ],
        )


def _plain(name: str) -> str:
    return ".".join(part[1:-1] if part.startswith('"') else part.upper() for part in name.split("."))


def _query(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    def select(row: tuple[str, ...]) -> str:
        return "SELECT " + ", ".join(f"'{value}' AS \"{column}\"" for value, column in zip(row, columns, strict=True))

    empty = f"SELECT * FROM ({select(('',) * len(columns))}) WHERE FALSE"
    return " UNION ALL ".join(map(select, rows)) or empty
