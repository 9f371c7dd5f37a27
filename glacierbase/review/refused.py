"""Statements that are not replayed on the copy: they load code, reach out of the copy, or need files that only the real table has.

This is not the boundary, which is `glacierbase.executors.spark.cell`: a statement that passes here still reaches nothing. It
tells a reviewer why, in place of the engine's error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise

from glacierbase.errors import MigrationFileError
from glacierbase.review.copy import may_be_set
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.statement import Call, ParsedStatement
from glacierbase.sql.tokens import words

# Formats that Spark reads and writes by itself, and table formats. Any other word is the name of a class.
_FORMATS = frozenset({"iceberg", "delta", "hudi", "parquet", "orc", "avro", "csv", "json", "text"})
# Procedures whose effect does not depend on files or snapshots of the real table.
_PROCEDURES = frozenset(
    {"rewrite_data_files", "rewrite_manifests", "rewrite_position_delete_files", "expire_snapshots"}
)
# Settings of Spark SQL that load classes, or lead to other catalogs.
_LEADS_OUT = ("spark.sql.catalog.", "spark.sql.extensions", "spark.sql.hive.", "spark.sql.warehouse.")
_CALLS_CLASSES = frozenset({"JAVA_METHOD", "TRY_REFLECT", "REFLECT"})
_QUERIES_PATH = re.compile(
    r"(?i)\b(?:parquet|orc|avro|csv|json|text|binaryfile|delta|hudi|iceberg)`?\s*\.\s*`[^`]*[/:]"
)
_MOST_IN_SCRIPT = 200
_SETTING = re.compile(r"(?is)\s*(?:SET|RESET)\s+(?:TIME\s+ZONE\b|`?([\w.-]+)`?)")
_ADDRESS = re.compile(r"(?i)\s*(?!file:)[a-z][\w+.-]*://")


@dataclass(frozen=True, slots=True)
class NotReplayed:
    """Why a statement is not replayed.

    Attributes:
        is_skipped: whether that is due to the copy, and the statement is otherwise in order.
    """

    why: str
    is_skipped: bool = False


@dataclass(frozen=True, slots=True)
class _Sql:
    """A statement, what it does, and its tokens."""

    text: str
    does: ParsedStatement
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str, does: ParsedStatement) -> _Sql:
        return cls(text, does, words(text, SPARK.name))

    def follows(self, word: str) -> Iterator[str]:
        """Yield what follows each `word`."""
        return (after for before, after in pairwise(self.words) if before == word)


def not_replayed(sql: str, does: ParsedStatement) -> NotReplayed | None:
    """Return why a statement of Spark is not replayed, or None if it is.

    Args:
        does: what `read` returns for it.
    """
    try:
        outer = _Sql.of(sql, does)
    except MigrationFileError:
        return NotReplayed("its text cannot be read")
    if len(does.inner) > _MOST_IN_SCRIPT:
        return NotReplayed(f"it is a script of more than {_MOST_IN_SCRIPT} statements")
    if "BEGIN" in outer.words and not does.understood and not does.inner:
        return NotReplayed("it is a script that is not understood")
    statements = chain([outer], (_Sql.of(each.text, each.parsed) for each in does.inner))
    return next((why for each in statements for rule in _RULES for why in rule(each)), None)


def names_local_path(does: ParsedStatement) -> bool:
    """Return whether a statement names a location without an address, such as `/data/t` or `file:///data/t`."""
    return does.options.location is not None and not _ADDRESS.match(does.options.location)


_Found = Iterator[NotReplayed]


def _loads_code(it: _Sql) -> _Found:
    if it.does.operation == "add_resource" or it.words[:1] == ("ADD",):
        yield NotReplayed(f"it loads files into the engine: {' '.join(it.words[:2])}")
    if it.does.operation == "create_function" and (
        "LANGUAGE" in it.words
        or {"RETURN", "RETURNS"}.isdisjoint(it.words)
        or any(after[-1] in "'\"" for after in it.follows("AS"))
    ):
        yield NotReplayed("it loads code: CREATE FUNCTION with a class or a file")
    if any("(" in it.follows(function) for function in _CALLS_CLASSES):
        yield NotReplayed("it calls a method of a class in the engine: java_method, reflect")
    if any(after[-1] in "'\"" for after in it.follows("USING")):
        yield NotReplayed("it runs a program or loads a file: USING with a string")
    if "IMMEDIATE" in it.follows("EXECUTE"):
        yield NotReplayed("it runs SQL that is put together while it runs: EXECUTE IMMEDIATE")


def _names_class(it: _Sql) -> _Found:
    if it.words[:1] not in (("CREATE",), ("REPLACE",), ("CACHE",), ("INSERT",)):
        return
    for at, word in enumerate(it.words[:-1]):
        name = it.words[at + 1].lower()
        if word == "USING" and name != "(" and (name not in _FORMATS or it.words[at + 2 : at + 3] == (".",)):
            yield NotReplayed("it names a data source that the copy does not have, after USING")


def _reaches_out(it: _Sql) -> _Found:
    if it.words[:1] == ("LOAD",) or (it.words[:1] == ("INSERT",) and "DIRECTORY" in it.words[:4]):
        yield NotReplayed("it reads or writes files outside of tables")
    if _QUERIES_PATH.search(it.text):
        yield NotReplayed("it reads files by their path")


def _changes_settings(it: _Sql) -> _Found:
    found = _SETTING.match(it.text) if it.does.operation in ("set", "reset") else None
    key = found[1] if found else None
    if key and not may_be_set(key):
        is_harmless = key.startswith("spark.sql.") and not key.startswith(_LEADS_OUT)
        yield NotReplayed(f"the copy does not keep the setting {key}", is_skipped=is_harmless)


def _needs_files(it: _Sql) -> _Found:
    if it.does.operation in ("vacuum", "optimize", "restore"):
        yield NotReplayed(f"{it.does.operation.upper()} works on files that the copy does not have", is_skipped=True)
    for part in it.does.parts:
        name = part.procedure[-1] if isinstance(part, Call) and part.procedure else None
        if name is not None and name.lower() not in _PROCEDURES:
            what = f"the procedure {name} works on files or snapshots that the copy does not have"
            yield NotReplayed(what, is_skipped=True)


_RULES: tuple[Callable[[_Sql], _Found], ...] = (
    _loads_code,
    _needs_files,
    _names_class,
    _reaches_out,
    _changes_settings,
)
