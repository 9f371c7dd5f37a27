"""Maps Spark's exceptions to engine errors: the innermost message, and whether it proves that the statement had no effect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from glacierbase.errors import CommitConflict, EngineError, OutcomeUnknown, StatementRefused, TableNotFound
from glacierbase.executors import Session
from glacierbase.executors.spark.atomic import is_atomic
from glacierbase.executors.spark.targets import takes_back
from glacierbase.secrets import mask

_CONFLICT = ("org.apache.iceberg.exceptions.CommitFailedException", "io.delta.exceptions.Concurrent")
_NOT_FOUND = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "_LEGACY_ERROR_TEMP_1055", "DELTA_MISSING_DELTA_TABLE")
_NOT_FOUND_CLASSES = ("NoSuchTableException", "NoSuchNamespaceException", "NoSuchDatabaseException")

# Anywhere in the chain of causes, one of these leaves the outcome unknown.
_UNCERTAIN = re.compile(
    r"CommitStateUnknownException|ServiceFailureException|ServiceUnavailableException|SocketException|SocketTimeout"
    r"|\.ConnectException|HostConnectException|NoHttpResponse|TTransportException|InterruptedException|ClosedByInterrupt"
    r"|OutOfMemoryError|SQLTransientConnection"
)
# Proof of no effect: raised while the statement was parsed, analysed or checked, or when its commit was refused as a whole.
_ANALYSIS = re.compile(r"org\.apache\.spark\.sql\.(?:[\w.]*\.)?(?:\w*AnalysisException|\w*ParseException)$")
_PARSE_ERROR = re.compile(r"org\.apache\.spark\.sql\.(?:\w+\.)*\w*ParseException$")
_REFUSED = re.compile(
    r"org\.apache\.iceberg\.exceptions\.(?:CommitFailed|Validation|AlreadyExists|NoSuch\w+|NamespaceNotEmpty|BadRequest"
    r"|Forbidden|NotAuthorized|UnprocessableEntity|NotSupported)Exception$"
    r"|io\.delta\.exceptions\.\w+|org\.apache\.spark\.sql\.delta\.\w*Exception$"
    r"|java\.lang\.(?:IllegalArgument|UnsupportedOperation)Exception$"
)
# SQLSTATE classes of a wrong statement or wrong data: not supported, cardinality, data, constraint, syntax or access,
# raise_error().
_REFUSED_SQLSTATES = ("0A", "21", "22", "23", "42", "P0")
# All tasks end before the driver commits, so a failed stage proves that there was no commit. A cancelled stage proves nothing.
_STAGE_FAILED = "Job aborted due to stage failure"
# Their message is only the name of the class.
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


@dataclass(frozen=True, slots=True)
class _Cause:
    classes: tuple[str, ...]
    message: str
    condition: str | None = None
    sqlstate: str | None = None
    unparsed: str | None = None  # The text that Spark's parser refused.


def map_error(error: BaseException, sql: str, session: Session | None = None) -> EngineError:
    """Return the engine error for what `sql` raised: `StatementRefused` only where it is proven that `sql` had no effect.

    Args:
        session: the one that `sql` ran in, which is asked for the tables that `sql` names.
    """
    causes = tuple(_causes(error))
    innermost = next((cause for cause in reversed(causes) if cause.message), causes[-1])
    condition = next((cause.condition for cause in causes if cause.condition), None)
    name = condition or innermost.classes[0].rpartition(".")[2]
    message = _first_paragraph(mask(innermost.message)) or name
    if innermost.classes[0] in _CLASS_MISSING:
        message = f"no jar holds the class {message}; is one missing in dependencies?"
    return _kind(causes, sql, session)(name, message)


def _kind(causes: tuple[_Cause, ...], sql: str, session: Session | None) -> type[EngineError]:
    classes = [name for cause in causes for name in cause.classes]
    if any(_UNCERTAIN.search(name) for name in classes):
        return OutcomeUnknown
    # Scripts, dynamic SQL and stored views are parsed while they run, when earlier statements have taken effect.
    if any(cause.unparsed == sql for cause in causes):
        return StatementRefused
    kind = _kind_if_atomic(causes, classes)
    if kind is OutcomeUnknown or not is_atomic(sql):
        return OutcomeUnknown
    if any(cause.message.startswith(_NOT_LOADED) for cause in causes):
        return kind
    return kind if takes_back(session, sql, not_found=kind is TableNotFound) else OutcomeUnknown


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
    """Yield the chain of causes, outermost first, at least one. Never raises, although the JVM may have ended."""
    from py4j.protocol import Py4JError

    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if java is None or isinstance(java, BaseException):
        yield from _python_causes(error)
        return
    yield _python_cause(error)
    try:
        seen = 0
        while java is not None and seen < 20:
            yield _java_cause(java)
            java, seen = java.getCause(), seen + 1
    except (Py4JError, OSError, EOFError):
        yield _Cause(("java.net.SocketException",), "")


def _java_cause(java: Any) -> _Cause:
    classes, kind = [], java.getClass()
    while kind is not None and kind.getName() != "java.lang.Throwable":
        classes.append(kind.getName())
        kind = kind.getSuperclass()
    return _Cause(tuple(classes), java.getMessage() or "", unparsed=_command(java, classes[0]))


def _command(java: Any, name: str) -> str | None:
    """Return the SQL of a parse error. For a script that runs, it is the text of one statement."""
    if not _PARSE_ERROR.match(name):
        return None
    command = java.command()
    return str(command.get()) if command.isDefined() else None


def _printed_command(message: str) -> str | None:
    """Return the SQL of a parse error on Spark Connect, from the message, which marks the place below its line."""
    place, _, text = message.partition("\n\nJVM stacktrace:")[0].partition("\n\n== SQL ==\n")
    line = re.search(r" \(line (\d+), pos \d+\)\Z", place)
    if line is None:
        return None
    lines = text.removesuffix("\n").split("\n")
    return "\n".join(lines[: int(line[1])] + lines[int(line[1]) + 1 :])


def _python_causes(error: BaseException) -> Iterator[_Cause]:
    """Yield the causes on Spark Connect: the server's exception class is in the message, or in the class of `error`."""
    yield _python_cause(error)
    message = _message(error)
    for name in re.findall(r"\(((?:[a-z]\w*\.)+[A-Z]\w*(?:\$\w+)?)\) ", message[:2000]):
        yield _Cause((name,), message.partition(f"({name}) ")[2])


def _python_cause(error: BaseException) -> _Cause:
    from pyspark.errors import AnalysisException, ParseException

    names = [f"{kind.__module__}.{kind.__name__}" for kind in type(error).__mro__ if issubclass(kind, Exception)]
    if isinstance(error, AnalysisException):  # A ParseException is an AnalysisException.
        names.append("org.apache.spark.sql.AnalysisException")
    is_gone = isinstance(error, (OSError, EOFError)) or names[0].endswith((".Py4JNetworkError", ".Py4JError"))
    if is_gone or "Grpc" in names[0]:
        names.append("java.net.SocketException")
    return _Cause(
        tuple(names),
        f"Spark's JVM does not answer any more: {error}" if is_gone else _message(error),
        _call(error, "getCondition", "getErrorClass"),
        _call(error, "getSqlState"),
        _printed_command(_message(error)) if isinstance(error, ParseException) else None,
    )


def _message(error: BaseException) -> str:
    if type(error).__name__ == "Py4JJavaError":
        return ""  # The message is a whole Java stack; each of its causes has a message of one line.
    return str(_call(error, "getMessage") or error)


def _call(error: BaseException, *methods: str) -> str | None:
    method = next((method for name in methods if (method := getattr(error, name, None))), None)
    try:
        return method() if method else None
    except Exception:  # The value is in the JVM; py4j raises various errors if that has ended.
        return None


def _first_paragraph(message: str) -> str:
    """Return the message without its error condition, and without the plan, stack and query context after it."""
    grpc = re.search(r'^\s*details = "(.*)"$', message, re.MULTILINE)
    if grpc:
        return grpc[1]
    text = re.split(r"\n\n?JVM stacktrace:|\n\tat |\n==|;\n'|\nDriver stacktrace", message)[0]
    return re.sub(r"^\[[A-Z0-9_.]+\] | SQLSTATE: \w{5}$", "", text.strip()).strip()
