"""The list of Spark statements whose outcome the version of one Iceberg table proves.

Every effect of such a statement is a commit to the one table that it names: as long as the catalog points to the same metadata
file, nothing has happened. An INSERT, UPDATE, DELETE or MERGE may commit a schema first; its snapshot is its last commit. An ALTER
TABLE adds no snapshot. A statement that creates, drops or renames a table changes more than the pointer of one, and is not listed.
"""

from __future__ import annotations

import re
from functools import lru_cache

from glacierbase.executors.spark.atomic import is_atomic
from glacierbase.migrations.targets import target_table
from glacierbase.model.names import name_parts
from glacierbase.sql.tokens import words

_LISTED = re.compile(
    r"(?!.*\bRENAME TO\b)(?:INSERT (?:INTO|OVERWRITE)(?: TABLE)?|UPDATE|DELETE FROM|MERGE INTO|ALTER TABLE)"
    r" (?P<name>\S+(?: \. \S+)*)"
)
# A setting of the file's session may lead the same name to a table in another place. Text that Spark composes may hold one.
_MAY_MOVE_CATALOGS = re.compile(r"(?i)spark\.sql\.catalog|\$\{|\bIMMEDIATE\b")


def proving_table(sql: str, file: str) -> str | None:
    """Return the table whose version proves whether the statement took effect; None where nothing does.

    Args:
        file: all statements of its file, rendered.
    """
    if not is_atomic(sql) or _may_move_catalogs(file):
        return None
    table, listed = target_table(sql), _LISTED.match(" ".join(words(sql, "spark")))
    # Spark reads a name across comments: `lake.a.t/**/.u` is not `lake.a.t`.
    is_whole = table and listed and listed["name"].count(" . ") == len(name_parts(table)) - 1
    return table if is_whole else None


@lru_cache(maxsize=1)
def _may_move_catalogs(file: str) -> bool:
    """Return whether a statement of the file may move a catalog. Cached: it is called with the same file for each statement."""
    return _MAY_MOVE_CATALOGS.search(file) is not None
