"""The exceptions that glacierbase raises.

    GlacierbaseError                the base class
      SeveralErrors                 several errors, found in one go
      ConfigurationError            exit 2: a catalog file, an option, or what is installed
      MigrationFileError            exit 3: one migration file: name, header, template, SQL
      HistoryDisagrees              exit 3: files and history differ
      LockHeld, LockLost            exit 4
      EngineUnavailable             exit 5: engine, catalog or login unreachable
      NeedsRepair                   exit 6: nothing runs until `repair` or a restored history settles it
      MigrationFailed               exit 1: the engine rejected a statement
      Interrupted                   exit 129, 130, 143: a signal or the caller stopped the run
      EngineError                   an engine's error for one statement; commands raise one of the above from it
        StatementRefused            the statement had no effect, which is proven
          TableNotFound
          CommitConflict
        OutcomeUnknown              the answer was lost, or proves nothing
    Stopped                         a KeyboardInterrupt, with what is recorded

Every error has a stable `code` (`CHECKSUM_MISMATCH`), a message (what failed, where, the state now) and a hint (the next step).
Secrets in messages are masked when the error is created. `glacierbase.errors.reference` has an entry for every code; it is not
imported here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from glacierbase.secrets import mask, secrets_in_use

_NOTHING_RAN = "nothing ran"
_STATE = re.compile(r"\bnothing (?:ran|was \w+)")


class GlacierbaseError(Exception):
    """The base class of all errors.

    Attributes:
        code: stable name in capitals, the same in text and JSON.
        exit_code: the exit code of the command line.
        message: what failed, where, and the state now; masked.
        lines: the lines of the message. A line break inside one of them belongs to a value.
        hint: the next step, masked; may be empty.
        data: values of this error for programs, such as `path`, `line` or `owner`.
        results: the result of each catalog, if a method of `Project` raised the error.
        state: the state now, of the errors that are raised before anything runs; the text has it where the message lacks it.
        secrets: those in use when the error was made; its documents are masked with them.
    """

    exit_code = 70
    results: tuple[Any, ...] = ()
    state = ""

    def __init__(
        self, code: str, message: str | tuple[str, ...], hint: str = "", *, state: str | None = None, **data: Any
    ) -> None:
        self.code = code
        if state is not None:
            self.state = state
        self.secrets = secrets_in_use()
        self.lines = tuple(map(mask, (message,) if isinstance(message, str) else message))
        self.message = "\n".join(self.lines)
        self.hint = mask(hint)
        self.data: Mapping[str, Any] = {
            key: mask(value) if isinstance(value, str) else value for key, value in data.items()
        }
        super().__init__(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy or pickle the attributes as they are: the arguments of a subclass differ. Causes are not pickled."""
        return _restored, (type(self), self.args, self.__dict__)

    @property
    def unstated(self) -> str:
        """The state now, where the message does not state it; else empty."""
        return "" if _STATE.search(self.message) else self.state

    def __repr__(self) -> str:
        """Return class, code, message and hint, masked and on one line."""
        parts = (self.code, self.message, *([self.hint] if self.hint else []))
        return f"{type(self).__name__}({', '.join(repr(self.secrets.mask(part)) for part in parts)})"


def _restored(kind: type[GlacierbaseError], args: tuple[Any, ...], attributes: Mapping[str, Any]) -> GlacierbaseError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class ConfigurationError(GlacierbaseError):
    """A catalog file, an option, an argument or an installed package is wrong. No statement ran."""

    exit_code = 2
    state = _NOTHING_RAN


class MigrationFileError(GlacierbaseError):
    """A migration file is wrong: its name, headers, template or SQL. No statement ran."""

    exit_code = 3
    state = _NOTHING_RAN


class HistoryDisagrees(GlacierbaseError):
    """The files, or the chosen catalog and environment, do not match the history. No statement ran."""

    exit_code = 3
    state = _NOTHING_RAN


class LockHeld(GlacierbaseError):
    """Another run holds the catalog's lock. No statement ran."""

    exit_code = 4


class LockLost(GlacierbaseError):
    """The run could not prove that it still holds the lock, and stopped before its next statement."""

    exit_code = 4


class EngineUnavailable(GlacierbaseError):
    """The engine or catalog could not be reached, or rejected the login."""

    exit_code = 5


class NeedsRepair(GlacierbaseError):
    """The outcome of a statement is unknown, or the history is incomplete. Nothing runs until that is settled."""

    exit_code = 6


class MigrationFailed(GlacierbaseError):
    """The engine rejected a statement, which had no effect. The failure is recorded, and the next run resumes there."""

    exit_code = 1


class Interrupted(GlacierbaseError):
    """The run was stopped between two statements. What ran is recorded, and the lock is released."""

    exit_code = 130


class Stopped(KeyboardInterrupt):
    """A KeyboardInterrupt inside a command that changes the history and runs nothing.

    Attributes:
        state: what is recorded.
        hint: the next step.
    """

    def __init__(self, state: str, hint: str) -> None:
        self.state = state
        self.hint = hint
        super().__init__(state)


class EngineError(GlacierbaseError):
    """An engine's error for one statement.

    Attributes:
        error_class: the engine's error condition, else the class of the innermost exception.
        query_id: the engine's id of the statement, or None.
    """

    exit_code = 5

    def __init__(self, error_class: str, message: str, query_id: str | None = None, hint: str = "") -> None:
        self.error_class = error_class
        self.query_id = query_id
        super().__init__("ENGINE_ERROR", message, hint, error_class=error_class)


class StatementRefused(EngineError):
    """The engine rejected a statement, and its answer proves that the statement had no effect."""


class TableNotFound(StatementRefused):
    """A table, its namespace or its catalog does not exist."""


class CommitConflict(StatementRefused):
    """Another writer committed to the table first."""


class NotPlain(StatementRefused):
    """A statement, or its table, needs an engine: without one, its result could differ."""

    CLASS = "NOT_PLAIN"

    def __init__(self, why: str) -> None:
        super().__init__(self.CLASS, why, hint="run it with `type: spark`")


class OutcomeUnknown(EngineError):
    """The answer was lost or proves nothing: the statement may have taken effect."""


class SeveralErrors(GlacierbaseError):
    """Several errors, found in one go. `code`, `exit_code` and `hint` are those of the first one."""

    def __init__(self, errors: Sequence[GlacierbaseError]) -> None:
        self.errors = tuple(errors)
        first = self.errors[0]
        lines = (f"{error.code}: {error.message}" for error in self.errors)
        super().__init__(first.code, (f"{len(self.errors)} errors", *lines), first.hint)
        self.exit_code = first.exit_code


@contextmanager
def collected(errors: list[GlacierbaseError]) -> Iterator[None]:
    """Append the errors that are raised inside to `errors`, and continue after the block."""
    try:
        yield
    except SeveralErrors as several:
        errors.extend(several.errors)
    except GlacierbaseError as error:
        errors.append(error)


def joined(errors: Sequence[GlacierbaseError]) -> GlacierbaseError | None:
    """Return the only error, or several as one `SeveralErrors`, or None if there is none."""
    return SeveralErrors(errors) if len(errors) > 1 else next(iter(errors), None)


def distinct(errors: Iterable[GlacierbaseError]) -> list[GlacierbaseError]:
    """Return each error once: several environments may have the same."""
    return list({(error.code, error.message, error.hint): error for error in errors}.values())


def raise_all(errors: Sequence[GlacierbaseError], results: tuple[Any, ...] = ()) -> None:
    """Raise the only error, or several as one `SeveralErrors`; return if there is none.

    Args:
        results: the results of the method of `Project` that fails.
    """
    if error := joined(errors):
        error.results = results
        raise error
