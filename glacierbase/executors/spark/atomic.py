"""The list of Spark statements that are atomic: they take effect as a whole or not at all. A statement not listed may not be.

A refusal proves only for an atomic statement that nothing happened. The list holds for tables of a format with commits (Iceberg,
Delta, Hudi); `targets` asks the session for that. Sources: Spark 4.1's `SqlBaseParser.g4`, the SQL extensions of Iceberg and
Delta, and tests on Spark 4.1 with Iceberg 1.12 and Delta 4.4. In those tests, the first part of these had an effect when the second
failed, so they are not listed: a script, `FROM … INSERT … INSERT …`, `DROP TABLE … PURGE` (dropped, then the files are deleted),
`EXPLAIN EXECUTE IMMEDIATE` (which executes), `WITH SCHEMA EVOLUTION` (columns are added before the rows), and `current-snapshot-id`
beside another property.
"""

from __future__ import annotations

import re

from glacierbase.errors import MigrationFileError
from glacierbase.sql.tokens import words

_NEVER = r"(?!)"
# The first tokens of a statement, and tokens after them that make it several steps.
_KNOWN = tuple(
    (re.compile(rf"(?:{first})(?= |\Z)(?! :)"), re.compile(unless))
    for first, unless in (
        # These change no table.
        (r"SHOW|DESC|DESCRIBE|USE|SET|RESET|REFRESH|CACHE|UNCACHE|CLEAR|ADD|LIST", _NEVER),
        (r"EXPLAIN", r" EXECUTE\b"),
        # One commit for each INSERT; a directory has no commits.
        (
            r"(?:\( )*(?:SELECT|VALUES|TABLE|FROM|WITH)|INSERT|UPDATE|DELETE",
            r"\bINSERT .*\bINSERT\b|\bOVERWRITE (?:LOCAL )?DIRECTORY\b|\bWITH SCHEMA EVOLUTION\b",
        ),
        # Columns are added in a commit before that of the rows.
        (r"MERGE", r"\bWITH SCHEMA EVOLUTION\b"),
        # Spark drops what it created when the query fails.
        (r"CREATE (?:EXTERNAL |TEMPORARY )?TABLE", _NEVER),
        # Other formats drop, then create.
        (r"(?:CREATE OR )?REPLACE TABLE(?=.* USING (?:ICEBERG|DELTA)\b)", _NEVER),
        # PARTITION FIELD is Iceberg's, one commit. Delta drops a feature in several commits.
        (r"ALTER TABLE", r"\bPARTITION (?!FIELD\b)|\b(?:PARTITIONS|FEATURE)\b"),
        (r"DROP TABLE", r"\bPURGE\b"),
        (r"CREATE (?:OR REPLACE )?(?:(?:GLOBAL )?(?:TEMPORARY|TEMP) )?VIEW|ALTER VIEW|DROP VIEW", _NEVER),
        (r"(?:CREATE|ALTER|DROP) (?:NAMESPACE|SCHEMA|DATABASE)", r"\bCASCADE\b"),
        (r"CREATE (?:OR REPLACE )?(?:TEMPORARY )?FUNCTION|DROP (?:TEMPORARY )?FUNCTION", _NEVER),
        (r"COMMENT ON|ANALYZE TABLE", _NEVER),
    )
)
# Variables that Spark replaces before it parses the statement (a SELECT is still one then), and properties and options that add
# commits.
_HIDDEN = re.compile(r"(?is)\A(?!SELECT\b).*(?:\$\{|snapshot-id|enableRowTracking|merge-?schema)")


def is_atomic(sql: str) -> bool:
    """Return whether the statement is known to take effect as a whole or not at all."""
    if _HIDDEN.match(sql):
        return False
    try:
        text = " ".join(words(sql, "spark"))
    except MigrationFileError:
        return False
    return any(first.match(text) and not unless.search(text) for first, unless in _KNOWN)
