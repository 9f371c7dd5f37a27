"""The words that begin a statement, and where a statement begins inside another one because a semicolon is missing.

This reads tokens only, without the grammar of what is between them. A statement is expected inside another one after words such as
AS and EXPLAIN, and where the outer one needs a query: `INSERT INTO t`, `CREATE TABLE t`. Anywhere else, two statements are joined.
VALUES, FROM, TABLE and a parenthesis continue most statements. A query that begins so is found only at the begin of a line, after
one of the statements that have no such clause.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from glacierbase.sql.dialects import SNOWFLAKE, SPARK, Dialect
from glacierbase.sql.kinds import CREATED, INDEXES, MODIFIERS, NAMESPACES, OTHERS, RELATIONS
from glacierbase.sql.tokens import Token

# How many words after the first one decide whether a statement begins.
_WINDOW = 24
_KIND = "(?:" + "|".join((*RELATIONS, *NAMESPACES, *CREATED, *INDEXES, *OTHERS)) + ")"
_MODIFIED = "(?:(?:" + "|".join(MODIFIERS) + ") )*"
# Words that no statement names.
_NO_NAME = (
    "(?!(?:FROM|AS|IS|IN|AND|OR|NOT|ON|WHERE|LIKE|BETWEEN|THEN|WHEN|ELSE|END|LIMIT|NULLS|OFFSET|FETCH|UNION|EXCEPT|INTERSECT|MINUS"
    "|GROUP|ORDER|HAVING|JOIN|LEFT|RIGHT|INNER|FULL|CROSS|QUALIFY|ASC|DESC|USING|SET|WINDOW|LATERAL|ROWS|RANGE|EVERY) )"
)
_NAME = rf"{_NO_NAME}(?:[^\W\d][\w$]*|[`\"])(?: \.(?: ?[\w$`\"-]+))*(?: |$)"
_ANY = r"(?![,=.)])"
# The text of the words after the first word of a statement, each followed by a space.
_SHARED = {
    "CREATE": rf"(?:OR (?:REPLACE|ALTER|REFRESH) )?{_MODIFIED}{_KIND} ",
    "DROP": rf"{_MODIFIED}{_KIND} (?:[A-Z]+ )?{_NAME}",
    "ALTER": rf"(?:SESSION (?:UN)?SET |{_MODIFIED}{_KIND} (?:[A-Z]+ )?{_NAME})",
    "COMMENT": "(?:IF EXISTS )?ON ",
    "INSERT": "(?:INTO|OVERWRITE|ALL INTO|ALL WHEN|FIRST WHEN|WITH SCHEMA) ",
    "UPDATE": rf"{_NAME}(?:AS )?(?:{_NAME})?SET ",
    "DELETE": f"FROM {_NAME}",
    "MERGE": "(?:INTO|WITH SCHEMA) ",
    "TRUNCATE": f"(?:TABLE |IF EXISTS ){_NAME}",
    "COPY": "(?:FILES )?INTO ",
    "CALL": rf"{_NAME}\( ",
    "EXPLAIN": "(?:EXTENDED|CODEGEN|COST|FORMATTED|LOGICAL|USING|SELECT|WITH|INSERT|DELETE|UPDATE|MERGE|CREATE|ALTER|DROP) ",
    "USE": rf"(?!SECONDARY ROLES [\w$]+ (?:, [\w$]+ )*AS ){_NAME}(?![,=+*/<>-])",
    "SET": r"(?:TIME ZONE |CATALOG |VAR |VARIABLE |TAG ON |\( |[\w$`]+(?: [.:-] ?[\w$]+)* = )",
    "SHOW": rf"{_NO_NAME}[A-Z]+ (?![,=.)])",
    "DESCRIBE": _NAME,
    "DESC": _NAME,
    "GRANT": "(?!OPTION )[A-Z]+ ",
    "REVOKE": "(?!CURRENT )[A-Z]+ ",
    "BEGIN": "(?:TRANSACTION|WORK|NAME|$|(?:INSERT|UPDATE|DELETE|MERGE|SELECT|CREATE|ALTER|DROP|LET|IF|DECLARE|CALL) )",
    "START": "TRANSACTION ",
    "COMMIT": "(?:WORK |$)",
    "ROLLBACK": "(?:WORK |$)",
    "EXECUTE": "(?:IMMEDIATE|TASK|ALERT|JOB) ",
    "UNDROP": "[A-Z]+ ",
    "DECLARE": f"(?:OR REPLACE )?{_NAME}",
    "SELECT": _ANY,
    "WITH": rf"(?:RECURSIVE )?{_NAME}(?:\( [^)]*\) )?AS (?:NOT )?(?:MATERIALIZED )?\( ",
}
_SPARK = {
    "CREATE": f"(?!(?:OR REPLACE )?TAG ){_SHARED['CREATE']}", "REPLACE": "TABLE ", "LOAD": "DATA ", "OPTIMIZE": _NAME,
    "REORG": "TABLE ", "VACUUM": rf"(?:{_NAME}|')",
    "RESTORE": rf"(?:TABLE )?{_NAME}(?:TO|VERSION|TIMESTAMP|FOR) ", "ANALYZE": "TABLES? ",
    "REFRESH": rf"(?:TABLE |FUNCTION |MATERIALIZED |STREAMING |['\"] |{_NAME}$)", "CACHE": "(?:LAZY )?TABLE ",
    "UNCACHE": "TABLE ", "CLEAR": "CACHE ", "MSCK": "REPAIR ", "FSCK": "REPAIR ", "REPAIR": "TABLE ",
    "CONVERT": "TO DELTA ",
    "GENERATE": "[A-Z_]+ FOR TABLE ", "RESET": r"[\w`]+(?: [.:-] ?\w+)* $|$", "ADD": "(?:JAR|FILE|ARCHIVE)S? ",
    "LIST": "(?:JAR|FILE|ARCHIVE)S? ",
}  # fmt: skip
_SNOWFLAKE = {
    "TRUNCATE": f"(?:TABLE |MATERIALIZED VIEW |IF EXISTS |(?!HISTORY ){_NAME}$)",
    "UNSET": rf"(?!(?:MASKING|PROJECTION|TAG|COMMENT) )(?:{_NAME}|\( )",
    "PUT": "(?:'|FILE:)", "GET": "(?:@|') ", "LIST": "@ ", "LS": "@ ", "REMOVE": "@ ", "RM": "@ ",
}  # fmt: skip
_HEADS: Mapping[str, Mapping[str, str]] = {SPARK.name: {**_SHARED, **_SPARK}, SNOWFLAKE.name: {**_SHARED, **_SNOWFLAKE}}
# The text after the first sign of a query that is no part of the statements in `_WITHOUT_QUERIES`.
_QUERIES = {
    "VALUES": r"(?:\(|['\d])",
    "FROM": rf"{_NAME}(?:AS )?(?:{_NAME})?(?:SELECT|INSERT|WHERE|\| >)",
    "TABLE": rf"{_NAME}(?:$|UNION|EXCEPT|INTERSECT|MINUS|ORDER|LIMIT)",
    "(": r"(?:\( )*(?:SELECT|WITH|VALUES|FROM) ",
}
_WITHOUT_QUERIES = frozenset(
    {
        "USE", "SET", "RESET", "UNSET", "DROP", "UNDROP", "TRUNCATE", "COMMENT", "GRANT", "ALTER", "REFRESH", "UNCACHE", "CLEAR",
        "MSCK", "ADD", "CALL", "COMMIT", "ROLLBACK",
    }
)  # fmt: skip
# Words that end none of these statements, beside those that are listed below.
_UNENDED = frozenset(
    {"OF", "TO", "DEFAULT", "CHECK", "IF", "ALL", "FUTURE", "CALL", "KEY", "USING", "TYPE", "ADD", "DROP", "ALTER"}
)
# After these words, a statement is a part of the one around it.
_BEFORE_STATEMENT = frozenset({"AS", "THEN", "ELSE", "DO", "ACTION", "RETURN", "FOR", ";", "BEGIN"})
# After these, a word is a name or continues a clause.
_BEFORE_NAME = frozenset(
    {
        ",", "(", ".", "=", "SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "ON", "BY", "IN", "JOIN", "CASE", "WHEN",
        "DISTINCT",
        "INTO", "TABLE", "VIEW", "COLUMN", "COLUMNS", "WITH", "REVOKE", "SET", "IS", "LIKE", "BETWEEN", "EXISTS",
        "SHOW", "MSCK", "FSCK",
    }
)  # fmt: skip
# Words between the first word of a statement and the statement that it is about.
_PREFIXES = {
    "EXPLAIN": frozenset({"EXTENDED", "CODEGEN", "COST", "FORMATTED", "LOGICAL", "USING", "TEXT", "JSON", "TABULAR"}),
    **dict.fromkeys(("DESCRIBE", "DESC"), frozenset({"QUERY", "EXTENDED", "FORMATTED"})),
}
_SET_OPERATORS = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS"})
# What a list of common table expressions may precede.
_AFTER_DEFINITIONS = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "CALL"})
# Actions of ALTER; a statement may begin with some of these words too.
_ACTIONS = frozenset(
    {
        "ADD", "ALTER", "DROP", "MODIFY", "RENAME", "SET", "UNSET", "REPLACE", "CHANGE", "CLUSTER", "SWAP", "RECOVER",
        "WRITE",
        "CREATE", "SUSPEND", "RESUME", "REFRESH", "RECLUSTER", "ABORT",
    }
)  # fmt: skip
# Statements of Spark whose rest is any text, and the second words of those that are not.
_ANY_TEXT = frozenset({"SET", "ADD", "LIST"})
_PARSED = frozenset({"CATALOG", "VAR", "VARIABLE", "TAG", "TIME"})
_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")


def first_words(dialect: Dialect) -> tuple[str, ...]:
    """Return the first words of the statements of an engine; none if they are not known."""
    return tuple(_HEADS.get(dialect.name, ()))


def begins_statement(dialect: Dialect, code: Sequence[Token], at: int) -> bool:
    """Return whether the tokens from this position on may begin a statement, if one may begin there."""
    after = _HEADS.get(dialect.name, {}).get(code[at].word)
    if after is None:
        return False
    return bool(re.match(after, "".join(f"{token.word} " for token in code[at + 1 : at + 1 + _WINDOW])))


@dataclass(slots=True)
class _Outer:
    """The statement that is read, as far as it decides whether another one may begin inside it.

    Attributes:
        head: its first word.
        start: the position of that word.
        needs_query: whether a query may begin.
        has_action: whether an action of ALTER came before.
        has_grantee: whether TO of GRANT, or FROM of REVOKE, came before.
        has_set: whether SET of UPDATE came before.
    """

    head: str
    start: int
    needs_query: bool
    has_action: bool = False
    has_grantee: bool = False
    has_set: bool = False


class _Reader:
    """Read the tokens of one statement, and find where another one begins."""

    def __init__(self, dialect: Dialect, code: Sequence[Token]) -> None:
        self._dialect = dialect
        self._code = code
        self._words = [token.word for token in code]
        self._in_script = self._starts_script(0)
        self._outer = self._at(0)
        following = self._words[1] if len(code) > 1 else ""
        self.is_any_text = dialect is SPARK and self._words[0] in _ANY_TEXT and following not in _PARSED

    def _starts_script(self, at: int) -> bool:
        """Return whether a script starts here, after a label or without one."""
        facts, following = self._dialect, self._words[at + 1] if at + 1 < len(self._words) else ""
        if facts.labels and following == ":":
            return at == 0
        return self._words[at] in facts.scripts and following not in facts.transactions | {"", "TRANSACTION"}

    def _at(self, at: int) -> _Outer:
        """Return the statement that begins at this position."""
        head, following = self._words[at], self._words[at + 1 : at + 6]
        is_of_spark = self._dialect is SPARK and not {"TABLE", "VIEW"}.isdisjoint(following)
        is_relation = is_of_spark and (
            head in ("CREATE", "REPLACE", "CACHE") or (head == "ALTER" and following[0] == "VIEW")
        )
        return _Outer(head, at, head in ("INSERT", "WITH", "FROM") or is_relation)

    def joins(self, at: int) -> bool:
        """Read the token at this position, outside of parentheses; return whether a statement begins that is not a part."""
        word, outer = self._words[at], self._outer
        if self.is_any_text:
            return word in _HEADS[self._dialect.name]
        if self._words[at - 1] in _BEFORE_NAME or not begins_statement(self._dialect, self._code, at):
            self._note(outer, word, at)
            return False
        if self._in_script:
            return self._words[at - 1] == "END"
        if outer.head in ("GRANT", "REVOKE") and not outer.has_grantee:
            return False
        if self._is_expected(outer, word, at):
            self._in_script = self._starts_script(at)
            return False
        return True

    def begins_query(self, at: int) -> bool:
        """Return whether a query begins at this position, outside of parentheses and on a new line, that is not a part."""
        after, before = _QUERIES.get(self._words[at]), self._words[at - 1]
        if after is None or self._in_script or self._outer.head not in _WITHOUT_QUERIES or at - self._outer.start < 2:
            return False
        if before in _BEFORE_NAME | _BEFORE_STATEMENT | _UNENDED or (
            self._words[at] == "(" and self._words[0] == "CALL"
        ):
            return False
        return bool(re.match(after, "".join(f"{word} " for word in self._words[at + 1 : at + 1 + _WINDOW])))

    def _note(self, outer: _Outer, word: str, at: int) -> None:
        outer.has_grantee = outer.has_grantee or word == ("TO" if outer.head == "GRANT" else "FROM")
        outer.has_set = outer.has_set or word == "SET"
        outer.has_action = outer.has_action or word in _ACTIONS
        if word in _SET_OPERATORS and self._words[at + 1 : at + 2] != ["("]:
            outer.needs_query = True
        elif word == "VALUES" and self._words[outer.start + 1 : outer.start + 2] not in (["ALL"], ["FIRST"]):
            outer.needs_query = False
        elif self._starts_script(at) and self._words[at - 1] in self._dialect.before_script:
            self._in_script = True

    def _is_expected(self, outer: _Outer, word: str, at: int) -> bool:
        """Return whether a statement may begin here as a part of the outer one, which is the one that is read from here on."""
        before, chained = self._words[at - 1], self._words[max(at - 3, 0) : at]
        is_body = before in _BEFORE_STATEMENT or chained == ["-", ">", ">"] or chained[-2:] == ["|", ">"]
        prefix = _PREFIXES.get(outer.head)
        is_about = prefix is not None and all(self._words[inside] in prefix for inside in range(outer.start + 1, at))
        if is_body or is_about or (outer.head == "WITH" and word in _AFTER_DEFINITIONS):
            self._outer = self._at(at)
        elif outer.head == "FROM" and word in ("INSERT", "SELECT"):
            outer.needs_query = word == "INSERT"
        elif word in ("SELECT", "WITH") and outer.needs_query:
            outer.needs_query = word == "WITH"
        elif word == "SET" and (before == "UPDATE" or (outer.head == "UPDATE" and not outer.has_set)):
            outer.has_set = True
        elif word in _ACTIONS and outer.head == "ALTER" and not outer.has_action:
            outer.has_action = True
        else:
            return word == "REPLACE" and before == "OR"
        return True


def joined(dialect: Dialect, sql: str, code: Sequence[Token], *, only_at_lines: bool) -> int | None:
    """Return the position of the token where another statement begins, although no semicolon ends the one before; or None.

    Args:
        code: the tokens of one statement.
        only_at_lines: whether to find only those that begin on a line of their own.
    """
    if dialect.name not in _HEADS or not code:
        return None
    reader, depth = _Reader(dialect, code), 0
    only_at_lines = only_at_lines or reader.is_any_text
    for at in range(1, len(code)):
        if not depth and is_on_new_line(sql, code, at) and reader.begins_query(at):
            return at
        depth += (code[at].word in _OPENS) - (code[at].word in _CLOSES)
        if depth and not reader.is_any_text:
            continue
        if reader.joins(at) and (not only_at_lines or is_on_new_line(sql, code, at)):
            return at
    return None


def is_on_new_line(sql: str, code: Sequence[Token], at: int) -> bool:
    """Return whether a line ends between a token and the one before it."""
    between = sql[code[at - 1].end if at else 0 : code[at].start]
    return not at or "\n" in between or "\r" in between
