"""The facts by which engines read SQL: strings, comments, and the words that open and close a block.

Spark's facts are from its SQL reference (https://spark.apache.org/docs/latest/: sql-ref-literals, sql-ref-identifier,
sql-ref-syntax-qry-select-hints, sql-ref-scripting) and from its grammar `SqlBaseLexer.g4`, and were tested on Spark 4.1 where
both are silent. Snowflake publishes no grammar; its facts are from its documentation (https://docs.snowflake.com/en/:
sql-reference/data-types-text, identifiers-syntax, sql/begin, sql/put, sql/create-procedure, sql/create-task,
sql/create-alert and snowflake-scripting/*; developer-guide/snowflake-scripting/*) and were not tested where it is silent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

from glacierbase.errors import ConfigurationError
from glacierbase.run import packages

# Spark's setting that lets it replace `${…}` in the text of a statement before it parses it; on by default.
SUBSTITUTES = "spark.sql.variable.substitute"


@dataclass(frozen=True)
class Enclosure:
    """A string, a quoted identifier or a comment: a semicolon between its two marks ends no statement.

    Attributes:
        name: its kind, in messages.
        opens: pattern of the mark that opens it.
        closes: the mark that closes it.
        hint: how to correct one that is never closed.
        escapes: pattern of text that contains the closing mark without closing it.
        nests: whether one inside another must be closed too.
        is_code: whether the engine reads it; False for a comment.
    """

    name: str
    opens: str
    closes: str
    hint: str
    escapes: str = r"(?!)"
    nests: bool = False
    is_code: bool = True

    def end(self, sql: str, inside: int) -> int | None:
        """Return the offset after the closing mark, or None if there is none; `inside` is the offset after the opening mark."""
        depth = 1
        for mark in self._marks.finditer(sql, inside):
            if mark.group() == self.closes:
                depth -= 1
            elif self.nests:
                depth += 1
            if not depth:
                return mark.end()
        return None

    @cached_property
    def _marks(self) -> re.Pattern[str]:
        opens = f"|{self.opens}" if self.nests else ""
        return re.compile(f"{self.escapes}|{re.escape(self.closes)}{opens}", re.DOTALL)


# The enclosures of standard SQL.
_ENCLOSURES = (
    Enclosure("string", "'", "'", "write ' where it ends, and '' inside the text", "''"),
    Enclosure("identifier", '"', '"', 'write " where it ends, and "" inside the name', '""'),
    Enclosure("comment", r"/\*", "*/", "write */ where it ends", is_code=False),
)
# Spark's whitespace, and a byte order mark, which remains between files that were concatenated. Snowflake does not document its
# whitespace. None of these characters is part of a statement at its start or end.
_SPACE = (
    " \t\n\f\r\v\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u202f\u205f\u3000\ufeff"
)


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """The facts by which an engine reads SQL.

    Packages add dialects by the entry point group `glacierbase.dialects`. The defaults are what most dialects share; without
    `heads`, statements are split and run, and none of them is understood.

    Attributes:
        name: of the entry point.
        enclosures: strings, quoted identifiers and comments, in the order in which they are tried.
        strings: the marks that open a string, in capitals.
        backslash_escapes: whether a backslash in a string escapes the character after it.
        line_comment: pattern of a comment, up to the end of its line.
        misread: pattern of a line comment that the engine continues on the next line.
        solid: pattern of text that is one token, though it may contain the marks of an enclosure or several words.
        space: the whitespace characters.
        heads: the first words of the statements that have the same meaning as in Spark and Snowflake; only these are read.
        folds: returns an unquoted name as the engine compares it.
        quotes_fold: whether the engine compares a quoted name in the same way.
        names_follow_conf: whether `sparkConf` says what a name without a catalog means.
        has_rules: whether the rules of `lint` are about this dialect.
        solid_dots: whether a dot and the word after it are one token.
        blocks: the words that open a block as the first word of a statement, each with the words that close it.
        scripts: the words of `blocks` that also open a block outside of a block.
        before_statement: words inside a statement of a block after which the next statement starts.
        labels: whether a block may have a label before it, `name: LOOP`.
        transactions: the tokens after a BEGIN that opens a transaction, not a block.
        definitions: the first or second word of a statement that may contain a script: `CREATE TASK`, `name PROCEDURE`.
        before_script: the words after which that script starts.
        substituted: pattern of text that the engine may replace before it reads a statement, and of the setting that lets it.
    """

    name: str
    enclosures: tuple[Enclosure, ...] = _ENCLOSURES
    strings: tuple[str, ...] = ("'",)
    backslash_escapes: bool = False
    line_comment: str = r"--[^\r\n]*"
    misread: str = r"(?!)"
    solid: str = r"\w+"
    space: str = _SPACE
    heads: frozenset[str] = frozenset()
    folds: Callable[[str], str] = str.lower
    quotes_fold: bool = True
    names_follow_conf: bool = False
    has_rules: bool = False
    solid_dots: bool = False
    blocks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scripts: frozenset[str] = frozenset()
    before_statement: frozenset[str] = frozenset()
    labels: bool = False
    transactions: frozenset[str] = frozenset()
    definitions: frozenset[str] = frozenset()
    before_script: frozenset[str] = frozenset()
    substituted: str = r"(?!)"

    @cached_property
    def lexeme(self) -> re.Pattern[str]:
        """Pattern of one step of the lexer: group n opens `enclosures[n - 1]`; no group is whitespace or a line comment."""
        opens = "|".join(f"({enclosure.opens})" for enclosure in self.enclosures)
        skipped = f"(?P<misread>{self.misread})|{self.line_comment}|[{self.space}]+"
        return re.compile(f"{opens}|{skipped}|(?P<token>{self.solid}|.)", re.DOTALL)


SPARK = Dialect(
    name="spark",
    strings=("'", '"', "R'", 'R"'),
    backslash_escapes=True,
    names_follow_conf=True,
    has_rules=True,
    enclosures=(
        Enclosure("string", "[rR]'", "'", "write ' where it ends; a raw string cannot hold its own quote"),
        Enclosure("string", '[rR]"', '"', 'write " where it ends; a raw string cannot hold its own quote'),
        Enclosure("string", "'", "'", "write ' where it ends, and \\' inside the text", r"\\.|''"),
        Enclosure("string", '"', '"', 'write " where it ends, and \\" inside the text', r'\\.|""'),
        Enclosure("identifier", "`", "`", "write ` where it ends, and `` inside the name", "``"),
        # A hint: the engine reads it, and it does not nest.
        Enclosure("comment", r"/\*\+", "*/", "write */ where the hint ends"),
        Enclosure(
            "comment",
            r"/\*(?!\+)",
            "*/",
            "write */ where it ends; comments nest, so each /* inside needs its own */",
            nests=True,
            is_code=False,
        ),
    ),
    # Spark continues a comment after a backslash before LF. That is harmless if the next line is a comment or empty.
    misread=r"--[^\r\n]*\\\n(?![ \t]*(?:--|[\r\n]|\Z))",
    # A URL may hold `--` and `/*`. A `*/` that closes nothing keeps the `/*` in `a*/*.jar` from opening a comment.
    solid=r"[^\W\d_]+://[\w/.?=&#%-]+|\w+|\*/",
    blocks={
        "BEGIN": ("END",),
        "CASE": ("END CASE",),
        "FOR": ("END FOR",),
        "IF": ("END IF",),
        "LOOP": ("END LOOP",),
        "REPEAT": ("END REPEAT",),
        "WHILE": ("END WHILE",),
    },
    scripts=frozenset({"BEGIN"}),
    before_statement=frozenset({"DO", "THEN"}),
    labels=True,
    substituted=rf"\$\{{[^\s}}]{{0,60}}\}}?|{re.escape(SUBSTITUTES)}",
)
SNOWFLAKE = Dialect(
    name="snowflake",
    strings=("'", "$$"),
    backslash_escapes=True,
    folds=str.upper,
    quotes_fold=False,
    has_rules=True,
    solid_dots=True,
    enclosures=(
        Enclosure("string", "'", "'", "write ' where it ends, and \\' inside the text", r"\\.|''"),
        Enclosure("string", r"\$\$", "$$", "write $$ where it ends; the text cannot hold $$ itself"),
        Enclosure("identifier", '"', '"', 'write " where it ends, and "" inside the name', '""'),
        Enclosure("comment", r"/\*", "*/", "write */ where it ends", is_code=False),
    ),
    line_comment=r"(?:--|//)[^\r\n]*",
    # A URL, as PUT takes one, may hold `//` and `/*`; a name may hold `$$`. After a dot, a colon or a dollar, and
    # before `:=`, a word is always a name, even CASE or LOOP: it is one token with its sign.
    solid=r"[^\W\d_]\w*://[^\s\ufeff;()'\"]*|[.:$]?\w[\w$]*(?:\s*:=)?",
    blocks={
        "BEGIN": ("END",),
        "CASE": ("END CASE", "END"),
        "DECLARE": ("BEGIN",),
        "FOR": ("END FOR", "END LOOP"),
        "IF": ("END IF",),
        "LOOP": ("END LOOP",),
        "REPEAT": ("END REPEAT",),
        "WHILE": ("END WHILE", "END LOOP"),
    },
    scripts=frozenset({"BEGIN", "DECLARE"}),
    before_statement=frozenset({"DO", "LOOP", "THEN"}),
    transactions=frozenset({";", "NAME", "TRANSACTION", "WORK"}),
    definitions=frozenset({"ALTER", "CREATE", "PROCEDURE", "WITH"}),
    before_script=frozenset({"ACTION", "AS", "THEN"}),
)
DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in (SPARK, SNOWFLAKE)}


@cache
def dialect_of(name: str) -> Dialect:
    """Return a dialect: one of glacierbase, or one that a package adds.

    Raises:
        ConfigurationError: `UNKNOWN_DIALECT`; `BROKEN_PACKAGE`: the package that adds it cannot be used.
    """
    dialect = DIALECTS.get(name) or packages.offered(packages.DIALECTS, name, Dialect)
    if dialect is None:
        allowed = ", ".join([*DIALECTS, *packages.names_in(packages.DIALECTS)])
        raise ConfigurationError("UNKNOWN_DIALECT", f"unknown SQL dialect {name}", f"allowed: {allowed}")
    return dialect
