"""A summary of each statement for `review`, read in the worker process of a sandbox, which has limits of time and memory.

A statement is not replayed if it loads code, leaves the copy, or needs files that only the real table has. The boundary is
`executors.spark.sandbox`, not this list: a replayed statement cannot reach anything outside. The list gives a reviewer the reason
in place of the engine's error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import chain, pairwise
from typing import Any

from glacierbase.capabilities.review.copy import may_be_set
from glacierbase.capabilities.review.cost import StatementEffect, effects_of
from glacierbase.capabilities.review.walk import read_file
from glacierbase.declared.known_tables import forgets_all
from glacierbase.errors import MigrationFileError
from glacierbase.executors.direct.plain import why_not_plain
from glacierbase.formats import FILE_FORMATS, FORMATS
from glacierbase.migrations.allows import allows_of
from glacierbase.migrations.compiled import Compiled
from glacierbase.migrations.worker import Chain
from glacierbase.model.migration import Migration
from glacierbase.model.names import name_of
from glacierbase.sql.dialects import SPARK
from glacierbase.sql.statement import Call, DropColumn, ParsedStatement, Property, RenameColumn, SessionEffect
from glacierbase.sql.tokens import words

SUMMARIZE = f"{__name__}:summarize"
Parts = tuple[str, ...]
# Formats that Spark supports without further jars, and table formats. Any other word is the name of a class.
_FORMATS = FILE_FORMATS | FORMATS.keys()
# Procedures whose effect does not depend on files or snapshots of the real table.
_PROCEDURES = frozenset(
    {"rewrite_data_files", "rewrite_manifests", "rewrite_position_delete_files", "expire_snapshots"}
)
# Settings of Spark SQL that load classes, or configure other catalogs.
_LEADS_OUT = ("spark.sql.catalog.", "spark.sql.extensions", "spark.sql.hive.", "spark.sql.warehouse.")
_CALLS_CLASSES = frozenset({"JAVA_METHOD", "TRY_REFLECT", "REFLECT"})
# A path after `delta` names a table of the copy.
_QUERIES_PATH = re.compile(r"(?i)\b(?:parquet|orc|avro|csv|json|text|binaryfile|hudi|iceberg)`?\s*\.\s*`[^`]*[/:]")
_MOST_IN_SCRIPT = 200
_SETTING = re.compile(r"(?is)\s*(?:SET|RESET)\s+(?:TIME\s+ZONE\b|`?([\w.-]+)`?)")
# Keys of properties by which tables are read and written.
_OF_ROWS = ("write.", "read.", "encryption.", "io.", "format-version", "schema.name-mapping.")
_ADDRESS = re.compile(r"(?i)\s*(?!file:)[a-z][\w+.-]*://")


@dataclass(frozen=True, slots=True)
class StatementSummary:
    """What a statement does. Names are the parts as written, without quotes.

    Attributes:
        operations: its operation first, then the operations of its clauses.
        targets: the tables and views that it changes; for a rename, both names.
        sources: the tables and views that it only reads, as far as they are determined.
        dropped: the columns that it drops.
        renamed: the columns that it renames, each with its new name.
        uses: the namespace that USE names.
        creates_namespace: the namespace that it creates.
        not_replayed: why it is not replayed; None if it is.
        is_skipped: whether it is not replayed only because of the copy.
        keeps_session: whether it leaves the session unchanged.
        forgets: whether nothing is known of any table after it.
        needs_engine: why a copy without an engine cannot replay it; None if it can.
        needs_trial: whether only rows show what a later change of the table breaks.
        allowed: the reasons of the comments above it, by the code that they allow.
        effect: what it costs, how it is undone, and whom it breaks.
    """

    operations: tuple[str, ...]
    targets: tuple[Parts, ...]
    sources: tuple[Parts, ...]
    dropped: tuple[Parts, ...]
    renamed: tuple[tuple[Parts, Parts], ...]
    uses: Parts | None
    creates_namespace: Parts | None
    not_replayed: str | None
    is_skipped: bool
    names_local_path: bool
    keeps_session: bool
    forgets: bool
    needs_engine: str | None
    needs_trial: bool
    allowed: Mapping[str, str]
    effect: StatementEffect

    @property
    def operation(self) -> str:
        return self.operations[0]

    @property
    def tables(self) -> frozenset[str]:
        """The recorded names of the targets."""
        return frozenset(map(name_of, self.targets))


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """A statement of a file.

    Attributes:
        index: in the file, from 1.
        line, column: the position in the file, from 1.
    """

    index: int
    line: int
    column: int
    text: str = field(repr=False)
    summary: StatementSummary


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The statements of a file as an environment renders it.

    Attributes:
        checksum: the checksum of the rendered text.
    """

    checksum: str
    steps: tuple[ReplayStep, ...]


@dataclass(frozen=True, slots=True)
class FileSummary(ReadFile):
    """A file as an environment renders it."""

    migration: Migration

    @property
    def is_plain(self) -> bool:
        """Whether a copy without an engine replays it as an engine does."""
        return not any(step.summary.needs_engine for step in self.steps)


@dataclass(frozen=True, slots=True)
class ReplayProblem:
    """A statement that was not run, or that the engine refused.

    Attributes:
        code: `REPLAY_REFUSED`, `REPLAY_NOT_RUN`, `REPLAY_UNKNOWN_TABLE`, `REPLAY_LOCAL_PATH` or `REPLAY_TIMEOUT`.
    """

    code: str
    is_error: bool
    message: str
    file: FileSummary
    step: ReplayStep


def summarize(compiled: Compiled, facts: Mapping[str, Any], chain: Chain) -> dict[str, Any]:
    """Return a `ReadFile`, in JSON's types.

    Args:
        facts: attributes of `Facts`.
    """
    file = read_file(compiled, facts, chain)
    effects = effects_of(file)
    allowed: dict[int, dict[str, str]] = {}
    for allow in allows_of(compiled.statements):
        if allow.reason:
            allowed.setdefault(allow.statement_index, {}).setdefault(allow.code, allow.reason)
    steps = (
        ReplayStep(
            *(statement.index, statement.line, statement.column, statement.text),
            _summary(statement.text, named.parsed, allowed.get(statement.index, {}), effects[statement.index]),
        )
        for named in compiled.named
        for statement in (named.statement,)
    )
    return asdict(ReadFile(compiled.checksum, tuple(steps)))


def _summary(
    sql: str, parsed: ParsedStatement, allowed: Mapping[str, str], effect: StatementEffect
) -> StatementSummary:
    refused = not_replayed(sql, parsed)
    return StatementSummary(
        operations=tuple(dict.fromkeys((parsed.operation, *(part.operation for part in parsed.parts)))),
        targets=tuple(target.parts for target in parsed.targets),
        sources=tuple(source.parts for source in parsed.sources or ()),
        dropped=tuple(part.path for part in parsed.parts if isinstance(part, DropColumn)),
        renamed=tuple(
            (part.path, (*part.path[:-1], part.new)) for part in parsed.parts if isinstance(part, RenameColumn)
        ),
        uses=parsed.selected.parts if parsed.selected and parsed.options.kind in ("", "namespace") else None,
        creates_namespace=parsed.namespace.parts
        if parsed.namespace and parsed.operation == "create_namespace"
        else None,
        not_replayed=refused.why if refused else None,
        is_skipped=bool(refused and refused.is_skipped),
        names_local_path=names_local_path(parsed),
        keeps_session=parsed.session is SessionEffect.NONE,
        forgets=forgets_all(parsed),
        needs_engine=why_not_plain(parsed),
        needs_trial=any(part.key.startswith(_OF_ROWS) for part in parsed.parts if isinstance(part, Property)),
        allowed=allowed,
        effect=effect,
    )


@dataclass(frozen=True, slots=True)
class NotReplayed:
    """Why a statement is not replayed.

    Attributes:
        is_skipped: whether only because of the copy.
    """

    why: str
    is_skipped: bool = False


@dataclass(frozen=True, slots=True)
class _Sql:
    """A statement, what it does, and its tokens."""

    text: str
    parsed: ParsedStatement
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str, parsed: ParsedStatement) -> _Sql:
        return cls(text, parsed, words(text, SPARK.name))

    def follows(self, word: str) -> Iterator[str]:
        """Yield the token after each `word`."""
        return (after for before, after in pairwise(self.words) if before == word)


def not_replayed(sql: str, parsed: ParsedStatement) -> NotReplayed | None:
    """Return why a statement of Spark is not replayed, or None if it is.

    Args:
        parsed: the result of `read` for it.
    """
    try:
        outer = _Sql.of(sql, parsed)
    except MigrationFileError:
        return NotReplayed("its text cannot be read")
    if len(parsed.inner) > _MOST_IN_SCRIPT:
        return NotReplayed(f"it is a script of more than {_MOST_IN_SCRIPT} statements")
    if "BEGIN" in outer.words and not parsed.understood and not parsed.inner:
        return NotReplayed("it is a script that is not understood")
    statements = chain([outer], (_Sql.of(inner.text, inner.parsed) for inner in parsed.inner))
    return next((why for statement in statements for rule in _RULES for why in rule(statement)), None)


def names_local_path(parsed: ParsedStatement) -> bool:
    """Return whether a statement names a location without an address, such as `/data/t` or `file:///data/t`."""
    return parsed.options.location is not None and not _ADDRESS.match(parsed.options.location)


_Reasons = Iterator[NotReplayed]


def _loads_code(statement: _Sql) -> _Reasons:
    if statement.parsed.operation == "add_resource" or statement.words[:1] == ("ADD",):
        yield NotReplayed(f"it loads files into the engine: {' '.join(statement.words[:2])}")
    if statement.parsed.operation == "create_function" and (
        "LANGUAGE" in statement.words
        or {"RETURN", "RETURNS"}.isdisjoint(statement.words)
        or any(after[-1] in "'\"" for after in statement.follows("AS"))
    ):
        yield NotReplayed("it loads code: CREATE FUNCTION with a class or a file")
    if any("(" in statement.follows(function) for function in _CALLS_CLASSES):
        yield NotReplayed("it calls a method of a class in the engine: java_method, reflect")
    if any(after[-1] in "'\"" for after in statement.follows("USING")):
        yield NotReplayed("it runs a program or loads a file: USING with a string")
    if "IMMEDIATE" in statement.follows("EXECUTE"):
        yield NotReplayed("it runs SQL that is put together while it runs: EXECUTE IMMEDIATE")


def _names_class(statement: _Sql) -> _Reasons:
    if statement.words[:1] not in (("CREATE",), ("REPLACE",), ("CACHE",), ("INSERT",)):
        return
    for at, word in enumerate(statement.words[:-1]):
        name = statement.words[at + 1].lower()
        if word == "USING" and name != "(" and (name not in _FORMATS or statement.words[at + 2 : at + 3] == (".",)):
            yield NotReplayed("it names a data source that the copy does not have, after USING")


def _reaches_out(statement: _Sql) -> _Reasons:
    written = (*statement.follows("OVERWRITE"), *statement.follows("LOCAL"))
    if statement.words[:1] == ("LOAD",) or "DIRECTORY" in written:
        yield NotReplayed("it reads or writes files outside of tables")
    if _QUERIES_PATH.search(statement.text):
        yield NotReplayed("it reads files by their path")


def _changes_settings(statement: _Sql) -> _Reasons:
    match = _SETTING.match(statement.text) if statement.parsed.operation in ("set", "reset") else None
    key = match[1] if match else None
    if key and not may_be_set(key):
        is_harmless = key.startswith(("spark.sql.", "hoodie.")) and not key.startswith(_LEADS_OUT)
        yield NotReplayed(f"the copy does not keep the setting {key}", is_skipped=is_harmless)


def _needs_files(statement: _Sql) -> _Reasons:
    if statement.parsed.operation in ("vacuum", "optimize", "restore"):
        yield NotReplayed(
            f"{statement.parsed.operation.upper()} works on files that the copy does not have", is_skipped=True
        )
    if statement.words[:1] in (("CONVERT",), ("MSCK",)):
        yield NotReplayed(f"{statement.words[0]} works on files that the copy does not have", is_skipped=True)
    if statement.words[:1] == ("CREATE",) and {"AS", "BY"}.intersection(statement.follows("STORED")):
        yield NotReplayed("the copy has no tables of Hive: STORED AS, STORED BY", is_skipped=True)
    for part in statement.parsed.parts:
        name = part.procedure[-1] if isinstance(part, Call) and part.procedure else None
        if name is not None and name.lower() not in _PROCEDURES:
            what = f"the procedure {name} works on files or snapshots that the copy does not have"
            yield NotReplayed(what, is_skipped=True)


_RULES: tuple[Callable[[_Sql], _Reasons], ...] = (
    _loads_code,
    _needs_files,
    _names_class,
    _reaches_out,
    _changes_settings,
)
