"""`${…}` in the statements of a Spark file, which Spark by default replaces before it reads a statement.

No session of glacierbase replaces it. Such a file is refused nevertheless: it would have another meaning in every other session.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from glacierbase.errors import MigrationFileError
from glacierbase.model.migration import Statement
from glacierbase.sql.dialects import SUBSTITUTES, dialect_of
from glacierbase.sql.tokens import Source, tokens


@dataclass(frozen=True, slots=True)
class Substituted:
    """The first text of a statement, outside of comments, that Spark would replace, or the setting that lets it.

    Attributes:
        index: of the statement in its file, from 1.
        line, column: from 1.
    """

    index: int
    line: int
    column: int
    text: str


def substituted(statement: Statement, dialect: str) -> Substituted | None:
    """Return the first such text of a statement; its line and column are counted as those of the statement are."""
    facts = dialect_of(dialect)
    found = list(re.finditer(facts.substituted, statement.text))
    if not found:
        return None
    source = Source(statement.text)
    code = list(tokens(facts, source))
    starts = [token.start for token in code]
    for each in found:
        before = bisect_right(starts, each.start()) - 1
        if before >= 0 and each.start() < code[before].end:
            line, column = source.place(each.start())
            column += statement.column - 1 if line == 1 else 0
            return Substituted(statement.index, statement.line + line - 1, column, each[0])
    return None


def refused_substitution(
    location: str, found: Iterable[Substituted], resumes_at: int = 1, or_else: str = ""
) -> MigrationFileError | None:
    """Return the error for the first text that Spark would replace in the statements that are to run; None without one.

    Args:
        location: of the file.
        resumes_at: the index of the first statement that is to run.
        or_else: another way out, for the hint.
    """
    first = next((each for each in found if each.index >= resumes_at), None)
    if first is None:
        return None
    if first.text == SUBSTITUTES:
        what = f"{SUBSTITUTES} is false in every session, and no statement may change it"
        hint = "remove it; where it is text, write another"
    else:
        what = f"Spark may replace `{first.text}` before it reads the statement"
        literal = rf"\u0024{first.text[1:]}"
        hint = f"write `{literal}` for the same text in a string, or a variable of the catalog file"
    return MigrationFileError(
        "SPARK_SUBSTITUTION",
        f"{location}, line {first.line}, column {first.column}: {what}",
        f"{hint}{or_else}",
        path=location,
        line=first.line,
        column=first.column,
    )
