"""Which Spark statements take effect as a whole or not at all: a list of what is known, and all else is not.

Only of these does a refusal prove that nothing happened. The list holds for tables of a format with commits (Iceberg, Delta,
Hudi). Sources: Spark 4.1's `SqlBaseParser.g4`, Iceberg's and Delta's SQL extensions, and what was run on Spark 4.1 with Iceberg
1.12 and Delta 4.4. Not on it, because the first part was seen to stay when the second failed: a script, `FROM … INSERT …
INSERT …`, `DROP TABLE … PURGE` (dropped, then the files are deleted), `EXPLAIN EXECUTE IMMEDIATE` (which executes), and
`current-snapshot-id` beside another property.
"""

from __future__ import annotations

import re

from glacierbase.errors import MigrationFileError
from glacierbase.migrations.tokens import words

_NEVER = r"(?!)"
# The first words of a statement, and what among the others makes several steps of it.
_KNOWN = tuple(
    (re.compile(rf"(?:{first})(?= |\Z)(?! :)"), re.compile(unless))
    for first, unless in (
        # These change no table.
        (r"SHOW|DESC|DESCRIBE|USE|SET|RESET|REFRESH|CACHE|UNCACHE|CLEAR|ADD|LIST", _NEVER),
        (r"EXPLAIN", r" EXECUTE\b"),
        # One commit for each INSERT; a directory has no commits.
        (
            r"(?:\( )*(?:SELECT|VALUES|TABLE|FROM|WITH)|INSERT|UPDATE|DELETE",
            r"\bINSERT .*\bINSERT\b|\bOVERWRITE (?:LOCAL )?DIRECTORY\b",
        ),
        (r"MERGE", _NEVER),
        # Spark drops what it created when the query fails.
        (r"CREATE (?:EXTERNAL |TEMPORARY )?TABLE", _NEVER),
        # Elsewhere it drops, then creates.
        (r"(?:CREATE OR )?REPLACE TABLE(?=.* USING (?:ICEBERG|DELTA)\b)", _NEVER),
        # PARTITION FIELD is Iceberg's. Delta drops a feature in several commits.
        (r"ALTER TABLE", r"\bPARTITION (?!FIELD\b)|\b(?:PARTITIONS|FEATURE)\b"),
        (r"DROP TABLE", r"\bPURGE\b"),
        (r"CREATE (?:OR REPLACE )?(?:(?:GLOBAL )?(?:TEMPORARY|TEMP) )?VIEW|ALTER VIEW|DROP VIEW", _NEVER),
        (r"(?:CREATE|ALTER|DROP) (?:NAMESPACE|SCHEMA|DATABASE)", r"\bCASCADE\b"),
        (r"CREATE (?:OR REPLACE )?(?:TEMPORARY )?FUNCTION|DROP (?:TEMPORARY )?FUNCTION", _NEVER),
        (r"COMMENT ON|ANALYZE TABLE", _NEVER),
    )
)
# Variables that Spark puts in before it reads the statement, which leave a query a query; and properties that are a commit or
# more of their own.
_HIDDEN = re.compile(r"(?is)\A(?!SELECT\b).*(?:\$\{|snapshot-id|enableRowTracking)")


def is_atomic(sql: str) -> bool:
    """Return whether the statement is known to take effect as a whole or not at all."""
    if _HIDDEN.match(sql):
        return False
    try:
        text = " ".join(words(sql, "spark"))
    except MigrationFileError:
        return False
    return any(first.match(text) and not unless.search(text) for first, unless in _KNOWN)
