"""The facts by which SQLite reads SQL: https://www.sqlite.org/lang.html."""

from __future__ import annotations

from glacierbase.sql.dialects import Dialect, Enclosure

DIALECT = Dialect(
    name="sqlite",
    enclosures=(
        Enclosure("string", "'", "'", "write ' where it ends, and '' inside the text", "''"),
        Enclosure("identifier", '"', '"', 'write " where it ends, and "" inside the name', '""'),
        Enclosure("identifier", "`", "`", "write ` where it ends, and `` inside the name", "``"),
        Enclosure("identifier", r"\[", "]", "write ] where the name ends"),
        Enclosure("comment", r"/\*", "*/", "write */ where it ends", is_code=False),
    ),
    heads=frozenset({"ALTER", "CREATE", "DELETE", "DROP", "INSERT", "SELECT", "UPDATE"}),
)
