"""The list of Spark statements whose outcome the version of one Iceberg table proves.

Every effect of such a statement is a commit to the one table that it names: as long as the catalog points to the same metadata
file, nothing has happened. An INSERT, UPDATE, DELETE or MERGE may commit a schema first; its snapshot is its last commit. An ALTER
TABLE adds no snapshot. A statement that creates, drops or renames a table changes more than the pointer of one, and is not listed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from glacierbase.executors.spark.atomic import is_atomic
from glacierbase.sql import read
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.tokens import Source, tokens

# Options of the writer and columns that are called like an action leave the outcome open, too.
_LISTED = re.compile(
    r"(?!.*\bRENAME TO\b)(?!INSERT\b.* WITH \()(?!.* (?:ALTER|CHANGE) COLUMN (?:COMMENT|SET|DROP) )"
    r"(?:INSERT (?:INTO|OVERWRITE)(?: TABLE)?|UPDATE|DELETE FROM|MERGE INTO|ALTER TABLE)"
    r" (?P<name>\S+(?: \. \S+)*)"
)
# A setting of the file's session may lead the same name to a table in another place. Text that Spark composes may hold one.
_MAY_MOVE_CATALOGS = re.compile(r"(?i)spark\.sql\.catalog|\$\{|\bIMMEDIATE\b")


def proving_table(sql: str, file: str) -> str | None:
    """Return the table whose version proves whether the statement took effect; None where nothing does.

    Args:
        file: all statements of its file, rendered.
    """
    if not is_atomic(sql) or _may_move_catalogs(file) or not _is_listed(sql):
        return None
    targets = read(sql, "spark").targets
    return targets[0].recorded if len(targets) == 1 else None


def _is_listed(sql: str) -> bool:
    """Return whether the statement is one of the list, in its plain form: no comment before the end of its table's name."""
    found = list(tokens(SPARK, Source(sql)))
    listed = _LISTED.match(" ".join(token.word for token in found))
    if listed is None or found[0].start:
        return False
    head = found[: listed[0].count(" ") + 1]
    return not any(sql[before.end : after.start].strip() for before, after in pairwise(head))


@lru_cache(maxsize=1)
def _may_move_catalogs(file: str) -> bool:
    """Return whether a statement of the file may move a catalog. Cached: it is called with the same file for each statement."""
    return _MAY_MOVE_CATALOGS.search(file) is not None
