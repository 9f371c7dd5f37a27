"""Map exceptions of PyIceberg, SQLAlchemy and Arrow to engine errors, which state whether they prove that nothing happened."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from shlex import quote
from typing import Any
from urllib.parse import unquote, urlsplit

from glacierbase.errors import (
    CommitConflict,
    EngineError,
    GlacierbaseError,
    OutcomeUnknown,
    StatementRefused,
    TableNotFound,
)
from glacierbase.model.logins import principal_named, subject_of
from glacierbase.secrets import mask

# By class name, because the classes are not imported. Exceptions of other classes prove nothing.
_KINDS: dict[str, type[EngineError]] = {
    "pyiceberg.exceptions.NoSuchTableError": TableNotFound,
    "pyiceberg.exceptions.NoSuchNamespaceError": TableNotFound,
    "pyiceberg.exceptions.CommitFailedException": CommitConflict,
    "pyiceberg.exceptions.ValidationException": CommitConflict,
    "pyiceberg.exceptions.TableAlreadyExistsError": StatementRefused,
    "pyiceberg.exceptions.NamespaceAlreadyExistsError": StatementRefused,
    "pyiceberg.exceptions.NamespaceNotEmptyError": StatementRefused,
    "pyiceberg.exceptions.BadRequestError": StatementRefused,
    "pyiceberg.exceptions.UnauthorizedError": StatementRefused,
    "pyiceberg.exceptions.ForbiddenError": StatementRefused,
    "pyiceberg.exceptions.OAuthError": StatementRefused,
    "pyiceberg.exceptions.NotInstalledError": StatementRefused,
    "sqlalchemy.exc.IntegrityError": StatementRefused,
    # A file that a commit is based on is read before the commit is sent: another writer's commit deleted it.
    "builtins.FileNotFoundError": CommitConflict,
}
# Some messages contain the whole table.
_LONGEST = 300
# SQLite's error if another connection locks the file for longer than the busy time-out.
_LOCKED = "database is locked"
# Refusals of a request, for some of which PyIceberg has no class.
_REFUSED = (404, 409)
# The answers of a server that has too much to do.
_BUSY = (429, 503)
# What PyIceberg sends without a token.
_WITHOUT_TOKEN = "Bearer None"
# The scheme of a request that AWS signed, and the id of the key: https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html
_SIGNED, _SIGNED_BY = "AWS4-HMAC-SHA256", re.compile(r"Credential=(\w+)/")
# The errors of SQLite, PostgreSQL and MySQL for a SQL catalog without its own tables.
_EMPTY_CATALOG = re.compile(
    r"no such table: iceberg_|relation \"iceberg_\w+\" does not exist|Table '[^']*\.iceberg_\w+' doesn't exist"
)


@contextmanager
def mapped() -> Iterator[None]:
    """Raise an exception from inside as an `EngineError`."""
    try:
        yield
    except GlacierbaseError:
        raise
    except Exception as error:
        raise _mapped(error) from error


def database_locked(file: str, error: BaseException) -> EngineError | None:
    """Return the error for a SQLite database that another process locks; None for any other error."""
    if str(error) != _LOCKED:
        return None
    return StatementRefused(
        type(error).__name__,
        f"{_LOCKED}: another process holds {file}: it is committing, stopped or orphaned; the operation had no effect",
        hint=f"find the process with `fuser {quote(file)}` or `lsof {quote(file)}`, wait for it or end it, and run again",
    )


def _mapped(error: Exception) -> EngineError:
    innermost = _innermost(error)
    text = _invalid(innermost) or str(innermost).strip()
    # Masked before it is cut, because a part of a secret would not be recognized.
    message = next(iter(mask(text).splitlines()), "")[:_LONGEST] or type(innermost).__name__
    url = getattr(getattr(error, "request", None), "url", None)  # The server that did not answer.
    if url:
        message = f"{mask(url).partition('?')[0]}: {message}"
    classes = [f"{kind.__module__}.{kind.__name__}" for kind in type(error).__mro__]
    kind = next((_KINDS[name] for name in classes if name in _KINDS), OutcomeUnknown)
    if _EMPTY_CATALOG.search(text):
        kind = TableNotFound
    if kind is OutcomeUnknown and _response(error, _REFUSED) is not None:
        kind = StatementRefused
    response = _response(error, (401, 403, *_BUSY))
    if response is None:
        return kind(type(innermost).__name__, message)
    meaning, hint = _meaning(response)
    message = ": ".join(filter(None, (meaning, mask(_words(response))[:_LONGEST])))
    return kind(type(innermost).__name__, message, hint=hint)


def _response(error: BaseException | None, statuses: Collection[int]) -> Any:
    """Return the answer of an HTTP server that an error comes from, if it has one of these statuses; None for other errors."""
    while error is not None:
        response = getattr(error, "response", None)
        if getattr(response, "status_code", None) in statuses:
            return response
        error = error.__cause__
    return None


def _meaning(response: Any) -> tuple[str, str]:
    """Return what the refusal means, and what may be wrong."""
    url, status = str(response.request.url).partition("?")[0], response.status_code
    where = f"{url}: HTTP {status}"
    if status in _BUSY:
        return f"{where}: the server accepts no more requests for now", "run it again later"
    if status == 403:
        meaning = f"{_principal(response)} may not {_right(response.request)}"
        return f"{where}: {meaning}", "grant the right to the principal, or use another login of the catalog"
    if url.endswith("/oauth/tokens"):
        what, key = "it does not accept the credential", "`credential`, which is ID:SECRET, and `oauth2-server-uri`"
    elif response.request.headers.get("Authorization", _WITHOUT_TOKEN) != _WITHOUT_TOKEN:
        what, key = "it does not accept the token", "`token`, which may have expired, or `credential`"
    else:
        return f"{where}: the server requires a login", "set `credential` or `token` of the catalog"
    return f"{where}: {what}", f"check the catalog's {key}"


def _principal(response: Any) -> str:
    """Return the principal: of the token that was sent, else the client of the credential; of a signed request, its key."""
    scheme, _, token = response.request.headers.get("Authorization", "").partition(" ")
    if key := _SIGNED_BY.match(token) if scheme == _SIGNED else None:
        return f"the AWS access key {key[1]}"
    return principal_named(subject_of(token) or getattr(response, "client_id", ""))


def _right(request: Any) -> str:
    """Return what a request does, by the paths of the specification."""
    _, _, path = urlsplit(str(request.url)).path.partition("/namespaces")
    names = [unquote(name).replace("\x1f", ".") for name in path.strip("/").split("/")]
    does = {"POST": "change", "DELETE": "drop"}.get(request.method, "read")
    match names:
        case [namespace, "tables", table]:
            return f"{does} the table {namespace}.{table}"
        case [namespace, "tables"]:
            return f"create a table in {namespace}" if does == "change" else f"list the tables of {namespace}"
        case [namespace] if namespace:
            return f"{does} the namespace {namespace}"
    return "create a namespace" if does == "change" else "read the configuration of the catalog"


def _words(response: Any) -> str:
    """Return the first line of the server's explanation; PyIceberg reports an answer of another form as an error of its own."""
    try:
        content = response.json()
    except (ValueError, RecursionError):
        text = str(response.text).strip()
        return "" if text.startswith("<") else _first_line(text)
    if not isinstance(content, dict):
        return _first_line(str(content or ""))
    error = content.get("error", content)
    if isinstance(error, dict):
        words = [error.get(key) for key in ("type", "message")]
    else:
        words = [error, content.get("error_description")]
    return _first_line(": ".join(str(word) for word in words if word))


def _first_line(text: str) -> str:
    return next(iter(text.splitlines()), "")


def _invalid(error: BaseException) -> str | None:
    """Return the error in the metadata of a table, whose class alone is in the message; None for other errors."""
    causes: tuple[Any, ...] = (error, error.__cause__)
    invalid = next((cause for cause in causes if type(cause).__module__ == "pydantic_core._pydantic_core"), None)
    if invalid is None:
        return None
    first = invalid.errors(include_input=False, include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"invalid metadata: {place + ': ' if place else ''}{first['msg']}"


def _innermost(error: BaseException) -> BaseException:
    """Return the innermost cause, but an exception of PyIceberg rather than its causes: its message explains them."""
    while not type(error).__module__.startswith("pyiceberg."):
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is None:
            break
        error = cause
    return error
