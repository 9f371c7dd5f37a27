"""The list of Spark statements whose outcome the version of one Iceberg table proves.

Every effect of such a statement is a commit to the one table that it names: as long as the catalog points to the same metadata
file, nothing has happened. An INSERT, UPDATE, DELETE or MERGE may commit a schema first; its snapshot is its last commit. An ALTER
TABLE adds no snapshot. A statement that creates, drops or renames a table changes more than the pointer of one, and is not listed.
"""

from __future__ import annotations

import re

from glacierbase.executors.spark.atomic import is_atomic
from glacierbase.migrations.targets import target_table
from glacierbase.migrations.tokens import words

_LISTED = re.compile(r"(?:INSERT|UPDATE|DELETE|MERGE|ALTER TABLE)\b(?!.*\bRENAME TO\b)")
# A setting of the file's session may lead the same name to a table in another place. Text that Spark composes may hold one.
_MAY_MOVE_CATALOGS = re.compile(r"(?i)spark\.sql\.catalog|\$\{|\bIMMEDIATE\b")


def proving_table(sql: str, file: str) -> str | None:
    """Return the table whose version proves whether the statement took effect; None where nothing does.

    Args:
        file: all statements of its file, rendered.
    """
    if not is_atomic(sql) or _MAY_MOVE_CATALOGS.search(file) or not _LISTED.match(" ".join(words(sql, "spark"))):
        return None
    return target_table(sql)
