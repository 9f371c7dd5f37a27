"""Map Spark's exceptions to engine errors: the innermost message, and whether it proves that the statement had no effect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from glacierbase.errors import (
    CommitConflict,
    EngineError,
    OutcomeUnknown,
    StatementRefused,
    TableNotFound,
)
from glacierbase.executors import Session
from glacierbase.executors.spark.shape import table_details
from glacierbase.formats import DELTA, FORMATS, ICEBERG
from glacierbase.model.logins import client_of, principal_named, subject_of
from glacierbase.model.names import name_parts
from glacierbase.secrets import mask
from glacierbase.sql import read
from glacierbase.sql.file import names_within
from glacierbase.sql.operations import ALTERS, CREATES_TABLE, FUNCTIONS, NAMESPACES, QUERIES, REFERENCES, ROWS, VIEWS
from glacierbase.sql.qualified import DEFAULT_CATALOG
from glacierbase.sql.statement import Name, ParsedStatement

_CONFLICT = ("org.apache.iceberg.exceptions.CommitFailedException", "io.delta.exceptions.Concurrent")
_NOT_FOUND = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "_LEGACY_ERROR_TEMP_1055", "DELTA_MISSING_DELTA_TABLE")
_NOT_FOUND_CLASSES = ("NoSuchTableException", "NoSuchNamespaceException", "NoSuchDatabaseException")

# Anywhere in the chain of causes, one of these leaves the outcome unknown.
_UNCERTAIN = re.compile(
    r"CommitStateUnknownException|ServiceFailureException|ServiceUnavailableException|SocketException|SocketTimeout"
    r"|\.ConnectException|HostConnectException|NoHttpResponse|TTransportException|InterruptedException|ClosedByInterrupt"
    r"|OutOfMemoryError|SQLTransientConnection"
)
# Iceberg's messages for JSON without a part that it needs, such as the answer to a commit that took effect:
# https://github.com/apache/iceberg/blob/main/core/src/main/java/org/apache/iceberg/util/JsonUtil.java
_UNREADABLE = re.compile(r"Cannot parse (?:missing|to an?|[\w ]+ from non-)")
# Proof of no effect: raised while the statement was parsed, analysed or checked, or when its commit was refused as a whole.
_ANALYSIS = re.compile(r"org\.apache\.spark\.sql\.(?:[\w.]*\.)?(?:\w*AnalysisException|\w*ParseException)$")
_PARSE_ERROR = re.compile(r"org\.apache\.spark\.sql\.(?:\w+\.)*\w*ParseException$")
_REFUSED = re.compile(
    r"org\.apache\.iceberg\.exceptions\.(?:CommitFailed|Validation|AlreadyExists|NoSuch\w+|NamespaceNotEmpty|BadRequest"
    r"|Forbidden|NotAuthorized|UnprocessableEntity|NotSupported)Exception$"
    r"|io\.delta\.exceptions\.\w+|org\.apache\.spark\.sql\.delta\.\w*Exception$"
    r"|java\.lang\.(?:IllegalArgument|UnsupportedOperation)Exception$"
)
_FORBIDDEN = "org.apache.iceberg.exceptions.ForbiddenException"
_NOT_AUTHORIZED = "org.apache.iceberg.exceptions.NotAuthorizedException"
_OF_ICEBERG = "org.apache.iceberg."
# SQLSTATE classes of a wrong statement or wrong data: not supported, cardinality, data, constraint, syntax or access,
# raise_error().
_REFUSED_SQLSTATES = ("0A", "21", "22", "23", "42", "P0")
# All tasks end before the driver commits, so a failed stage proves that there was no commit. A cancelled stage proves nothing.
_STAGE_FAILED = "Job aborted due to stage failure"
# Exceptions whose message is only the name of the class.
_CLASS_MISSING = ("java.lang.ClassNotFoundException", "java.lang.NoClassDefFoundError")
# Raised while a catalog is loaded, which is before the first effect of any single statement.
_NOT_LOADED = (
    "Cannot find catalog plugin class",
    "Plugin class for catalog",
    "Cannot initialize JDBC catalog",
    "Cannot check and eventually update SQL schema",
)
# Raised before a change is sent to the catalog.
_NOTHING_SENT = ("Unsupported table change", *_NOT_LOADED)
# Before the message of an exception that a Spark Connect server reported.
_SERVER_CLASS = re.compile(r"\(((?:[a-z]\w*\.)+[A-Z]\w*(?:\$\w+)?)\) ")
# Scripts are off by default in Spark 4.0, which refuses one while it is parsed as a whole.
_SCRIPTING = "org.apache.spark.sql.exceptions.SqlScriptingException"
_SCRIPTS_OFF = re.compile(r"(?:\{LINE:\d+\} )?\[UNSUPPORTED_FEATURE\.SQL_SCRIPTING\]")
_DYNAMIC_SQL = re.compile(r"(?i)\bEXECUTE\b")
# One commit of a table, or one change of a catalog, or no change of either; `is_atomic` adds with which clauses. An ALTER with
# several clauses is one transaction of Iceberg. Spark drops what a CREATE created when the query fails.
_ONE_STEP = (
    QUERIES | VIEWS | NAMESPACES | REFERENCES | FUNCTIONS | ALTERS
    | {"insert", "insert_overwrite", "update", "delete", "merge", "create_table", "create_table_as", "drop_table", "rename_table"}
    | {"use", "set", "reset", "add_resource", "analyze", "refresh", "cache", "uncache"}
)  # fmt: skip
# Without a table that is named, files in a directory are written, or all tables of a namespace.
_NAMES_TABLE = ("insert", "insert_overwrite", "analyze")
# Variables that Spark replaces before it parses the statement (a SELECT remains one), and properties and options that add commits.
_HIDDEN = re.compile(r"(?is)\A(?!SELECT\b).*(?:\$\{|snapshot-id|enableRowTracking|merge-?schema)")
_ICEBERG = ICEBERG.catalogs[0]  # All its tables are Iceberg.
# The catalogs whose tables with commits are those of one format, beside tables of other formats.
_FORMATS = {kind: known.name for known in FORMATS.values() for kind in known.catalogs}
# With this setting, a write adds missing columns to its table in a commit before that of its rows.
_MERGES_SCHEMA = "spark.sql.iceberg.merge-schema"
_BUILT_IN = ("", "builtin")  # The configured class of the session catalog if it is Spark's built-in one.
_MAY_REMOVE = ("drop_table", "rename_table")


class SparkSettings(Session, Protocol):
    """A session of Spark."""

    def setting(self, key: str) -> str:
        """Return the value of a setting, which may be a secret; empty without one. Raises as `query` does."""


@dataclass(frozen=True, slots=True)
class _Cause:
    classes: tuple[str, ...]
    message: str
    condition: str | None = None
    sqlstate: str | None = None
    unparsed: str | None = None  # The text that Spark's parser refused.


def map_error(error: BaseException, sql: str, session: SparkSettings | None = None) -> EngineError:
    """Return the engine error for what `sql` raised: `StatementRefused` only where it is proven that `sql` had no effect.

    Args:
        session: in which `sql` ran; it is queried for the tables that `sql` names.
    """
    causes = tuple(_causes(error))
    innermost = next((cause for cause in reversed(causes) if cause.message), causes[-1])
    condition = next((cause.condition for cause in causes if cause.condition), None)
    name = condition or innermost.classes[0].rpartition(".")[2]
    message = _first_paragraph(mask(innermost.message)) or name
    if innermost.classes[0] in _CLASS_MISSING:
        message = f"no jar holds the class {message}; is one missing in dependencies?"
    for refusal, explained in ((_FORBIDDEN, _missing_right), (_NOT_AUTHORIZED, _refused_login)):
        if any(refusal in cause.classes for cause in causes):
            message = f"{explained(_rights(session, sql))}: {message}"
    return _kind(causes, sql, session)(name, message)


def _missing_right(rights: Mapping[str, Sequence[str]]) -> str:
    """Return which principal lacks which right. The server names no table: each of the statement may be the one."""
    lacking = [f"{who} lacks the right to {' or to '.join(what)}" for who, what in rights.items()]
    return ", or ".join(lacking) or "a catalog refused a right that the statement requires"


def _refused_login(rights: Mapping[str, Sequence[str]]) -> str:
    return f"the login of {' or of '.join(rights)} was refused" if rights else "a catalog refused the login"


def _rights(session: SparkSettings | None, sql: str) -> dict[str, list[str]]:
    """Return the rights that a statement requires, by the principal of each catalog of Iceberg.

    A message of Iceberg has the words of the server only. Without an answer of the engine, there are none.
    """
    rights: dict[str, list[str]] = {}
    if session is None:
        return rights
    try:
        for verb, name, is_namespace in _uses(read(sql, "spark")):
            catalog, kind = _catalog(session, name_parts(name), is_namespace=is_namespace)
            if kind.startswith(_OF_ICEBERG):
                who = f"{_principal(session, catalog)} of the catalog {catalog}"
                rights.setdefault(who, []).append(f"{verb} {name}")
    except EngineError:
        return {}
    return rights


def _uses(statement: ParsedStatement) -> Iterator[tuple[str, str, bool]]:
    """Yield what a statement does to each table or namespace that it names: verb, recorded name, whether it is a namespace."""
    first, _, kind = statement.operation.partition("_")
    is_whole = first in ("create", "drop") and kind.partition("_")[0] in ("table", "view", "namespace")
    verb = first if is_whole else "change"
    for name in names_within(statement, "spark"):
        yield verb, name, False
    if statement.namespace:
        yield verb, statement.namespace.recorded, True
    # The names in the arguments of a procedure are relative to its catalog.
    for source in statement.sources or () if statement.operation != "call" else ():
        yield "read", source.recorded, False


def _principal(session: SparkSettings, catalog: str) -> str:
    """Return the principal of a catalog's login, of which nothing else leaves this function."""
    token, credential = (session.setting(f"spark.sql.catalog.{catalog}.{key}") for key in ("token", "credential"))
    return mask(principal_named(subject_of(token) or client_of(credential)))


def _kind(causes: tuple[_Cause, ...], sql: str, session: SparkSettings | None) -> type[EngineError]:
    classes = [name for cause in causes for name in cause.classes]
    if any(_UNCERTAIN.search(name) for name in classes):
        return OutcomeUnknown
    if any(_UNREADABLE.match(cause.message) for cause in causes):
        return OutcomeUnknown
    # Scripts, dynamic SQL and stored views are parsed while they run, when earlier statements have taken effect.
    if any(cause.unparsed == sql for cause in causes) or _is_script_where_they_are_off(causes, sql):
        return StatementRefused
    kind = _kind_if_atomic(causes, classes)
    if kind is OutcomeUnknown or not is_atomic(sql):
        return OutcomeUnknown
    if any(cause.message.startswith(_NOT_LOADED) for cause in causes):
        return kind
    return kind if had_no_effect(session, sql, not_found=kind is TableNotFound) else OutcomeUnknown


def _is_script_where_they_are_off(causes: tuple[_Cause, ...], sql: str) -> bool:
    """Return whether Spark refused `sql` as a script. Dynamic SQL may hold another script, which is refused after other effects."""
    is_off = any(_SCRIPTING in cause.classes and _SCRIPTS_OFF.match(cause.message) for cause in causes)
    return is_off and not _DYNAMIC_SQL.search(sql)


def _kind_if_atomic(causes: tuple[_Cause, ...], classes: list[str]) -> type[EngineError]:
    """Return the kind of an error of a statement that takes effect as a whole or not at all."""
    if any(cause.condition in _NOT_FOUND for cause in causes) or any(
        name.endswith(_NOT_FOUND_CLASSES) for name in classes
    ):
        return TableNotFound
    if any(name.startswith(_CONFLICT) for name in classes):
        return CommitConflict
    proven = any(_ANALYSIS.match(name) or _REFUSED.match(name) for name in classes) or any(map(_proves, causes))
    return StatementRefused if proven else OutcomeUnknown


def _proves(cause: _Cause) -> bool:
    stage_failed = cause.message.startswith(_STAGE_FAILED) and "cancel" not in cause.message[:400]
    return (
        stage_failed or cause.message.startswith(_NOTHING_SENT) or (cause.sqlstate or "").startswith(_REFUSED_SQLSTATES)
    )


def _causes(error: BaseException) -> Iterator[_Cause]:
    """Yield the chain of causes, outermost first, at least one. Never raises, even if the JVM has ended."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if java is None or isinstance(java, BaseException):
        yield from _python_causes(error)
        return
    from py4j.protocol import Py4JError  # `pyspark-client`, which has no Java, lacks it.

    yield _python_cause(error)
    try:
        count = 0
        while java is not None and count < 20:
            yield _java_cause(java)
            java, count = java.getCause(), count + 1
    except (Py4JError, OSError, EOFError):
        yield _Cause(("java.net.SocketException",), "")


def _java_cause(java: Any) -> _Cause:
    classes, kind = [], java.getClass()
    while kind is not None and kind.getName() != "java.lang.Throwable":
        classes.append(kind.getName())
        kind = kind.getSuperclass()
    # Java's message is the name of the host alone.
    prefix = "unknown host " if classes[0] == "java.net.UnknownHostException" else ""
    return _Cause(tuple(classes), prefix + (java.getMessage() or ""), unparsed=_command(java, classes[0]))


def _command(java: Any, name: str) -> str | None:
    """Return the SQL of a parse error; for a running script, the text of one statement."""
    if not _PARSE_ERROR.match(name):
        return None
    command = java.command()
    return str(command.get()) if command.isDefined() else None


def _printed_command(message: str) -> str | None:
    """Return the SQL of a parse error on Spark Connect, from the message, which marks the place below its line."""
    place, _, text = message.partition("\n\nJVM stacktrace:")[0].partition("\n\n== SQL ==\n")
    line = re.search(r"[ .]\(line (\d+), pos \d+\)\Z", place)  # Spark 3.5 writes no space.
    if line is None:
        return None
    lines = text.removesuffix("\n").split("\n")
    return "\n".join(lines[: int(line[1])] + lines[int(line[1]) + 1 :])


def _printed_condition(message: str) -> str | None:
    """Return the condition of an analysis error, which the Connect client of Spark 3.5 has only in its message."""
    condition = re.match(r"\[([A-Z0-9_.]+)\] ", message)
    return condition[1] if condition else None


def _python_causes(error: BaseException) -> Iterator[_Cause]:
    """Yield the causes on Spark Connect: the server's exception class is in the message, or in the class of `error`."""
    yield _python_cause(error)
    message = _message(error)
    for name in _SERVER_CLASS.findall(message[:2000]):
        yield _Cause((name,), message.partition(f"({name}) ")[2])


def _python_cause(error: BaseException) -> _Cause:
    from pyspark.errors import AnalysisException, ParseException

    names = [f"{kind.__module__}.{kind.__name__}" for kind in type(error).__mro__ if issubclass(kind, Exception)]
    condition = _call(error, "getCondition", "getErrorClass")
    if isinstance(error, AnalysisException):  # A ParseException is an AnalysisException.
        names.append("org.apache.spark.sql.AnalysisException")
        condition = condition or _printed_condition(_message(error))
    is_gone = isinstance(error, (OSError, EOFError)) or names[0].endswith((".Py4JNetworkError", ".Py4JError"))
    # The client of Spark 3.5 has this class both for a lost connection and for the server's exceptions that it does not know.
    if is_gone or ("Grpc" in names[0] and not _SERVER_CLASS.match(_message(error))):
        names.append("java.net.SocketException")
    return _Cause(
        tuple(names),
        f"Spark's JVM does not answer any more: {error}" if is_gone else _message(error),
        condition,
        _call(error, "getSqlState"),
        _printed_command(_message(error)) if isinstance(error, ParseException) else None,
    )


def _message(error: BaseException) -> str:
    if type(error).__name__ == "Py4JJavaError":
        return ""  # The message is a whole Java stack; each cause has a message of one line.
    return str(_call(error, "getMessage") or error)


def _call(error: BaseException, *methods: str) -> str | None:
    method = next((method for name in methods if (method := getattr(error, name, None))), None)
    try:
        return method() if method else None
    except Exception:  # The value is in the JVM; py4j raises various errors if that has ended.
        return None


def _first_paragraph(message: str) -> str:
    """Return the message without its error condition, and without the plan, stack and query context after it."""
    grpc = re.search(r'^[^\S\n]*details = "(.*)"$', message, re.MULTILINE)
    if grpc:
        return grpc[1]
    # What a Python function of a task raised, is in the last line of its stack.
    if python := re.search(r"Traceback \(most recent call last\):\n(?:\s.*\n)+(?P<last>\S.*)", message):
        return python["last"]
    text = re.split(r"\n\n?JVM stacktrace:|\n\tat |\n==|;\n'|\nDriver stacktrace", message)[0]
    return re.sub(r"^\[[A-Z0-9_.]+\] | SQLSTATE: \w{5}$", "", text.strip()).strip()


def is_atomic(sql: str) -> bool:
    """Return whether the statement is known to take effect as a whole or not at all."""
    statement = read(sql, "spark")
    operation, options = statement.operation, statement.options
    if _HIDDEN.match(sql) or not statement.understood or options.purge or options.cascade or options.evolves:
        return False
    if operation == "replace_table":
        return options.using in (ICEBERG.name, DELTA.name)  # Other formats drop, then create.
    if operation in _NAMES_TABLE and not statement.targets:
        return False
    # Any other statement on a partition is one of Hive's.
    return operation in _ONE_STEP and (operation in ROWS or not options.partition)


def had_no_effect(session: SparkSettings | None, sql: str, *, not_found: bool) -> bool:
    """Return whether a failed statement that `is_atomic` accepts is known to have had no effect.

    Args:
        session: in which the statement ran; without one, nothing is known of any table.
        not_found: whether the statement failed because a table is missing.
    """
    statement = read(sql, "spark")
    if not statement.understood:
        return False
    changes = statement.targets or statement.operation in NAMESPACES or statement.namespace
    if statement.options.temporary or not changes:
        return True  # The statement changes nothing outside of its session.
    try:
        return session is not None and _had_no_effect(session, statement, not_found)
    except EngineError:  # The engine does not answer.
        return False


def _had_no_effect(session: SparkSettings, statement: ParsedStatement, not_found: bool) -> bool:
    is_rename = statement.operation.startswith("rename_")
    if len(statement.targets) > (2 if is_rename else 1):
        return False
    name = statement.targets[0] if statement.targets else statement.namespace
    if name is None:
        return False
    catalog, kind = _catalog(session, name.parts, is_namespace=not statement.targets)
    holds_iceberg = kind == _ICEBERG and catalog != DEFAULT_CATALOG
    if statement.options.kind == "view" or not statement.targets:  # One entry of the catalog.
        return holds_iceberg or (catalog == DEFAULT_CATALOG and kind in (*_FORMATS, *_BUILT_IN))
    if statement.operation in CREATES_TABLE:
        return holds_iceberg or (kind in _FORMATS and statement.options.using == _FORMATS[kind])
    if session.setting(_MERGES_SCHEMA).lower() == "true":
        return False
    is_full = catalog == name.parts[0] and len(name.parts) > 1
    if holds_iceberg and (is_full or statement.operation in _MAY_REMOVE):  # Any other name may be a temporary view.
        return True
    try:
        return _format(session, name) == _FORMATS.get(kind)
    except TableNotFound:
        return not_found and statement.operation not in _MAY_REMOVE


def _catalog(session: SparkSettings, parts: Sequence[str], *, is_namespace: bool) -> tuple[str, str]:
    """Return the catalog that a name with these parts is in, and its class."""
    first = parts[0]
    if len(parts) > 1 or is_namespace:
        if first.lower() == DEFAULT_CATALOG:
            return DEFAULT_CATALOG, _class(session, DEFAULT_CATALOG)
        if kind := _class(session, first):
            return first, kind
    [[current]] = session.query("SELECT current_catalog()")
    return current, _class(session, current)


def _class(session: SparkSettings, catalog: str) -> str:
    """Return the configured class of a catalog; empty without one."""
    return session.setting(f"spark.sql.catalog.{catalog}")


def _format(session: SparkSettings, name: Name) -> str:
    """Return the format of a table; empty for a view, and if the engine does not show it.

    Raises:
        TableNotFound: the table does not exist.
    """
    described = session.query(f"DESCRIBE TABLE EXTENDED {'.'.join(name.written)}")
    return table_details(described).get("Provider", "").lower()
