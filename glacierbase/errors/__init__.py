"""Everything that glacierbase raises on purpose.

    GlacierbaseError                what any caller may catch
      SeveralErrors                 all that is wrong at once, each error whole
      ConfigurationError            exit 2: a catalog file, an option or the environment
      MigrationFileError            exit 3: one migration file: name, header, template, SQL
      HistoryDisagrees              exit 3: the files and the history do not agree
      LockHeld, LockLost            exit 4
      EngineUnavailable             exit 5: engine, catalog or login unreachable
      NeedsRepair                   exit 6: a person must say what happened before anything runs
      MigrationFailed               exit 1: the engine refused a statement
      Interrupted                   exit 130, 143: a signal or the caller stopped the run
      EngineError                   an executor's answer to one statement; the path of `migrate` turns it into one of the above
        StatementRefused            proven to have had no effect
          TableNotFound
          CommitConflict
        OutcomeUnknown              the answer was lost, or does not prove anything

Every error has a stable `code` (`CHECKSUM_MISMATCH`), a message (where, what, the state things are in) and a hint (what to do
next). Messages are masked when they are made. `glacierbase.errors.reference` has an entry for every code; it is not imported here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from glacierbase.secrets import mask


class GlacierbaseError(Exception):
    """What any caller may catch.

    Attributes:
        code: stable name in capitals, the same in text and JSON.
        exit_code: what the command line exits with.
        message: where and what, masked.
        lines: the message's lines; a line break inside one of them is that of a value.
        hint: what to do next, masked; may be empty.
        data: values of this error for programs, such as `path`, `line` or `owner`.
        results: what every catalog of the call answered, where a verb of `Project` raised it.
    """

    exit_code = 70
    results: tuple[Any, ...] = ()

    def __init__(self, code: str, message: str | tuple[str, ...], hint: str = "", **data: Any) -> None:
        self.code = code
        self.lines = tuple(map(mask, (message,) if isinstance(message, str) else message))
        self.message = "\n".join(self.lines)
        self.hint = mask(hint)
        self.data: Mapping[str, Any] = {
            key: mask(value) if isinstance(value, str) else value for key, value in data.items()
        }
        super().__init__(self.message)


class ConfigurationError(GlacierbaseError):
    """A catalog file, an option or this machine is not as it must be; nothing was contacted."""

    exit_code = 2


class MigrationFileError(GlacierbaseError):
    """One migration file is wrong: its name, header, template or SQL; nothing was contacted."""

    exit_code = 3


class HistoryDisagrees(GlacierbaseError):
    """The files, or the chosen catalog and environment, do not agree with the history; nothing ran."""

    exit_code = 3


class LockHeld(GlacierbaseError):
    """Another run holds the catalog's lock; nothing ran."""

    exit_code = 4


class LockLost(GlacierbaseError):
    """This run could not prove that it still holds the lock, and stopped before its next statement."""

    exit_code = 4


class EngineUnavailable(GlacierbaseError):
    """The engine, the catalog behind it or the login could not be reached."""

    exit_code = 5


class NeedsRepair(GlacierbaseError):
    """A run died inside a statement, or our own tables are damaged; nothing runs until a person says what happened."""

    exit_code = 6


class MigrationFailed(GlacierbaseError):
    """The engine refused a statement and proved that it had no effect; recorded, and resumed there by the next run."""

    exit_code = 1


class Interrupted(GlacierbaseError):
    """The run was asked to stop, and stopped between two statements; recorded and released."""

    exit_code = 130


class EngineError(GlacierbaseError):
    """An engine's answer to one statement.

    Attributes:
        error_class: the engine's own name of it: an error condition, else the class of the innermost exception.
        query_id: the engine's id of the statement, where it has one and told it.
    """

    exit_code = 5

    def __init__(self, error_class: str, message: str, query_id: str | None = None, hint: str = "") -> None:
        self.error_class = error_class
        self.query_id = query_id
        super().__init__("ENGINE_ERROR", message, hint, error_class=error_class)


class StatementRefused(EngineError):
    """The engine refused a statement, and its answer proves that the statement had no effect."""


class TableNotFound(StatementRefused):
    """A table, its namespace or its catalog does not exist."""


class CommitConflict(StatementRefused):
    """Somebody else committed to the table first."""


class OutcomeUnknown(EngineError):
    """The answer was lost or proves nothing: the statement may have had its effect."""


class SeveralErrors(GlacierbaseError):
    """All that is wrong, found in one go. `code`, `exit_code` and `hint` are those of the first."""

    def __init__(self, errors: Sequence[GlacierbaseError]) -> None:
        self.errors = tuple(errors)
        first = self.errors[0]
        lines = (f"{error.code}: {error.message}" for error in self.errors)
        super().__init__(first.code, (f"{len(self.errors)} errors", *lines), first.hint)
        self.exit_code = first.exit_code


@contextmanager
def collected(errors: list[GlacierbaseError]) -> Iterator[None]:
    """Put what is raised inside into `errors`, several errors one by one, and go on behind."""
    try:
        yield
    except SeveralErrors as several:
        errors.extend(several.errors)
    except GlacierbaseError as error:
        errors.append(error)


def raise_all(errors: Sequence[GlacierbaseError]) -> None:
    """Raise nothing, the only error as itself, or several as one `SeveralErrors`."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise SeveralErrors(errors)
