"""The object that a CREATE or a DROP statement names: a view, function, procedure, task, … or table."""

from __future__ import annotations

import re
from typing import NamedTuple

from glacierbase.errors import MigrationFileError
from glacierbase.model.names import NAME, name_parts, recorded_name
from glacierbase.sql.dialects import dialect_of
from glacierbase.sql.tokens import Source, Token, tokens

_KINDS = frozenset(
    {"VIEW", "FUNCTION", "PROCEDURE", "TASK", "STREAM", "POLICY", "TABLE", "TAG", "ALERT", "STAGE", "PIPE", "SEQUENCE"}
)
# Words between the verb and the kind: CREATE OR REPLACE SECURE MATERIALIZED VIEW.
_MOST_WORDS = 6
_NAME = re.compile(NAME)


class NamedObject(NamedTuple):
    """An object as a statement names it; a list in documents.

    Attributes:
        kind: in capitals. The last word of it: `POLICY`.
        parts: of the name, in lower case.
    """

    kind: str
    parts: tuple[str, ...]

    def may_be(self, other: NamedObject) -> bool:
        """Return whether both may be one object: the first parts of a name may be left out."""
        shorter = min(len(self.parts), len(other.parts))
        return self.kind == other.kind and self.parts[-shorter:] == other.parts[-shorter:]


def named_object(sql: str, verb: str, dialect: str) -> NamedObject | None:
    """Return the object that a statement creates or drops; None where it does something else, or has another form.

    Args:
        verb: `CREATE` or `DROP`.
    """
    source = Source(sql)
    try:
        code = list(tokens(dialect_of(dialect), source))
    except MigrationFileError:
        return None
    if not code or code[0].word != verb:
        return None
    at = next((index for index, token in enumerate(code[: _MOST_WORDS + 1]) if token.word in _KINDS), None)
    if at is None:
        return None
    behind = code[_behind_condition(code, at + 1) :]
    name = _NAME.match(sql, behind[0].start) if behind else None
    return (
        NamedObject(code[at].word, tuple(part.lower() for part in name_parts(recorded_name(name[0])))) if name else None
    )


def _behind_condition(code: list[Token], at: int) -> int:
    """Return the place after IF EXISTS or IF NOT EXISTS."""
    if code[at : at + 1] and code[at].word == "IF":
        return at + (3 if code[at + 1 : at + 2] and code[at + 1].word == "NOT" else 2)
    return at
