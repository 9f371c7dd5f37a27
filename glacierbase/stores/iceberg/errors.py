"""What PyIceberg, SQLAlchemy and Arrow raise, mapped once: what was it, and does it prove that nothing happened?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote

from glacierbase.errors import (
    CommitConflict,
    EngineError,
    GlacierbaseError,
    OutcomeUnknown,
    StatementRefused,
    TableNotFound,
)
from glacierbase.secrets import mask

# By the names of the classes, which are not imported for it. Whatever is not here proves nothing.
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
    # What a commit is built on is read before it is sent: somebody else's came first, and took the file away.
    "builtins.FileNotFoundError": CommitConflict,
}
# Some print the whole table.
_LONGEST = 300
# SQLite's answer where another connection holds the file for longer than the busy time-out.
_LOCKED = "database is locked"
# A SQL catalog whose own tables nobody has created yet: in SQLite's words and in PostgreSQL's.
_EMPTY_CATALOG = re.compile(r"no such table: iceberg_|relation \"iceberg_\w+\" does not exist")


@contextmanager
def mapped() -> Iterator[None]:
    """Raise what is raised inside as an `EngineError`."""
    try:
        yield
    except GlacierbaseError:
        raise
    except Exception as error:
        raise _mapped(error) from error


def database_locked(file: str, error: BaseException) -> EngineError | None:
    """The error for a SQLite database that another process holds, or None where `error` is another one."""
    if str(error) != _LOCKED:
        return None
    return StatementRefused(
        type(error).__name__,
        f"{_LOCKED}: another process holds {file}: it commits just now, or was stopped or left behind; what was asked of the"
        " database had no effect",
        hint=f"find the process with `fuser {quote(file)}` or `lsof {quote(file)}`, wait for its end or end it, and run again",
    )


def _mapped(error: Exception) -> EngineError:
    innermost = _innermost(error)
    said = str(innermost).strip()
    # Masked before it is cut: half of a secret would not be found any more.
    message = next(iter(mask(said).splitlines()), "")[:_LONGEST] or type(innermost).__name__
    asked = getattr(getattr(error, "request", None), "url", None)  # Of a server that did not answer.
    if asked:
        message = f"{mask(asked).partition('?')[0]}: {message}"
    classes = [f"{kind.__module__}.{kind.__name__}" for kind in type(error).__mro__]
    kind = next((_KINDS[name] for name in classes if name in _KINDS), OutcomeUnknown)
    if _EMPTY_CATALOG.search(said):
        kind = TableNotFound
    return kind(type(innermost).__name__, message)


def _innermost(error: BaseException) -> BaseException:
    """The first cause, which says most; but what PyIceberg says itself, it says of what its causes mean."""
    while not type(error).__module__.startswith("pyiceberg."):
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is None:
            break
        error = cause
    return error
